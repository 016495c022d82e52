"""Filters and tags that every page uses: numbers, times, words, icons."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from django import template
from django.forms import BoundField
from django.http import HttpRequest
from django.template import Context
from django.utils.dateformat import format as format_date
from django.utils.html import format_html, json_script
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import get_language, gettext

from apps.core.plain_text import plain
from apps.web import formats
from apps.web.documentation import library
from apps.web.script_words import ENGLISH, script_words
from apps.web.team_access import frame_of

register = template.Library()
register.filter("money", formats.money)
register.filter("cost", formats.cost)
register.filter("count", formats.count)
register.filter("duration", formats.duration)
register.filter("sentence", formats.sentence)


@register.filter("plain")
def plain_text(text: object) -> str:
    """Return a name for a place without elements: a title, an attribute, a notice."""
    return plain(str(text))


@register.filter
def plain_word(word: str) -> str:
    """Return a stable word of the ledger with spaces, for people."""
    return word.replace("_", " ")


@register.filter
def field_label(label: str) -> str:
    """Return the label of a field with one capital, in languages that allow that."""
    text = str(label)
    return capfirst(text.lower()) if get_language() == ENGLISH else text


@register.filter
def without_placeholder(field: BoundField) -> BoundField:
    """Return a field whose placeholder does not repeat its label."""
    field.field.widget.attrs.pop("placeholder", None)
    return field


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
    return (
        gettext("no limit") if milliseconds is None else formats.duration(milliseconds)
    )


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
        format_date(exact, "j M Y, H:i"),
    )


@register.simple_tag
def icon(name: str) -> SafeString:
    """Return a small decorative icon of the sprite in `_icons.html`."""
    return format_html(
        '<svg class="icon" aria-hidden="true" focusable="false">'
        '<use href="#i-{}"></use></svg>',
        name,
    )


@register.simple_tag(takes_context=True)
def team_frame(context: Context) -> str:
    """Put what the header shows of the team into the context, unless a view did."""
    request = context.get("request")
    if request is not None and hasattr(request, "user") and "teams" not in context:
        for name, value in frame_of(request, _tab(context, request)).items():
            context[name] = value
    return ""


def _tab(context: Context, request: HttpRequest) -> str:
    """Return the page in the navigation; lists of records are of the site."""
    match = request.resolver_match
    records = "site" if match and match.app_name == "admin" else ""
    return str(context.get("tab", records))


@register.simple_tag
def site_version() -> str:
    """Return the version of the product, as the list of changes names it."""
    return library.site_version()


@register.simple_tag
def english() -> SafeString:
    """Return an attribute for what is in English on a page of another language."""
    return _lang_of(ENGLISH)


@register.simple_tag
def translated() -> SafeString:
    """Return an attribute for what is translated within a part in English."""
    return _lang_of(get_language() or ENGLISH)


def _lang_of(language: str) -> SafeString:
    if get_language() == ENGLISH:
        return SafeString("")
    return format_html(' lang="{}"', language)


@register.simple_tag(name="script_words")
def script_words_tag() -> SafeString:
    """Return what scripts need to speak the language of the page; empty: English."""
    words = script_words()
    return json_script(words, "script-words") if words else SafeString("")
