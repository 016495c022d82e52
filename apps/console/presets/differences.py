"""What changed between two versions of a preset: settings in words, texts by word."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from apps.core.money import usd_text
from apps.presets.inputs import PresetContent, PresetSettings
from apps.web.formats import duration
from apps.web.text_differences import MOST_CHARACTERS, MOST_PARTS, places_in_common

_WORDS = re.compile(r"(?:\w+|[^\w\s])\s*|\s+")
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


def changed_parts(before: PresetContent, after: PresetContent) -> str:
    """Return the names of what a version changed of the one before it, as one text."""
    named = {
        _("prompt"): before.prompt != after.prompt,
        _("system prompt"): before.system != after.system,
        _("settings"): before.settings != after.settings,
    }
    return ", ".join(name for name, is_changed in named.items() if is_changed)


def version_difference(
    before: PresetContent, after: PresetContent
) -> VersionDifference:
    """Return what a version changed of the one before it."""
    olds, news = setting_words(before.settings), setting_words(after.settings)
    unset = _("not set")
    return VersionDifference(
        text_pieces(before.prompt, after.prompt),
        text_pieces(before.system, after.system),
        [
            SettingChange(name, olds.get(name, unset), news.get(name, unset))
            for name in {**olds, **news}
            if olds.get(name) != news.get(name)
        ],
    )


def setting_words(settings: PresetSettings) -> dict[str, str]:
    """Return the settings that are set, by what pages call them."""
    temperature = _("Temperature")
    cost, time_s = settings.max_cost_micros, settings.max_time_s
    named = {
        _("Model"): settings.model or None,
        temperature: settings.temperature and f"{settings.temperature:g}",
        _("Max steps"): settings.max_steps,
        _("Cost limit"): None if cost is None else f"${usd_text(cost)}",
        _("Time limit"): None if time_s is None else duration(time_s * 1_000),
        _("Data class"): settings.data_class and _(settings.data_class),
    }
    if settings.temperature == 0:
        named[temperature] = "0"
    return {name: str(value) for name, value in named.items() if value is not None}


def text_pieces(before: str, after: str) -> list[ChangedPiece]:
    """Return two texts as one with what was removed and added; empty: they are equal.

    Long texts are compared line by line, and very long ones as a whole.
    """
    if before == after:
        return []
    is_long = max(len(before), len(after)) > MOST_CHARACTERS
    for pattern in (_LINES,) if is_long else (_WORDS, _LINES):
        olds, news = pattern.findall(before), pattern.findall(after)
        if max(len(olds), len(news)) <= MOST_PARTS:
            return list(_compared(olds, news))
    return list(_changed(before, after))


def _compared(olds: Sequence[str], news: Sequence[str]) -> Iterator[ChangedPiece]:
    same: list[str] = []
    old = new = 0
    ends = (len(olds), len(news))
    for i, j in [*places_in_common(olds, news), ends]:
        if (i, j) != (old, new):
            yield from _same(same)
            same = []
            yield from _changed("".join(olds[old:i]), "".join(news[new:j]))
        same += olds[i : i + 1]
        old, new = i + 1, j + 1
    yield from _same(same)


def _same(parts: Sequence[str]) -> Iterator[ChangedPiece]:
    if parts:
        yield ChangedPiece("same", "".join(parts))


def _changed(before: str, after: str) -> Iterator[ChangedPiece]:
    if before:
        yield ChangedPiece("removed", before)
    if after:
        yield ChangedPiece("added", after)
