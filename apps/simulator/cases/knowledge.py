"""Knowledge: questions about a document in the prompt, and about the world."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from apps.simulator.benchmark.forms import Form, TaskFamily, Values, says
from apps.simulator.cases.use_case import (
    ANSWER,
    CHECK,
    CasePlan,
    CaseStep,
    CaseWorkers,
    UseCase,
    forms_of,
)
from apps.simulator.suitability import Need

LOOK_UP, COMBINED = "look_up", "combined"
FAMILIES = (LOOK_UP, COMBINED, TaskFamily.CAPITALS)
BOLD = "Put the number in bold."

HANDBOOK = (
    "From the handbook of a company\n\n"
    "- Leave: everyone has {a} days a year. Ask for them {b} days before.\n"
    "- Travel: a hotel may cost {c} EUR a night, meals {d} EUR a day.\n"
    "- Equipment: a laptop is replaced after {e} months.\n"
    "- Expenses: send claims within {f} days."
)
ABOUT_HANDBOOK = {
    "How many days of leave does everyone have in a year?": "a",
    "How many days before must leave be asked for?": "b",
    "How many EUR may a night in a hotel cost?": "c",
    "How many EUR may meals cost in a day?": "d",
    "After how many months is a laptop replaced?": "e",
    "Within how many days must claims be sent?": "f",
}
MANUAL = (
    "From the manual of a pump\n\n"
    "- It moves {a} litres an hour and draws {b} watts.\n"
    "- Rinse the filter every {c} hours, and replace it after {d} hours.\n"
    "- The water may have {e} degrees.\n"
    "- The hose may be {f} metres long."
)
ABOUT_MANUAL = {
    "How many litres does the pump move in an hour?": "a",
    "How many watts does the pump draw?": "b",
    "After how many hours must the filter be rinsed?": "c",
    "After how many hours must the filter be replaced?": "d",
    "How many degrees may the water have?": "e",
    "How many metres may the hose be long?": "f",
}
VALUES: Mapping[str, Sequence[object]] = dict(
    zip("abcdef", [range(10 * n, 10 * n + 10) for n in range(2, 8)], strict=True)
)
"""Each range is another one, so that no two values of a document are equal."""


def _look_up(document: str, about: Mapping[str, str]) -> Form:
    return Form(
        LOOK_UP,
        f"{document}\n\n{{question}} {BOLD}",
        {**VALUES, "question": tuple(about)},
        solve=lambda values: values[about[values["question"]]],
        method=says("Find the one line that the question is about."),
    )


def _combined(
    document: str, question: str, calculate: Callable[..., int], method: str
) -> Form:
    def solve(values: Values) -> str:
        return str(calculate(**{name: int(value) for name, value in values.items()}))

    values = {**VALUES, "n": range(2, 10), "m": range(2, 10)}
    asked = {name: of for name, of in values.items() if f"{{{name}}}" in question}
    return Form(
        COMBINED,
        f"{document}\n\n{question} {BOLD}",
        {**VALUES, **asked},
        solve,
        says(method),
    )


FORMS = (
    _look_up(HANDBOOK, ABOUT_HANDBOOK),
    _look_up(MANUAL, ABOUT_MANUAL),
    _combined(
        HANDBOOK,
        "How many EUR may {n} people spend on hotels in {m} nights?",
        lambda c, n, m, **_: c * n * m,
        "Multiply the price of a night by the people and by the nights.",
    ),
    _combined(
        HANDBOOK,
        "How many EUR may one person spend on a hotel and meals in {n} days and as "
        "many nights?",
        lambda c, d, n, **_: (c + d) * n,
        "Add the price of a night and the meals of a day, then multiply by the days.",
    ),
    _combined(
        MANUAL,
        "How many litres does the pump move until the filter has to be replaced?",
        lambda a, d, **_: a * d,
        "Multiply the litres of an hour by the hours until the replacement.",
    ),
    *forms_of(TaskFamily.CAPITALS),
)
WORKERS = CaseWorkers(FAMILIES, FORMS)
KNOWLEDGE = UseCase(
    name="knowledge",
    fallback="knowledge-large",
    plans={
        LOOK_UP: CasePlan(
            "The answer is in one line of the document: the cheapest model finds it.",
            (CaseStep(Need.GENERAL, ANSWER),),
        ),
        COMBINED: CasePlan(
            "Two places of the document have to be combined: the cheapest model goes "
            "first, and another one checks it.",
            (CaseStep(Need.GENERAL, ANSWER), CaseStep(Need.CHECKING, CHECK, (0,))),
        ),
        TaskFamily.CAPITALS: CasePlan(
            "No document says it: a model with broad knowledge recalls it.",
            (CaseStep(Need.FACTS, ANSWER),),
        ),
    },
    forms=FORMS,
    workers=(
        WORKERS.make(
            "knowledge-small",
            "Simulated. Quick and cheap: reads documents.",
            price=1,
            solve=(0.92, 0.45, 0.40),
            planning=0.20,
            repair=(0.3, 0.3, 0.1),
        ),
        WORKERS.make(
            "knowledge-recall",
            "Simulated. Recalls facts about the world.",
            price=2,
            solve=(0.60, 0.30, 0.94),
            planning=0.20,
            repair=(0.2, 0.2, 0.5),
        ),
        WORKERS.make(
            "knowledge-checker",
            "Simulated. Checks answers against documents.",
            price=3,
            solve=(0.70, 0.50, 0.40),
            planning=0.30,
            repair=(0.9, 0.88, 0.3),
        ),
        WORKERS.make(
            "knowledge-large",
            "Simulated. A large, strong model for everything.",
            price=10,
            solve=(0.96, 0.82, 0.92),
            planning=0.70,
            repair=(0.5, 0.5, 0.5),
            first_token_ms=500,
            tokens_per_s=80,
        ),
    ),
)
