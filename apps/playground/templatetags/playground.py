"""Filters and tags of the runs' pages: states, sums, Markdown, small drawings."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

import orjson
from django import template
from django.template.loader import render_to_string
from django.utils.html import conditional_escape, format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext
from django.utils.translation import gettext_noop as _

from apps.core import plan_layout
from apps.engine.usage import Cost
from apps.planners.light.exploring import EXPLORED, place_words
from apps.playground import numbering
from apps.playground.message_view import shown_calls
from apps.playground.sharing.page_budget import PageBudget
from apps.playground.texts import model_text
from apps.runs.missing_plan import MissingPlan, missing_plan_of
from apps.runs.models import Run
from apps.runs.records.round_view import CONTINUATION, REPAIR, RIVAL, StepView
from apps.web import formats

MISSING = "missing_plan"
MISSING_PLAN_WORDS = {
    MissingPlan.NO_USABLE_PLAN: _(
        "The conductor gave no usable plan, so the fallback worker answered."
    ),
    MissingPlan.TIER_DOES_NOT_PLAN: _(
        "The ultra tier of the pool does not plan, so the fallback worker answered."
    ),
}
ROWS_KEPT = 5_000
"""Rows of runs that are remembered, of a kilobyte each."""
register = template.Library()

STATE_WORDS = {
    "queued": _("Queued"),
    "planning": _("Planning"),
    "approval": _("Waiting for approval"),
    "planned": _("Planned"),
    "kept": _("Answer kept"),
    "running": _("Running"),
    "waiting": _("Waiting"),
    "retrying": _("Retrying"),
    "completed": _("Completed"),
    "failed": _("Failed"),
    "skipped": _("Skipped"),
    "cancelled": _("Cancelled"),
    "stopped": _("Stopped"),
    "rejected": _("Rejected"),
    "unknown": _("Outcome unknown"),
}
KIND_WORDS = {
    "secret": ("password or key", "passwords or keys"),
    "card": ("card number", "card numbers"),
    "iban": ("IBAN", "IBANs"),
    "tax_number": ("tax number", "tax numbers"),
    "email": ("email address", "email addresses"),
    "phone": ("phone number", "phone numbers"),
}
PLANNER_WORDS = {
    "approver": "edited by an approver",
    "fallback": "fallback plan",
    "given_plan": "made before the run",
    "light": "by the light planner",
    "light_cascade": "by the light planner or the conductor",
    EXPLORED: "by the light planner, exploring",
    "language_model": "by a language model",
    "delegated": "by the worker",
    "delegating": "leaves the plan to a worker",
    "single_worker": "one worker, without a plan",
    "tool_continuation": "without a new plan",
}


@register.filter
def explained(explanation: str) -> dict[str, Any]:
    """Return what a planner says of its plan, for a template."""
    found: dict[str, Any] = orjson.loads(explanation)
    return found


register.filter("place_words", place_words)
REASON_WORDS = {
    RIVAL: "asked as well, because the answer was late",
    REPAIR: "asked to put its answer into the right form",
    CONTINUATION: "went on from what had been sent",
}


@register.filter
def reason_words(reason: str) -> str:
    """Return why a step has another call, as people read it; empty: a plain one."""
    return REASON_WORDS.get(reason, "")


@register.simple_tag
def step_line(step: StepView) -> str:
    """Return what a step took, or how it stands: `0.8 s · 146 tokens · $0.0002`."""
    if step.reused_from:
        return "written by a person" if step.is_edited else "from an earlier run"
    if step.state == "failed" and step.fault:
        return step.fault.replace("_", " ")
    if step.state != "completed":
        return state_word(step.shown_state)
    tokens = f"{formats.count(step.usage.total_tokens)} tokens"
    took = formats.duration(step.calls[-1].latency_ms) if step.calls else ""
    return " · ".join(filter(None, (took, tokens, formats.cost(step.full_cost))))


@register.filter
def planner_words(planner: str) -> str:
    """Return what made a plan, as people read it."""
    return PLANNER_WORDS.get(planner, f"by {planner.replace('_', ' ')}")


@register.filter
def kind_word(kind: str, count: int) -> str:
    """Return a kind of sensitive data as people read it, for so many of them."""
    one, more = KIND_WORDS.get(kind, (kind, kind))
    return one if count == 1 else more


@register.filter
def state_word(state: str) -> str:
    """Return a state as people read it."""
    return gettext(STATE_WORDS.get(state, state))


register.filter("models_of", numbering.models_of)
register.filter("shown_calls", shown_calls)


@register.filter
def short_hash(text: str) -> str:
    """Return the first characters of a hash, without the name of its algorithm."""
    return text.rpartition(":")[2][:8]


@register.simple_tag
def sum_cost(micros: int, has_unknown: bool) -> str:
    """Return a cost kept in two columns."""
    return formats.cost(Cost(micros, has_unknown))


@register.simple_tag
def total_tokens(row: Mapping[str, int]) -> str:
    """Return all tokens of a run's row, the conductor's included."""
    return formats.count(row["prompt_tokens"] + row["completion_tokens"])


@register.simple_tag
def state_badge(state: str) -> SafeString:
    """Return a state as a badge: a word and a mark, so colour is never alone."""
    return format_html(
        '<span class="badge" data-state="{}">{}</span>', state, state_word(state)
    )


@register.simple_tag(name="missing_plan")
def missing_plan_tag(run: Run) -> MissingPlan | None:
    """Return why a run has no plan of its tier; None: it has, or needs none."""
    return missing_plan_of(run)


@register.simple_tag
def plan_badge(missing: MissingPlan | None, state: str) -> SafeString:
    """Return a badge for a run whose tier should have planned; empty: none is due."""
    if missing is None:
        return SafeString("")
    is_answered = state == "completed"
    return format_html(
        ' <span class="badge" data-state="unplanned" title="{}">{}</span>',
        gettext(MISSING_PLAN_WORDS[missing]),
        gettext("Answered without a plan")
        if is_answered
        else gettext("Without a plan"),
    )


class _Row(NamedTuple):
    """What the row of a run shows, and nothing else."""

    id: uuid.UUID
    title: str
    plan: bytes
    missing_plan: MissingPlan | None
    state: str
    model: str
    actor_name: str
    steps_done: int
    steps_total: int
    prompt_tokens: int
    completion_tokens: int
    cost_micros: int
    has_unknown_cost: bool
    latency_ms: int | None
    created_at: datetime
    tags: tuple[str, ...] = ()


@register.simple_tag
def run_row(run: Any, waiting: Collection[uuid.UUID] = ()) -> SafeString:
    """Return a run's row in the list. Most runs have ended, and their rows stay.

    `waiting`: runs whose plans wait for an approval.
    """
    read = {MISSING, "tags"}
    values = {name: getattr(run, name) for name in _Row._fields if name not in read}
    values[MISSING] = missing_plan_of(run)
    if run.labels is not None:
        values["tags"] = run.labels.tags
    if run.id in waiting:
        values["state"] = "approval"
    row = _Row(**{**values, "plan": orjson.dumps(run.plan)})
    return _row(row, get_language())


@lru_cache(maxsize=ROWS_KEPT)
def _row(row: _Row, language: str | None) -> SafeString:
    """`language`: of the page, which the words of the row are in."""
    shown = {**row._asdict(), "plan": orjson.loads(row.plan)}
    return render_to_string("playground/_run_row.html", {"run": shown})


@register.simple_tag
def draw_answer(text: str) -> model_text.DrawnText:
    """Return an answer for `_model_text.html`: formatted, or whole as plain text."""
    return model_text.draw_at_once(text)


@register.simple_tag
def draw_part(text: str) -> model_text.DrawnText:
    """Return another text for `_model_text.html`: formatted, or how it begins."""
    return model_text.draw_part(text)


@register.simple_tag
def draw_within(budget: PageBudget, text: str) -> model_text.DrawnText:
    """Return a text for `shared/_text.html`, within what its page may hold."""
    return budget.draw(text)


@register.filter
def within(text: str, budget: PageBudget) -> str:
    """Return a text, or its beginning if its page has no room for all of it."""
    shown = budget.cut(text)
    return shown if len(shown) == len(text) else f"{shown}…"


@register.filter
def plain_text(text: str) -> SafeString:
    """Return a text as it is; a long one in pieces, so that the browser stays quick."""
    if not model_text.is_dense(text):
        return conditional_escape(text)
    pieces = ((piece,) for piece in model_text.in_pieces(text))
    return format_html_join("", '<span class="piece">{}</span>', pieces)


@register.filter
def beginning(text: str) -> SafeString:
    """Return a text as it is; of a long one the beginning."""
    if len(text) <= model_text.LONG:
        return plain_text(text)
    return plain_text(f"{next(model_text.in_pieces(text))}…")


@register.inclusion_tag("playground/_mini_graph.html")
def mini_graph(plan: Sequence[dict[str, Any]] | None) -> dict[str, Any]:
    """Return a thumbnail of a plan: `[{"worker": …, "access": …, "state": …}, …]`."""
    steps = plan or []
    layout = plan_layout.lay_out(
        [step.get("access", ()) for step in steps], plan_layout.MINI
    )
    states = [str(step.get("state", "")) for step in steps]
    return {
        "layout": layout,
        "nodes": list(zip(layout.nodes, states, strict=True)),
        "words": [
            " ".join(filter(None, (step.get("worker", ""), state_word(state).lower())))
            for step, state in zip(steps, states, strict=True)
        ],
    }
