"""What the tags of a rule say of a worker. Pure.

A tag may be of a kind, which stands before a colon: `region:us`. A worker without a
plain tag does not have what it stands for. A worker without any tag of a kind has not
stated it, so nobody knows whether a tag of the kind would be true of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from django.utils.translation import gettext_noop as _

from apps.governance.sensitive_data.plain_form import plain_words

Say = Callable[[str], str]
"""Translates words for a page; `str` leaves them in English."""
QUOTED = _("“{word}”")
ALWAYS_STATED = "provider"
"""The kind of the tag that every worker has by its address."""


def has_one(present: Iterable[str], wanted: Iterable[str]) -> bool:
    """Say whether one of the wanted tags is present, in upper or lower case."""
    return not _normalized(present).isdisjoint(_normalized(wanted))


def not_stated(present: Iterable[str], wanted: Iterable[str]) -> Sequence[str]:
    """Return the kinds that wanted tags are of and that no tag states, in order."""
    stated = {kind_of(tag) for tag in present}
    kinds = dict.fromkeys(kind_of(tag) for tag in wanted)
    return [kind for kind in kinds if kind and kind not in stated]


def kind_of(tag: str) -> str:
    """Return the kind that a tag is of, `region` for `Region:us`. Empty: of none."""
    kind, colon, _ = plain_words(tag).partition(":")
    return kind.strip() if colon else ""


def nor_unstated(wanted: Iterable[str], say: Say = str) -> str:
    """Say in words that a rule also excludes who states nothing of its tags' kinds."""
    kinds = [kind for kind in not_stated((), wanted) if kind != ALWAYS_STATED]
    named = f" {say(_('or'))} ".join(
        say(QUOTED).format(word=f"{kind}:…") for kind in kinds
    )
    words = say(_(", nor one without a tag {names}"))
    return words.format(names=named) if named else ""


def _normalized(tags: Iterable[str]) -> set[str]:
    return {plain_words(tag) for tag in tags}
