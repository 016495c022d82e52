"""Research: reports that disagree, and facts and quantities that have to be right."""

from __future__ import annotations

from apps.simulator.benchmark.forms import SYLLABLES, Form, TaskFamily, Values
from apps.simulator.cases.use_case import (
    CasePlan,
    CaseStep,
    CaseWorkers,
    UseCase,
    forms_of,
)
from apps.simulator.suitability import Need

REPORTS = "reports"
FAMILIES = (REPORTS, TaskFamily.CAPITALS, TaskFamily.UNITS)
LETTERS = "abcd"
HOW = ("measured", "estimated")
BOLD = "Put the number in bold."


def _measured(values: Values) -> list[tuple[int, int]]:
    """Return year and depth of each report that measured it."""
    reports = [letter for letter in LETTERS if values[f"h{letter}"] == "measured"]
    return [(int(values[f"y{r}"]), int(values[f"d{r}"])) for r in reports]


def _is_clear(values: Values) -> bool:
    years = {values[f"y{letter}"] for letter in LETTERS}
    return len(years) == len(LETTERS) and len(_measured(values)) >= 2


def _newest(values: Values) -> str | None:
    return str(max(_measured(values))[1]) if _is_clear(values) else None


def _spread(values: Values) -> str | None:
    depths = [depth for _, depth in _measured(values)]
    return str(max(depths) - min(depths)) if _is_clear(values) else None


def _method(values: Values) -> str:
    found = "; ".join(f"{year}: {depth}" for year, depth in sorted(_measured(values)))
    return f"Leave out what was estimated. Measured, by year: {found}."


def _reports(question: str, newest: bool) -> Form:
    rows = "\n".join(
        f"Report {letter.upper()}, {{y{letter}}}: {{d{letter}}} metres, {{h{letter}}}."
        for letter in LETTERS
    )
    return Form(
        REPORTS,
        f"How deep is lake {{s}}{{t}}? Reports disagree.\n\n{rows}\n\n"
        f"{question} {BOLD}",
        {
            "s": SYLLABLES,
            "t": SYLLABLES,
            **{f"y{letter}": range(1980, 2024) for letter in LETTERS},
            **{f"d{letter}": range(100, 400) for letter in LETTERS},
            **{f"h{letter}": HOW for letter in LETTERS},
        },
        _newest if newest else _spread,
        _method,
    )


FORMS = (
    _reports("How many metres does the newest report say that measured it?", True),
    _reports(
        "How many metres are between the largest and the smallest measured depth?",
        False,
    ),
    *forms_of(TaskFamily.CAPITALS, TaskFamily.UNITS),
)
ATTEMPT = "Work out the answer on your own. State it first, in bold."
AGGREGATION = (
    "Compare the earlier attempts, work out where they differ, and state the answer "
    "first, in bold."
)


def _attempts(first: Need, second: Need) -> CasePlan:
    return CasePlan(
        "Single attempts slip now and then: two models work on their own, and a third "
        "one compares what they found.",
        (
            CaseStep(first, ATTEMPT),
            CaseStep(second, ATTEMPT),
            CaseStep(Need.STRONG, AGGREGATION, (0, 1)),
        ),
    )


WORKERS = CaseWorkers(FAMILIES, FORMS)
RESEARCH = UseCase(
    name="research",
    fallback="research-editor",
    plans={
        REPORTS: _attempts(Need.TEXT, Need.ARITHMETIC),
        TaskFamily.CAPITALS: _attempts(Need.FACTS, Need.TEXT),
        TaskFamily.UNITS: _attempts(Need.ARITHMETIC, Need.FACTS),
    },
    forms=FORMS,
    workers=(
        WORKERS.make(
            "research-archive",
            "Simulated. Recalls facts and names.",
            price=1,
            solve=(0.40, 0.88, 0.70),
            planning=0.20,
            repair=(0.2, 0.4, 0.3),
        ),
        WORKERS.make(
            "research-analyst",
            "Simulated. Calculates with numbers.",
            price=2,
            solve=(0.70, 0.35, 0.90),
            planning=0.30,
            repair=(0.4, 0.1, 0.4),
        ),
        WORKERS.make(
            "research-reader",
            "Simulated. Reads texts closely.",
            price=2,
            solve=(0.80, 0.70, 0.40),
            planning=0.40,
            repair=(0.4, 0.3, 0.2),
        ),
        WORKERS.make(
            "research-editor",
            "Simulated. A large, strong model that judges and compares.",
            price=8,
            solve=(0.72, 0.72, 0.72),
            planning=0.70,
            repair=(0.35, 0.35, 0.35),
            first_token_ms=500,
            tokens_per_s=80,
        ),
    ),
)
