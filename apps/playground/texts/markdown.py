"""Model text as HTML. Model text is hostile: the sanitiser has the last word on it.

Guarantees that what comes out holds no script, no style, no image, no form and no
address other than http, https or mailto, that it loads nothing by itself, and that no
text takes longer than its budget: `formattable` says in advance how much of it fits,
here and in the browser.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from threading import Lock

import nh3
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.token import Token

from apps.playground.texts import footnotes, formulas

TAGS = frozenset(
    {
        "div",
        *("p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6"),
        *("strong", "em", "s", "code", "pre", "blockquote", "a"),
        *("ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td"),
        *formulas.TAGS,
        *footnotes.TAGS,
    }
)


def _parser(add_footnotes: Callable[[MarkdownIt], None]) -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "linkify": False})
    parser.enable(["table", "strikethrough"]).disable("image")
    formulas.add_formulas(parser)
    add_footnotes(parser)
    parser.add_render_rule("table_open", lambda *args: "<div><table>")
    parser.add_render_rule("table_close", lambda *args: "</table></div>")
    return parser


_WHOLE = _parser(footnotes.add_footnotes)
_GROWING = _parser(footnotes.add_growing_footnotes)
_CELLS = frozenset({"td_open", "th_open"})
_LITERAL = frozenset({"fence", "code_block", formulas.DISPLAY})
_ENDS_BLANK = frozenset({"paragraph_open", "heading_open", "table_open", "hr"})
"""What an empty line ends for good."""
TASK_CLASS = "task"
TASK_BOXES = {"[ ] ": "☐", "[x] ": "☑"}
SHORT_CELL = 24
"""Characters of a cell up to which it stays on one line: figures, dates, names."""
LONG_WORD = 40
"""Characters of a word from which on it may be broken, even in a table."""
_CLEANER = nh3.Cleaner(
    tags=set(TAGS),
    attributes={
        "a": {"href"},
        "ol": {"start"},
        **{tag: {"class"} for tag in ("code", "td", "th")},
        **formulas.ATTRIBUTES,
        "li": {"class"} | footnotes.ATTRIBUTES["li"],
    },
    url_schemes={"http", "https", "mailto"},
    url_relative="deny",
    link_rel="noopener noreferrer nofollow",
    set_tag_attribute_values={
        "a": {"target": "_blank"},
        "pre": {"tabindex": "0", "dir": "ltr"},
        # There is no other div than the one around a table: model text holds no HTML.
        "div": {"class": "table-scroll", "tabindex": "0", "dir": "auto"},
        **{tag: {"dir": "auto"} for tag in ("ul", "ol", "blockquote")},
    },
    attribute_filter=lambda tag, name, value: _keep(tag, name, value),
)
KEPT_CHARACTERS = 8_000_000
"""HTML that is kept in memory, over all texts: a live page asks for the same often."""

# What parsing costs at most, in microseconds as measured: the work is linear in each of
# these. Only in tables it is not, whose short lines are filled up to the full width.
_PER_CHARACTER = 0.5
_PER_DELIMITER = 11
_PER_STOP = 2.5
_PER_LINE = 30
_PER_ITEM = 12
_PER_LIST = 36
"""For each list that begins inside of another one on the same line."""
_PER_CELL = 14
_PER_NOTE = 50
"""For each line that may begin a footnote."""
_DELIMITERS = "[]*_~`<>!\\&"
_STOPS = '#$%+-:=@^{}"'
"""At these the parser stops to look, in vain for the most part."""
_RULE_HEAD, _RULE_TAIL = re.compile(r"[\s>*+|:-]*"), re.compile(r"[\s|:]*")
"""A line under a table's head, before and after its last dash."""
_FENCE = re.compile(r"[\s>]*(?:```|~~~)")
_BULLETS = re.compile(r"[\s>]*((?:(?:[-*+]|\d{1,9}[.)])[ \t]+)+)")
_OWN_BLOCK = re.compile(r"[\s>]*(?:[|#]|[-*+] |\d+[.)] )")
"""The start of a line that does not go on with the paragraph above it."""
LONGEST_BLOCK = 3_000
"""Characters beyond Latin-1 that a paragraph, or code, may have. The browser's time for
one block grows with the square of its changes of script and direction."""


def render(text: str, place: str = "") -> SafeString:
    """Return Markdown as HTML that is safe to put on a page.

    `place`: letters, figures and hyphens that no other text of the page has, for the
    ids of footnotes. The time grows with the text: ask `formattable` first.
    """
    key = sha256(text.encode("utf-8", "surrogatepass")).digest()
    html = _kept.get(key)
    if html is None:
        html = _clean(_html(text, _WHOLE))
        _kept.put(key, html)
    return footnotes.link(html, place) if "<section>" in html else html


@dataclass(frozen=True, slots=True)
class GrowingText:
    """A text that is still being written, formatted so far."""

    closed: int
    """Characters, from the start, in blocks that no further text can change."""
    closed_html: SafeString
    open_html: SafeString
    """The rest as it stands now."""


def render_growing(text: str) -> GrowingText:
    """Return Markdown whose end has not come yet, as HTML that is safe on a page.

    What is closed may be left out next time: the rest is formatted alike without it,
    links by reference apart. The time grows with the text: ask `formattable` first.
    """
    # An unfinished line says nothing: "2" after a list may become its next item, "2.".
    whole_lines = text[: text.rfind("\n") + 1]
    blocks = [t for t in _GROWING.parse(whole_lines) if t.level == 0 and t.map]
    closed = 0
    if blocks and whole_lines.endswith("\n\n") and blocks[-1].type in _ENDS_BLANK:
        closed = len(whole_lines)
    elif blocks and blocks[-1].map:
        lines = whole_lines.split("\n")[: blocks[-1].map[0]]
        closed = sum(len(line) + 1 for line in lines)
    return GrowingText(closed, _grown(text[:closed]), _grown(_completed(text[closed:])))


def _grown(text: str) -> SafeString:
    return footnotes.link(_clean(_html(text, _GROWING)), "")


def _completed(text: str) -> str:
    """Close what is bold or code in the last line, unless it stands in code."""
    last = _GROWING.parse(text)[-1:]
    if last and last[0].type in _LITERAL:
        return text
    before, newline, line = text.rpartition("\n")
    for mark in ("`", "**"):
        if line.count(mark) % 2:
            line = line.removesuffix(mark) if line.endswith(mark) else line + mark
    return before + newline + line


def _clean(html: str) -> SafeString:
    return mark_safe(_CLEANER.clean(html))  # nosec B308 B703


def _html(text: str, parser: MarkdownIt) -> str:
    env: dict[str, object] = {}
    tokens = parser.parse(text, env)
    for item, _, content in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if item.type == "list_item_open" and content.type == "inline":
            _mark_task(item, content)
    for token, content, end in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if token.type in _CELLS and (kind := _cell_kind(content.content)):
            token.attrSet("class", kind)
        if token.type == "th_open" and not content.content.strip():
            token.tag = end.tag = "td"  # an empty head names no column
    return str(parser.renderer.render(tokens, parser.options, env))


def _mark_task(item: Token, content: Token) -> None:
    """Show the box of a task, `[ ]` or `[x]` at the start of an item, as a sign."""
    first = content.children[0] if content.children else None
    box = TASK_BOXES.get(first.content[:4].lower()) if first else None
    if first is not None and box:
        first.content = f"{box} {first.content[4:]}"
        item.attrSet("class", TASK_CLASS)  # its sign takes the place of a bullet


def _cell_kind(text: str) -> str:
    """Return how a cell wraps; empty: between words, which stay whole."""
    if len(text) <= SHORT_CELL:
        return "short"
    longest = max(map(len, text.split()), default=0)
    return "loose" if longest > LONG_WORD else ""


def formattable(text: str, budget_us: int) -> int:
    """Return how many characters of `text`, from its start, a budget can format.

    The budget is in microseconds of an ordinary processor. A text that costs more is
    cut at the end of a line, behind a paragraph and outside of code if possible.
    """
    spent = 0.0
    start = columns = paragraph = block = 0
    is_code = False
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        line = text[start:end]
        columns = _columns(line, columns)
        spent += _cost(line) + _PER_CELL * columns
        is_blank = not line.strip()
        if not is_code and (is_blank or _OWN_BLOCK.match(line)):
            block = 0
        block += foreign(line)
        if block > LONGEST_BLOCK:
            return paragraph
        if spent > budget_us:
            return paragraph if paragraph > start // 2 else start
        is_code ^= _FENCE.match(line) is not None
        if not is_code and is_blank:
            paragraph = end
        start = end
    return len(text)


def foreign(text: str) -> int:
    """Return how many characters are beyond Latin-1: other scripts, emoji, controls."""
    return 0 if text.isascii() else len(text) - len(text.encode("latin-1", "ignore"))


def _cost(line: str) -> float:
    delimiters = _PER_DELIMITER * sum(map(line.count, _DELIMITERS))
    stops = _PER_STOP * sum(map(line.count, _STOPS))
    bullets = _BULLETS.match(line)
    begun = _PER_ITEM + _PER_LIST * (len(bullets[1].split()) - 1) if bullets else 0
    begun += _PER_NOTE * line.lstrip().startswith("[^")
    return _PER_LINE + _PER_CHARACTER * len(line) + begun + delimiters + stops


def _columns(line: str, before: int) -> int:
    """Return how many cells a line may have; `before`: those of the line above."""
    if not line.strip(" \t\r\n>"):
        return 0
    bars = line.count("|")
    return max(before, bars + 1) if bars and _is_table_rule(line) else before


def _is_table_rule(line: str) -> bool:
    """Return whether a line may stand under a table's head, in a quote or list too."""
    head, dash, tail = line.rpartition("-")
    return bool(dash and _RULE_HEAD.fullmatch(head) and _RULE_TAIL.fullmatch(tail))


def _keep(tag: str, name: str, value: str) -> str | None:
    if tag == "code" and name == "class":
        return value if value.startswith("language-") and " " not in value else None
    return value


class _Kept:
    """HTML by the digest of its text, the latest used; safe for several threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._html: OrderedDict[bytes, SafeString] = OrderedDict()
        self._size = 0

    def get(self, key: bytes) -> SafeString | None:
        with self._lock:
            if key in self._html:
                self._html.move_to_end(key)
            return self._html.get(key)

    def put(self, key: bytes, html: SafeString) -> None:
        with self._lock:
            self._size += len(html) - len(self._html.pop(key, ""))
            self._html[key] = html
            while self._size > KEPT_CHARACTERS:
                self._size -= len(self._html.popitem(last=False)[1])


_kept = _Kept()
