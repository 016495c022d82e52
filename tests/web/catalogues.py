"""Reads catalogues of translations, and the words that code and templates mark.

Without gettext's tools, which are needed only to update catalogues.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from django.utils import translation
from django.utils.translation import gettext, templatize

ROOT = Path(__file__).parents[2]
CONTEXT = "\x04"
"""Between the context of a word and the word, as compiled catalogues have it."""
MARKS = {"gettext", "gettext_lazy", "gettext_noop", "ngettext", "ngettext_lazy", "_"}
MARKS_IN_CONTEXT = {"pgettext", "pgettext_lazy"}
PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|\{\w+\}|</?\w+")
"""Values that are filled in, and the elements of HTML around words."""
_LINE = re.compile(r'^(?:(msgctxt|msgid|msgid_plural|msgstr)(?:\[(\d)\])? )?(".*")$')
_TEXT = r"""u?('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_CALL = re.compile(rf"\b(?:n?gettext|_)\({_TEXT}")
_CALL_IN_CONTEXT = re.compile(rf"\bpgettext\({_TEXT}, {_TEXT}")


@dataclass
class Message:
    """One message of a catalogue."""

    texts: dict[str, str]
    """By what they are: msgid, msgid_plural, msgstr, or msgstr and its number."""
    flags: str

    @property
    def key(self) -> str:
        """Return its English text, after its context if it has one."""
        context = self.texts.get("msgctxt")
        text = self.texts["msgid"]
        return text if context is None else f"{context}{CONTEXT}{text}"

    @property
    def english(self) -> list[str]:
        return [text for name, text in self.texts.items() if name.startswith("msgid")]

    @property
    def translations(self) -> list[str]:
        return [text for name, text in self.texts.items() if name.startswith("msgstr")]


def messages_of(path: Path) -> list[Message]:
    """Return the messages of a .po file without its header."""
    found = [_message(block) for block in path.read_text("utf-8").split("\n\n")]
    return [each for each in found if each.texts.get("msgid")]


def _message(block: str) -> Message:
    texts: dict[str, str] = {}
    name = flags = ""
    for line in block.splitlines():
        if line.startswith("#,"):
            flags += line
        elif match := _LINE.match(line):
            name = (match[1] + (match[2] or "")) if match[1] else name
            texts[name] = texts.get(name, "") + ast.literal_eval(match[3])
    return Message(texts, flags)


def marked_words() -> set[str]:
    """Return every text that is marked for translation; of pairs the singular."""
    return {*_in_templates(), *_in_code((ROOT / "apps").rglob("*.py"))}


def _in_templates() -> Iterator[str]:
    for path in (ROOT / "templates").rglob("*.html"):
        calls = templatize(path.read_text("utf-8"))
        for call in _CALL.findall(calls):
            yield ast.literal_eval(call)
        for pair in _CALL_IN_CONTEXT.findall(calls):
            yield CONTEXT.join(ast.literal_eval(each) for each in pair)


def _in_code(paths: Iterable[Path]) -> Iterator[str]:
    for path in paths:
        text = path.read_text("utf-8")
        if "django.utils.translation" in text:
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.Call):
                    yield from _marked(_name(node.func), node.args)


def _marked(function: str, arguments: list[ast.expr]) -> Iterator[str]:
    words = arguments[: 2 if function in MARKS_IN_CONTEXT else 1]
    constants = [str(each.value) for each in words if isinstance(each, ast.Constant)]
    if function in MARKS | MARKS_IN_CONTEXT and len(constants) == len(words):
        yield CONTEXT.join(constants)


def _name(function: ast.expr) -> str:
    return function.id if isinstance(function, ast.Name) else ""


def in_german(english: str) -> str:
    """Return the German words for English ones: the same where there are none."""
    with translation.override("de"):
        return gettext(english)
