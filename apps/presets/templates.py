r"""Prompt templates: text with variables, parsed and filled in. Pure: no ORM, no I/O.

`{{name}}` is a variable, `{{name|default}}` one that may be left out. `\{{` writes
`{{`, and `\\` before `{{` writes one backslash; backslashes elsewhere are themselves.
Values are put in as they are: nothing in them is read as a variable.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

MOST_VARIABLES = 20
"""Different ones of one template."""
MOST_PLACES = 500
"""Variables of one template, each time that they stand in it."""
NAME_LENGTH = 40
DEFAULT_LENGTH = 1_000
_NAME = re.compile(rf"[A-Za-z_][A-Za-z0-9_]{{0,{NAME_LENGTH - 1}}}")
_OPENING = re.compile(r"(?<!\\)(\\*+)(\{{2,})")


class TemplateError(ValueError):
    """A template that cannot be read; the message says why, and in which line."""


@dataclass(frozen=True, slots=True)
class TemplateVariable:
    """A value that a template asks for."""

    name: str
    default: str | None = None
    """None: it must be given."""


@dataclass(frozen=True, slots=True)
class TemplatePart:
    """A piece of a template: a text, or the place of a variable."""

    text: str = ""
    """Empty: it is the place of a variable."""
    variable: str = ""


@dataclass(frozen=True)
class Template:
    """A template that has been read."""

    parts: tuple[TemplatePart, ...]
    variables: tuple[TemplateVariable, ...]
    """Each once, in the order of their first places."""

    @cached_property
    def defaults(self) -> Mapping[str, str]:
        """Return the defaults of the variables that have one."""
        return {v.name: v.default for v in self.variables if v.default is not None}

    def missing(self, values: Mapping[str, str]) -> list[str]:
        """Return the names of the variables that have neither value nor default."""
        known = values.keys() | self.defaults.keys()
        return [each.name for each in self.variables if each.name not in known]

    def unknown(self, values: Mapping[str, str]) -> list[str]:
        """Return the names of the values that the template does not ask for."""
        names = {each.name for each in self.variables}
        return sorted(values.keys() - names)

    def fill(self, values: Mapping[str, str]) -> str:
        """Return the text with every variable replaced. Raises: KeyError."""
        full = {**self.defaults, **values}
        return "".join(part.text or full[part.variable] for part in self.parts)

    def filled_bytes(self, values: Mapping[str, str]) -> int:
        """Return the size that the filled-in text has in UTF-8. Raises: KeyError."""
        full = {**self.defaults, **values}
        sizes = {each.name: _bytes(full[each.name]) for each in self.variables}
        return sum(
            sizes[part.variable] if part.variable else _bytes(part.text)
            for part in self.parts
        )


def template_read(text: str) -> Template:
    """Return the template that a text is. Raises: TemplateError."""
    parts: list[TemplatePart] = []
    defaults: dict[str, str | None] = {}
    for part, default in _pieces(text):
        if part.variable:
            _note(defaults, part.variable, default)
        parts.append(part)
    if len(defaults) > MOST_VARIABLES:
        raise TemplateError(
            f"a template has at most {MOST_VARIABLES} variables; this one has "
            f"{len(defaults)}"
        )
    if sum(bool(part.variable) for part in parts) > MOST_PLACES:
        raise TemplateError(f"variables stand in at most {MOST_PLACES} places")
    variables = tuple(TemplateVariable(*each) for each in defaults.items())
    return Template(_joined(parts), variables)


def template_escape(text: str) -> str:
    """Return the template that stands for a text as it is, without variables."""

    def escape(found: re.Match[str]) -> str:
        pairs, single = divmod(len(found[2]), 2)
        return found[1] * 2 + r"\{{" * pairs + "{" * single

    return _OPENING.sub(escape, text)


def _pieces(text: str) -> Iterator[tuple[TemplatePart, str | None]]:
    """Yield the pieces of a text, those of variables with their default."""
    place = 0
    while opening := _OPENING.search(text, place):
        pairs, is_escaped = divmod(len(opening[1]), 2)
        before = text[place : opening.start()] + "\\" * pairs
        if is_escaped:
            yield TemplatePart(before + "{{"), None
            place = opening.start(2) + 2
            continue
        single = len(opening[2]) % 2  # `{{{name}}` is a brace and a variable
        if before or single:
            yield TemplatePart(before + "{" * single), None
        start = opening.start(2) + single + 2
        closing = text.find("}}", start)
        if closing < 0:
            raise TemplateError(
                rf"line {_line(text, start)}: a variable is not closed: {{{{ has no "
                r"}} after it; write \{{ for two braces"
            )
        try:
            name, default = _variable(text[start:closing])
        except TemplateError as exc:
            raise TemplateError(f"line {_line(text, start)}: {exc}") from None
        yield TemplatePart(variable=name), default
        place = closing + 2
    if place < len(text):
        yield TemplatePart(text[place:]), None


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def _bytes(text: str) -> int:
    return len(text.encode(errors="surrogatepass"))


def _variable(inside: str) -> tuple[str, str | None]:
    name, bar, default = inside.partition("|")
    name = name.strip()
    if not _NAME.fullmatch(name):
        shown = name if len(name) <= NAME_LENGTH else f"{name[:NAME_LENGTH]}…"
        raise TemplateError(
            rf"{shown!r} is no name of a variable; names have letters, "
            rf"digits and _, begin with no digit and have at most {NAME_LENGTH} "
            r"characters; write \{{ for two braces"
        )
    if not bar:
        return name, None
    if "{{" in default:
        raise TemplateError(
            f"the default of {name!r} holds {{{{; close the variable with "
            "}} before another one begins"
        )
    if len(default) > DEFAULT_LENGTH:
        raise TemplateError(
            f"the default of {name!r} has more than {DEFAULT_LENGTH:,} characters"
        )
    return name, default


def _note(defaults: dict[str, str | None], name: str, default: str | None) -> None:
    known = defaults.setdefault(name, default)
    if default is None or known == default:
        return
    if known is not None:
        raise TemplateError(f"the variable {name!r} has two different defaults")
    defaults[name] = default


def _joined(parts: Sequence[TemplatePart]) -> tuple[TemplatePart, ...]:
    """Return the parts with texts that follow each other as one."""
    joined: list[TemplatePart] = []
    for part in parts:
        if joined and part.text and joined[-1].text:
            joined[-1] = TemplatePart(joined[-1].text + part.text)
        else:
            joined.append(part)
    return tuple(joined)
