r"""Formulas in Markdown, between `$…$`, `$$…$$`, `\(…\)` or `\[…\]`, as MathML.

Amounts of money stay text: a formula does not begin or end at a space, no letter or
figure touches it from outside, and it ends at the first dollar sign that follows. What
cannot be read stays as it was written. The work on one text is bounded: long or deep
formulas are not read, nor those that follow after `MOST_CHARACTERS` in all.

The MathML is not safe by itself; `markdown` sanitises it with the rest.
"""

from __future__ import annotations

import re
from collections.abc import MutableMapping, Sequence
from functools import lru_cache
from typing import Any

from latex2mathml.converter import convert
from markdown_it import MarkdownIt
from markdown_it.ruler import RuleOptionsType
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

INLINE, DISPLAY = "formula", "formula_block"
TAGS = frozenset(
    {
        *("math", "mrow", "mi", "mn", "mo", "mtext", "mspace", "mstyle", "mpadded"),
        *("mfrac", "msqrt", "mroot", "msub", "msup", "msubsup", "mphantom", "menclose"),
        *("munder", "mover", "munderover", "mtable", "mtr", "mtd", "mmultiscripts"),
    }
)
ATTRIBUTES = {
    "math": {"display"},
    "mo": {"stretchy", "fence", "form", "accent", "minsize", "maxsize", "lspace"},
    "mover": {"accent"},
    "munder": {"accentunder"},
    "mspace": {"width"},
    "mstyle": {"displaystyle", "scriptlevel"},
    "mfrac": {"linethickness"},
    "mtd": {"columnalign"},
    "mtable": {"displaystyle", "rowspacing", "columnspacing", "columnalign"},
    **{tag: {"mathvariant"} for tag in ("mi", "mn", "mtext")},
}
LONGEST = 1_000
"""Characters of one formula; a longer one stays as it was written."""
MOST_LINES = 30
MOST_CHARACTERS = 3_000
"""Characters of all formulas of a text that are read: about 40 ms of work."""
DEEPEST = 40
"""Groups and marks that a formula may nest or repeat in a row."""
_KEPT = 2_000
_ENDS = {"$": "$", "$$": "$$", r"\(": r"\)", r"\[": r"\]"}
_AS_ALIGN = re.compile(r"\\(begin|end)\{(?:aligned|gathered|split)\}")
_RUN = re.compile(rf"[_^&]{{{DEEPEST}}}|(?:\\[a-zA-Z]+\s*){{{DEEPEST}}}")
_AMOUNT = re.compile(r"[\d.,]++\W*+(?<=\s)[^\W\d_]{2}")
"""The start of "5 dollars": a figure and a word."""
_TAG = re.compile(r"<\s*/?\s*([^\s/>]*)")
_SPENT = "formula_characters"


def add_formulas(parser: MarkdownIt) -> None:
    """Teach a parser formulas: two kinds of tokens, with their rules and drawing."""
    ends: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote", "list"]}
    parser.block.ruler.before("fence", DISPLAY, _read_block, ends)
    parser.inline.ruler.before("escape", INLINE, _read_inline)
    parser.add_render_rule(INLINE, _draw)
    parser.add_render_rule(DISPLAY, _draw)


def _read_inline(state: StateInline, silent: bool) -> bool:
    text, start = state.src, state.pos
    opening = _opening(text, start)
    if not opening:
        return False
    begin = start + len(opening)
    end = text.find(_ENDS[opening], begin, begin + LONGEST)
    if end < 0 or not _is_formula(text, opening, start, end):
        return False
    after = end + len(opening)
    if not silent:
        token = state.push(INLINE, "", 0)
        token.content, token.markup = text[begin:end], opening
    state.pos = after
    return True


def _opening(text: str, at: int) -> str:
    if text[at] not in "$\\":
        return ""
    return next((o for o in ("$$", "$", r"\(", r"\[") if text.startswith(o, at)), "")


def _is_formula(text: str, opening: str, start: int, end: int) -> bool:
    """Say whether what stands between two marks is a formula, not two amounts."""
    content = text[start + len(opening) : end]
    if not content.strip():
        return False
    if opening != "$":
        return True
    before, after = text[start - 1 : start], text[end + 1 : end + 2]
    if before.isalnum() or before == "\\" or after.isalnum():
        return False
    is_padded = content[0].isspace() or content[-1].isspace()
    return not (is_padded or _AMOUNT.match(content))


def _read_block(state: StateBlock, line: int, last: int, silent: bool) -> bool:
    """Read a formula that has lines of its own; unfinished at the end: it is plain.

    So that a text may be read as it grows: until its end is there, or an empty line,
    what stands in the formula is no list and no heading.
    """
    opening = _line(state, line)[:2]
    if opening not in ("$$", r"\[") or state.is_code_block(line):
        return False
    lines = _lines_until(state, line, last, _ENDS[opening])
    if not lines:
        return False
    content = "\n".join(lines).rstrip()[2:]
    is_whole = content.endswith(_ENDS[opening])
    if is_whole and not content[:-2].strip():
        return False
    if not silent:
        token = state.push(DISPLAY, "", 0)
        token.content = content[:-2] if is_whole else content
        token.markup, token.hidden = opening, not is_whole
        token.map = [line, line + len(lines)]
    state.line = line + len(lines)
    return True


def _lines_until(state: StateBlock, line: int, last: int, end: str) -> list[str]:
    """Return the lines up to `end`, or to the end of the text; none: no formula."""
    lines = [_line(state, line)]
    rest = lines[0][2:]
    while not rest.endswith(end):
        line += 1
        if end in rest or len(lines) == MOST_LINES:
            return []
        if line >= last:
            return lines
        if state.isEmpty(line) or state.sCount[line] < state.blkIndent:
            return []
        rest = _line(state, line)
        lines.append(rest)
    return lines


def _line(state: StateBlock, line: int) -> str:
    return state.src[
        state.bMarks[line] + state.tShift[line] : state.eMarks[line]
    ].rstrip()


def _draw(
    renderer: Any,
    tokens: Sequence[Token],
    at: int,
    options: Any,
    env: MutableMapping[str, Any],
) -> str:
    token = tokens[at]
    is_display = token.type == DISPLAY or token.markup in ("$$", r"\[")
    # `hidden`: the formula has no end yet.
    env[_SPENT] = env.get(_SPENT, 0) + len(token.content)
    is_read = not token.hidden and env[_SPENT] <= MOST_CHARACTERS
    html = _mathml(token.content, is_display) if is_read else ""
    if not html:
        end = "" if token.hidden else _ENDS[token.markup]
        html = f"<code>{_escaped(token.markup + token.content + end)}</code>"
    return f"<p>{html}</p>\n" if token.type == DISPLAY else html


@lru_cache(maxsize=_KEPT)
def _mathml(formula: str, is_display: bool) -> str:
    """Return a formula as MathML; empty if it cannot be read."""
    if len(formula) > LONGEST or _is_deep(formula) or _RUN.search(formula):
        return ""
    readable = _AS_ALIGN.sub(r"\\\1{align*}", formula)
    try:
        html = convert(readable, display="block" if is_display else "inline")
    except Exception:  # noqa: BLE001 - the library's errors have no common class
        return ""
    # A tag of another kind comes from the formula's own text.
    return html if set(_TAG.findall(html)) <= TAGS else ""


def _is_deep(formula: str) -> bool:
    depth = 0
    for character in formula:
        depth += (character == "{") - (character == "}")
        if depth > DEEPEST:
            return True
    return formula.count(r"\left") > DEEPEST or formula.count(r"\begin") > DEEPEST


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
