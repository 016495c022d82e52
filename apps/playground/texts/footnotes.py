"""Footnotes in Markdown: `[^1]` in the text, `[^1]: …` where the note is.

Model text is hostile. So a footnote goes through the sanitiser as marks that hold
figures alone, which no text can write since it holds no HTML; `link` makes links and
ids of them afterwards, with the name of the text's place on its page. The work is
linear: labels are short, notes stand neither in quotes nor in other notes, and only the
first references of a note are led back to.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language, gettext
from markdown_it import MarkdownIt
from markdown_it.ruler import RuleOptionsType
from markdown_it.rules_block import StateBlock, reference
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from mdit_py_plugins.footnote import footnote_plugin
from mdit_py_plugins.footnote.index import footnote_def, footnote_ref

TAGS = frozenset({"section", "sup", "sub"})
ATTRIBUTES = {"li": {"value"}}
MOST_WAYS_BACK = 10
"""Links of a note to its references in the text."""
_LABEL = re.compile(r"\[\^[^\s\[\]^]{1,40}\]")
_NUMBER = re.compile(r"\[\^(\d{1,3})\]")
"""A label that is taken for a footnote before its note is there."""
_MARKS = re.compile(
    r"<sup>(?P<reference>\d+-\d+)</sup>|<sub>(?P<back>\d+-\d+)</sub>"
    r'|<li value="(?P<note>\d+)">|<section>'
)
Rule = Callable[[Sequence[Token], int, Any, Any], str]


def add_footnotes(parser: MarkdownIt) -> None:
    """Teach a parser footnotes, which it moves to the end of the text."""
    footnote_plugin(parser, inline=False)
    _add_reading(parser, _read_reference)
    parser.core.ruler.after("inline", "footnote_unreferenced", _keep_unreferenced)
    _add_rules(
        parser,
        footnote_ref=lambda tokens, at, *_: f"<sup>{_numbers(tokens[at])}</sup>",
        footnote_block_open=lambda *_: "<section><ol>\n",
        footnote_block_close=lambda *_: "</ol></section>\n",
        footnote_open=lambda tokens, at, *_: (
            f'<li value="{tokens[at].meta["id"] + 1}">'
        ),
        footnote_close=lambda *_: "</li>\n",
        footnote_anchor=_draw_anchor,
    )


def add_growing_footnotes(parser: MarkdownIt) -> None:
    """Teach it footnotes of a text without its end, which stay where they stand."""
    footnote_plugin(parser, inline=False, move_to_end=False)
    _add_reading(parser, _read_growing_reference)
    _add_rules(
        parser,
        footnote_ref=lambda tokens, at, *_: f"<sup>{escape(_label(tokens[at]))}</sup>",
        footnote_reference_open=lambda tokens, at, *_: (
            f'<section><ol start="{_label(tokens[at], "1")}"><li>'
        ),
        footnote_reference_close=lambda *_: "</li></ol></section>\n",
    )


def link(html: str, place: str) -> SafeString:
    """Return sanitised HTML with the links and ids of its footnotes.

    `place`: letters, figures and hyphens that no other text of the page has.
    """
    return mark_safe(_MARKS.sub(lambda found: _linked(found, place), html))  # nosec B308 B703


def _add_reading(
    parser: MarkdownIt, read_reference: Callable[[StateInline, bool], bool]
) -> None:
    ends: RuleOptionsType = {"alt": ["paragraph", "reference"]}
    parser.block.ruler.at("footnote_def", _read_note, ends)
    parser.block.ruler.at("reference", _read_address)
    parser.inline.ruler.at("footnote_ref", read_reference)


def _add_rules(parser: MarkdownIt, **rules: Rule) -> None:
    for name, rule in rules.items():
        parser.add_render_rule(name, lambda _, *args, rule=rule: rule(*args))


def _read_note(state: StateBlock, line: int, last: int, silent: bool) -> bool:
    found = _LABEL.match(state.src, state.bMarks[line] + state.tShift[line])
    if not found or f":{found[0][2:-1]}" in _known(state.env):
        return False
    # Within a note the next one is looked for, but not read: it ends the first.
    return (silent or not state.level) and footnote_def(state, line, last, silent)


def _read_address(state: StateBlock, line: int, last: int, silent: bool) -> bool:
    """Read `[label]: address`; what looks like a note never is one, and stays text."""
    start = state.bMarks[line] + state.tShift[line]
    is_note = state.src.startswith("[^", start)
    return not is_note and reference(state, line, last, silent)


def _read_reference(state: StateInline, silent: bool) -> bool:
    return bool(_LABEL.match(state.src, state.pos)) and footnote_ref(state, silent)


def _read_growing_reference(state: StateInline, silent: bool) -> bool:
    is_number = bool(_NUMBER.match(state.src, state.pos))
    is_label = is_number or bool(_LABEL.match(state.src, state.pos))
    return is_label and footnote_ref(state, silent, always_match=is_number)


def _known(env: Any) -> dict[str, int]:
    found: dict[str, int] = env.get("footnotes", {}).get("refs", {})
    return found


def _keep_unreferenced(state: StateCore) -> None:
    """Number the notes that nothing refers to, too: no text gets lost."""
    notes = state.env.get("footnotes", {}).get("list")
    for label, number in _known(state.env).items():
        if number < 0 and notes is not None:
            notes[len(notes)] = {"label": label[1:], "count": 0}


def _label(token: Token, instead: str = "") -> str:
    """Return the label as it was written, or `instead` of one that is no number."""
    label = str(token.meta["label"])
    return label if not instead or _NUMBER.fullmatch(f"[^{label}]") else instead


def _numbers(token: Token) -> str:
    return f"{token.meta['id'] + 1}-{token.meta['subId'] + 1}"


def _draw_anchor(tokens: Sequence[Token], at: int, _: Any, env: Any) -> str:
    meta = tokens[at].meta
    is_referenced = env["footnotes"]["list"][meta["id"]]["count"] > 0
    if not is_referenced or meta["subId"] >= MOST_WAYS_BACK:
        return ""
    return f" <sub>{_numbers(tokens[at])}</sub>"


def _linked(found: re.Match[str], place: str) -> str:
    prefix = f"{place}-" if place else ""
    if found["note"]:
        return format_html('<li id="fn-{}{}">', prefix, found["note"])
    numbers = found["reference"] or found["back"]
    if not numbers:
        return '<section class="footnotes" role="doc-endnotes">'
    note, _, times = numbers.partition("-")
    language = get_language() or "en"
    if found["back"]:
        is_first = times == "1"
        shown = note if is_first else numbers
        return format_html(
            '<a class="footnote-back" role="doc-backlink" href="#fnref-{}{}" '
            'aria-label="{}" lang="{}">↩\ufe0e{}</a>',
            *(prefix, numbers),
            gettext("Back to reference %(number)s") % {"number": shown},
            language,
            "" if is_first else format_html("<sup>{}</sup>", times),
        )
    return format_html(
        '<sup><a role="doc-noteref" id="fnref-{}{}" href="#fn-{}{}" '
        'aria-label="{}" lang="{}">{}</a></sup>',
        *(prefix, numbers, prefix, note),
        gettext("Footnote %(number)s") % {"number": note},
        language,
        note,
    )
