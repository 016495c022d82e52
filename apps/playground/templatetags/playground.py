"""Filters and tags of the runs' pages: states, sums, Markdown, small drawings."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
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
from apps.engine.events import PolicyDecided
from apps.engine.usage import Cost
from apps.governance.selectors import ratings_by
from apps.playground import numbering, words
from apps.playground.comparing.words import only_here_words
from apps.playground.composing.file_words import cut_words, extent_words
from apps.playground.message_view import shown_calls
from apps.playground.sharing.page_budget import PageBudget
from apps.playground.texts import model_text
from apps.runs.missing_plan import MissingPlan, missing_plan_of
from apps.runs.models import Run
from apps.runs.planning.model_resolver import direct_model
from apps.runs.records.round_view import StepView
from apps.runs.records.run_view import RunView
from apps.simulator.answers import UNKNOWN
from apps.web import formats
from apps.web.recorded_words import fault_word, role_word

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


class WorkerToCompare(NamedTuple):
    """A worker that can be asked the same directly."""

    name: str
    model: str
    """The model name that asks it."""


@register.filter
def explained(explanation: str) -> dict[str, Any]:
    """Return what a planner says of its plan, for a template."""
    found: dict[str, Any] = orjson.loads(explanation)
    return found


@register.simple_tag
def best_single(team_id: uuid.UUID, story: RunView) -> WorkerToCompare | None:
    """Return the single worker that a planned answer is best compared with.

    None: the answer was not planned, or it was not measured who is best alone.
    """
    if not story.is_planned:
        return None
    # Brings all kinds of systems with it, which few requests need.
    from apps.evaluation.reports.headline import headline

    measured = headline(team_id)
    if measured is None or measured.pool != story.pool:
        return None
    return WorkerToCompare(measured.worker, direct_model(measured.worker))


@register.simple_tag(takes_context=True)
def own_rating(context: dict[str, Any], run_id: uuid.UUID) -> str:
    """Return how the reader rated a run: up, down or empty."""
    request = context["request"]
    return ratings_by(request.team.id, [run_id], request.actor).get(run_id, "")


@register.filter
def is_beyond_simulation(story: RunView) -> bool:
    """Say whether a simulated worker could not answer, as it says itself."""
    return UNKNOWN in (story.answer or "")


@register.filter
def let_all_pass(decisions: Sequence[PolicyDecided]) -> bool:
    """Say whether the policies changed nothing about a run, and no rule spoke of it."""
    return not any(
        each.outcome != "allowed" or each.rules or each.shadow_rules or each.findings
        for each in decisions
    )


register.filter("said", words.said)
register.filter("lower_in_english", words.lower_in_english)
register.filter("state_word", words.state_word)
register.filter("planner_words", words.planner_words)
register.filter("reason_words", words.reason_words)
register.filter("fault_word", fault_word)
register.filter("role_word", role_word)
register.filter("class_word", words.class_word)
register.filter("kind_word", words.kind_word)
register.filter("place_word", words.place_word)
register.filter("extent_words", extent_words)
register.filter("cut_words", cut_words)
register.simple_tag(only_here_words)


@register.simple_tag
def step_line(step: StepView) -> str:
    """Return what a step took, or how it stands: `0.8 s · 146 tokens · $0.0002`."""
    if step.reused_from:
        if step.is_edited:
            return gettext("written by a person")
        return gettext("from an earlier run")
    if step.state == "failed" and step.fault:
        return fault_word(step.fault)
    if step.state != "completed":
        return words.state_word(step.shown_state)
    number = formats.count(step.usage.total_tokens)
    tokens = gettext("{number} tokens").format(number=number)
    took = formats.duration(step.calls[-1].latency_ms) if step.calls else ""
    return " · ".join(filter(None, (took, tokens, formats.cost(step.full_cost))))


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
        '<span class="badge" data-state="{}">{}</span>', state, words.state_word(state)
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
def draw_answer(text: str, *place: object) -> model_text.DrawnText:
    """Return an answer for `_model_text.html`: formatted, or whole as plain text.

    `place`: words that no other text of the page has, for the ids within it.
    """
    return model_text.draw_at_once(text, _joined(place))


@register.simple_tag
def draw_part(text: str, *place: object) -> model_text.DrawnText:
    """Return another text for `_model_text.html`: formatted, or how it begins."""
    return model_text.draw_part(text, _joined(place))


@register.simple_tag
def draw_within(budget: PageBudget, text: str, *place: object) -> model_text.DrawnText:
    """Return a text for `shared/_text.html`, within what its page may hold."""
    return budget.draw(text, _joined(place))


def _joined(place: Iterable[object]) -> str:
    return "-".join(map(str, place))


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
            " ".join(filter(None, (step.get("worker", ""), _inner_state(state))))
            for step, state in zip(steps, states, strict=True)
        ],
    }


def _inner_state(state: str) -> str:
    return words.lower_in_english(words.state_word(state))
