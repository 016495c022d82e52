"""How runs differ, in words.

Every ratio comes from the exact whole numbers on record and is rounded once, for
reading. What is unknown or not finished yet is said to be so, never estimated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_noop as _

from apps.runs.records.run_view import RunView
from apps.web import formats
from apps.web.text_differences import Differences

ENDINGS = {
    "failed": _("{name} failed: its numbers go up to that moment."),
    "cancelled": _("{name} was stopped: its numbers go up to that moment."),
}
"""How a run ended without an answer, as a sentence."""
SMALLEST_SHOWN_RATIO = Fraction(1, 100)
Named = tuple[str, RunView]
"""A run with what it is called in a sentence."""


def difference(left: Named, right: Named) -> tuple[str, ...]:
    """Return what the left run took beside the right one, as sentences.

    Show it with which answer was better: by itself it says that dear is bad.
    """
    going = [name for name, story in (left, right) if not story.is_over]
    if going:
        words = ngettext(
            "{names} is still running. The difference follows at the end.",
            "{names} are still running. The difference follows at the end.",
            len(going),
        )
        return (words.format(names=_capital(listed(going))),)
    return (
        _ratios(left, right),
        *_costs(left, right),
        *_endings(left, right),
    )


def agreement(left: Named, right: Named) -> list[str]:
    """Return how alike the answers are, as a sentence; none if one is missing.

    Words are counted wherever they stand, so a ratio says nothing of what is right.
    """
    mine, other = ((story.answer or "").split() for _, story in (left, right))
    if not (mine and other):
        return []
    if is_same_answer((left, right)):
        return [gettext("Same answer.")]
    shared = (Counter(mine) & Counter(other)).total()
    percent = 200 * shared // (len(mine) + len(other))
    words = gettext("The answers differ: {percent} % of their words are the same.")
    return [words.format(percent=percent)]


def is_same_answer(runs: Sequence[Named]) -> bool:
    """Say whether two runs gave one answer, apart from white space."""
    answers = [(story.answer or "").split() for _, story in runs]
    return len(answers) == 2 and bool(answers[0]) and answers[0] == answers[1]


def _ratios(left: Named, right: Named) -> str:
    (name, mine), (other_name, other) = left, right
    time = (mine.latency_ms or 0, other.latency_ms or 0)
    parts = [_part(*time, gettext("{times} the time"))]
    if not (mine.total_cost.has_unknown or other.total_cost.has_unknown):
        costs = (mine.total_cost.micros, other.total_cost.micros)
        parts.append(_part(*costs, gettext("{times} the cost")))
    tokens = (mine.total_usage.total_tokens, other.total_usage.total_tokens)
    parts.append(_part(*tokens, gettext("{times} the tokens")))
    known = [part for part in parts if part]
    if not known:
        words = gettext("There is nothing to compare {name} and {other} by.")
        return words.format(name=name, other=other_name)
    words = gettext("{name} took {parts} of {other}.")
    return words.format(name=_capital(name), parts=listed(known), other=other_name)


def _part(mine: int, other: int, words: str) -> str:
    """Return one number of the sentence; nothing has no ratio, so it has no part."""
    return words.format(times=times(mine, other)) if mine and other else ""


def times(mine: int, other: int) -> str:
    """Return how many times `other` fits into `mine`, in two digits, with a sign."""
    if mine == other:
        return gettext("exactly 1 ×")
    ratio = Fraction(mine, other)
    if ratio < SMALLEST_SHOWN_RATIO:
        words = gettext("less than {number} ×")
        return words.format(number=float(SMALLEST_SHOWN_RATIO))
    if round(ratio, 1) >= 10:
        return f"{formats.count(round(ratio))} ×"
    digits = 1 if ratio >= 1 else 2
    rounded = round(ratio, digits)
    return gettext("about 1 ×") if rounded == 1 else f"{float(rounded):.{digits}f} ×"


def _costs(left: Named, right: Named) -> list[str]:
    """Return what is to be said of costs that have no ratio."""
    (name, mine), (other_name, other) = left, right
    unknown = [name for name, story in (left, right) if story.total_cost.has_unknown]
    if unknown:
        if len(unknown) == 2:
            words = gettext(
                "The cost of {name} and of {other} is unknown, so costs are not "
                "compared."
            )
            return [words.format(name=name, other=other_name)]
        words = gettext("The cost of {name} is unknown, so costs are not compared.")
        return [words.format(name=unknown[0])]
    if mine.total_cost.micros and other.total_cost.micros:
        return []
    if mine.total_cost == other.total_cost:
        return [gettext("Both cost nothing.")]
    costs = [_price(story.total_cost.micros) for story in (mine, other)]
    words = gettext("{name} cost {cost}, {other} {other_cost}.").format(
        name=_capital(name), cost=costs[0], other=other_name, other_cost=costs[1]
    )
    return [words]


def _price(micros: int) -> str:
    return formats.money(micros) if micros else gettext("nothing")


def _endings(left: Named, right: Named) -> list[str]:
    return [
        gettext(ENDINGS[story.state]).format(name=_capital(name))
        for name, story in (left, right)
        if story.state in ENDINGS
    ]


def listed(parts: Sequence[str]) -> str:
    """Return some words as a list within a sentence."""
    *first, last = parts
    if not first:
        return last
    return gettext("{first} and {last}").format(first=", ".join(first), last=last)


def _capital(words: str) -> str:
    """Return words for the start of a sentence; names of workers stay as they are."""
    return "T" + words[1:] if words.startswith("the ") else words


def costs_alone(runs: Sequence[Named]) -> str:
    """Return what each run cost and how long it took, without a ratio."""
    parts = []
    for name, story in runs:
        cost = story.total_cost
        price = (
            gettext("an unknown amount") if cost.has_unknown else _price(cost.micros)
        )
        took = formats.duration(story.latency_ms or 0)
        words = gettext("{name} cost {cost} and took {time}")
        parts.append(words.format(name=name, cost=price, time=took))
    return f"{'; '.join(parts)}."


def only_here_words(found: Differences) -> str:
    """Return how much of an answer stands in no other one, as a sentence."""
    if found.unit == "words":
        words = ngettext(
            "{number} of {total} words stands only here.",
            "{number} of {total} words stand only here.",
            found.only_here,
        )
    else:
        words = ngettext(
            "{number} of {total} sentences stands only here.",
            "{number} of {total} sentences stand only here.",
            found.only_here,
        )
    number, total = formats.count(found.only_here), formats.count(found.count)
    return words.format(number=number, total=total)
