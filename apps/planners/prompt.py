"""Builds the conductor's prompt.

What changes least comes first, so that a server's prefix cache keeps as much as can be:
rules and examples, the same for one limit of steps, in the system message; then the
pool's models, what the question needs of them, the question, and in a later round or
after a rejection what came before. Each prompt of a run so begins like the one before
it. Every text that people or models wrote stands between tags and has passed `quoted`,
so it cannot end its section.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from apps.engine.plan import Plan
from apps.engine.ports import (
    Message,
    Messages,
    PlanRequest,
    Pool,
    Rejection,
    RoundOutcome,
)
from apps.planners.capability_prompt import abilities
from apps.planners.escaping import one_line, quoted, shorten
from apps.planners.examples import EXAMPLE_WORKERS, EXAMPLES, Example
from apps.planners.plan_formats import JSON_SCHEMA, PlanFormat, render_example
from apps.planners.worker_cards import Cards

MAX_RESPONSE_CHARS = 12_000
"""Longest answer of an earlier round that is shown whole."""
MAX_FAILURE_CHARS = 500
MAX_REJECTED_CHARS = 3000
MAX_REASON_CHARS = 500
MAX_DESCRIPTION_CHARS = 500

PREFILL = "Let me work out which models this question needs."

_ROLE = """\
You conduct a group of language models. You do not answer the user yourself: you write \
a plan that says which model does what. The response of its last step is the answer \
the user gets."""


def build_messages(
    request: PlanRequest,
    form: PlanFormat,
    *,
    shows_descriptions: bool = False,
    uses_prefill: bool = False,
    cards: Cards | None = None,
    beside: Sequence[str] = (),
) -> Messages:
    """Return the messages that ask the conductor for a plan.

    `beside` are sections that come before the last one, with texts that are quoted.

    With `cards` they are brief: no rules and no examples, which a conductor that was
    trained on such prompts has learned; each worker has its card.
    """
    if cards is None:
        models = _models(request.pool, shows_descriptions=shows_descriptions)
    else:
        models = _carded(request, cards)
    sections = (
        models,
        *abilities(request.task, request.pool),
        _question(request),
        *(_round(i, r, request.pool, form) for i, r in enumerate(request.rounds)),
        *((_next_round(request, form),) if request.rounds else ()),
        *(_rejection(r, request.pool) for r in request.rejections),
        *beside,
        _closing(request),
    )
    user = Message(role="user", content="\n\n".join(sections))
    if cards is not None:
        return (user,)
    allowed = request.max_steps, request.may_delegate
    system = Message(role="system", content=_instructions(form, *allowed))
    prefill = Message(role="assistant", content=PREFILL)
    return (system, user, prefill) if uses_prefill else (system, user)


# --- what stays the same -------------------------------------------------------------


@lru_cache(maxsize=64)
def _instructions(form: PlanFormat, max_steps: int, may_delegate: bool) -> str:
    count = "exactly one step" if max_steps == 1 else f"from one to {max_steps} steps"
    # An example that breaks the limit would teach to break it.
    fitting = [e for e in EXAMPLES if len(e.plan.steps) <= max_steps]
    examples = (_example(number, e, form) for number, e in enumerate(fitting, start=1))
    return "\n\n".join(
        (
            _ROLE,
            f"A plan has {count}. Use as few as the question deserves: each step costs "
            "time and money. Steps that do not read each other run at the same time.",
            form.rules,
            *((form.leave_rest,) if may_delegate else ()),
            *examples,
        )
    )


def _example(number: int, example: Example, form: PlanFormat) -> str:
    render = form.render if form is JSON_SCHEMA else render_example
    return (
        f"Example {number}, with three models\n"
        f"Question: {example.question}\n"
        f"Plan:\n{render(example.plan, EXAMPLE_WORKERS)}"
    )


# --- what differs --------------------------------------------------------------------


def _models(pool: Pool, *, shows_descriptions: bool) -> str:
    lines = ["Available models:"]
    for number, worker in enumerate(pool.workers):
        text = shorten(one_line(worker.description), MAX_DESCRIPTION_CHARS)
        is_described = shows_descriptions and text
        lines.append(f"Model {number}" + (f": {quoted(text)}" if is_described else ""))
    return "\n".join(lines)


def _carded(request: PlanRequest, cards: Cards) -> str:
    found = enumerate(cards(request.task, request.pool))
    lines = [f"Model {number}: {card}" for number, card in found]
    return "\n".join([*lines, f"Steps: at most {request.max_steps}"])


def _question(request: PlanRequest) -> str:
    return f"The user's question:\n{enclosed('question', request.task.prompt)}"


def _round(number: int, earlier: RoundOutcome, pool: Pool, form: PlanFormat) -> str:
    bare = Plan(earlier.plan.steps, plans_rest=earlier.plan.plans_rest)
    plan = form.render(bare, pool.names)
    lines = [f"Your previous plan, round {number + 1}:", quoted(plan)]
    for index, outcome in enumerate(earlier.outcomes):
        lines.append(f"Step {index}: {outcome.state}")
        if outcome.state == "failed":
            lines.append(enclosed("failure", _reason(outcome.text, pool)))
    if earlier.answer:
        response = shorten(earlier.answer, MAX_RESPONSE_CHARS)
        lines += ["Its final response:", enclosed("response", response)]
    else:
        lines.append("It gave no final response.")
    return "\n".join(lines)


def _next_round(request: PlanRequest, form: PlanFormat) -> str:
    fresh = (
        "The models of a new plan read the question and the steps of that plan only, "
        "so a subtask must state whatever they need to know from above."
    )
    if not request.may_keep:
        return f"There is no answer yet. Write another plan. {fresh}"
    return (
        f"If the final response answers the question well, keep it with {form.keep}. "
        f"If not, write a better plan. {fresh}"
    )


def _rejection(rejection: Rejection, pool: Pool) -> str:
    output = shorten(rejection.output, MAX_REJECTED_CHARS)
    reason = quoted(f"It cannot be used: {_reason(rejection.reason, pool)}")
    return f"Your rejected answer:\n{enclosed('rejected', output)}\n{reason}"


def _closing(request: PlanRequest) -> str:
    if request.rejections:
        return "Write the complete plan again, without that mistake."
    return "Write the plan for the user's question now."


def enclosed(tag: str, text: str) -> str:
    return f"<{tag}>\n{quoted(text)}\n</{tag}>"


def _reason(text: str, pool: Pool) -> str:
    """Return a short reason that calls workers by number, as the prompt does."""
    text = shorten(one_line(text), MAX_REASON_CHARS)
    numbers = {name: f"Model {number}" for number, name in enumerate(pool.names)}
    longest_first = sorted(numbers, key=len, reverse=True)
    names = "|".join(re.escape(name) for name in longest_first)
    return re.sub(rf"(?<!\w)(?:{names})(?!\w)", lambda name: numbers[name[0]], text)
