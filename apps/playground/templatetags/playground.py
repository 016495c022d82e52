"""Filters and tags of the pages: numbers, times, Markdown, icons, small drawings."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from apps.engine.usage import Cost
from apps.playground import formats, graph, markdown

register = template.Library()
register.filter("money", formats.money)
register.filter("cost", formats.cost)
register.filter("count", formats.count)
register.filter("duration", formats.duration)
register.filter("markdown", markdown.render)

STATE_WORDS = {
    "queued": "Queued",
    "planning": "Planning",
    "planned": "Planned",
    "kept": "Answer kept",
    "running": "Running",
    "waiting": "Waiting",
    "retrying": "Retrying",
    "completed": "Completed",
    "failed": "Failed",
    "skipped": "Skipped",
    "cancelled": "Cancelled",
    "stopped": "Stopped",
    "rejected": "Rejected",
    "unknown": "Outcome unknown",
}


@register.filter
def state_word(state: str) -> str:
    """Return a state as people read it."""
    return STATE_WORDS.get(state, state)


@register.filter
def plain_word(word: str) -> str:
    """Return a stable word of the ledger with spaces, for people."""
    return word.replace("_", " ")


@register.filter
def short_hash(text: str) -> str:
    """Return the first characters of a hash, without the name of its algorithm."""
    return text.rpartition(":")[2][:8]


@register.filter
def clip(text: str, length: int) -> str:
    """Return `text` cut to `length` characters, with an ellipsis if it was longer."""
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


@register.filter
def at(items: Sequence[Any], index: int) -> Any:
    """Return the item at `index`."""
    return items[index]


@register.filter
def limit_ms(milliseconds: int | None) -> str:
    """Return a time limit, or what it means if there is none."""
    return "no limit" if milliseconds is None else formats.duration(milliseconds)


@register.simple_tag
def sum_cost(micros: int, has_unknown: bool) -> str:
    """Return a cost kept in two columns."""
    return formats.cost(Cost(micros, has_unknown))


@register.simple_tag
def total_tokens(run: Any) -> str:
    """Return all tokens of a run's row, the conductor's included."""
    return formats.count(run.prompt_tokens + run.completion_tokens)


@register.simple_tag
def when(moment: datetime | None, form: str = "moment") -> SafeString | str:
    """Return a time in UTC; the page's script turns it into the viewer's zone.

    `form` says what the script shows: "moment" is day and time, "time" the time alone.
    """
    if moment is None:
        return "–"
    exact = moment.astimezone(UTC)
    return format_html(
        '<time datetime="{}" data-format="{}" title="{} UTC">{} UTC</time>',
        exact.isoformat(),
        form,
        exact.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3],
        exact.strftime("%d %b %Y, %H:%M:%S"),
    )


@register.simple_tag
def icon(name: str) -> SafeString:
    """Return a small decorative icon of the sprite in `_icons.html`."""
    return format_html(
        '<svg class="icon" aria-hidden="true" focusable="false">'
        '<use href="#i-{}"></use></svg>',
        name,
    )


@register.simple_tag
def state_badge(state: str) -> SafeString:
    """Return a state as a badge: a word and a mark, so colour is never alone."""
    return format_html(
        '<span class="badge" data-state="{}">{}</span>', state, state_word(state)
    )


@register.inclusion_tag("playground/_mini_graph.html")
def mini_graph(plan: Sequence[dict[str, Any]] | None) -> dict[str, Any]:
    """Return a thumbnail of a plan: `[{"worker": …, "access": …, "state": …}, …]`."""
    steps = plan or []
    layout = graph.lay_out([step.get("access", ()) for step in steps], graph.MINI)
    states = [str(step.get("state", "")) for step in steps]
    return {
        "layout": layout,
        "nodes": list(zip(layout.nodes, states, strict=True)),
        "words": [
            " ".join(filter(None, (step.get("worker", ""), state_word(state).lower())))
            for step, state in zip(steps, states, strict=True)
        ],
    }
