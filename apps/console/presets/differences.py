"""What changed between two versions of a preset: settings in words, texts by word."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from apps.core.money import usd_text
from apps.presets.inputs import PresetContent, PresetSettings
from apps.web.formats import duration

MOST_PIECES = 2_000
"""Words, or lines, that are compared one by one; the time grows with their square."""
_WORDS = re.compile(r"\w+|\s+|[^\w\s]")
_LINES = re.compile(r"[^\n]*\n|[^\n]+")


@dataclass(frozen=True, slots=True)
class ChangedPiece:
    """A piece of two texts that are compared."""

    kind: str
    """same, removed or added."""
    text: str


@dataclass(frozen=True, slots=True)
class SettingChange:
    """A setting that two versions have differently, in words."""

    label: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class VersionDifference:
    """What a version changed."""

    prompt: Sequence[ChangedPiece]
    """Empty: it is the same."""
    system: Sequence[ChangedPiece]
    settings: Sequence[SettingChange]

    @property
    def words(self) -> str:
        """Return the names of what changed, as one text."""
        named = {
            "prompt": self.prompt,
            "system prompt": self.system,
            "settings": self.settings,
        }
        return ", ".join(name for name, changes in named.items() if changes)


def version_difference(
    before: PresetContent, after: PresetContent
) -> VersionDifference:
    """Return what a version changed of the one before it."""
    olds, news = setting_words(before.settings), setting_words(after.settings)
    return VersionDifference(
        text_pieces(before.prompt, after.prompt),
        text_pieces(before.system, after.system),
        [
            SettingChange(name, olds.get(name, "not set"), news.get(name, "not set"))
            for name in {**olds, **news}
            if olds.get(name) != news.get(name)
        ],
    )


def setting_words(settings: PresetSettings) -> dict[str, str]:
    """Return the settings that are set, by what pages call them."""
    cost, time_s = settings.max_cost_micros, settings.max_time_s
    named = {
        "Model": settings.model or None,
        "Temperature": settings.temperature and f"{settings.temperature:g}",
        "Max steps": settings.max_steps,
        "Cost limit": None if cost is None else f"${usd_text(cost)}",
        "Time limit": None if time_s is None else duration(time_s * 1_000),
        "Data class": settings.data_class,
    }
    if settings.temperature == 0:
        named["Temperature"] = "0"
    return {name: str(value) for name, value in named.items() if value is not None}


def text_pieces(before: str, after: str) -> list[ChangedPiece]:
    """Return two texts as one with what was removed and added; empty: they are equal.

    Long texts are compared line by line, and very long ones as a whole.
    """
    if before == after:
        return []
    for pattern in (_WORDS, _LINES):
        olds, news = pattern.findall(before), pattern.findall(after)
        if max(len(olds), len(news)) <= MOST_PIECES:
            return list(_compared(olds, news))
    return list(_changed(before, after))


def _compared(olds: Sequence[str], news: Sequence[str]) -> Iterator[ChangedPiece]:
    matcher = SequenceMatcher(None, olds, news, autojunk=False)
    for kind, i, j, k, m in matcher.get_opcodes():
        if kind == "equal":
            yield ChangedPiece("same", "".join(olds[i:j]))
        else:
            yield from _changed("".join(olds[i:j]), "".join(news[k:m]))


def _changed(before: str, after: str) -> Iterator[ChangedPiece]:
    if before:
        yield ChangedPiece("removed", before)
    if after:
        yield ChangedPiece("added", after)
