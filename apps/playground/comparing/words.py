"""How runs differ, in words.

Every ratio comes from the exact whole numbers on record and is rounded once, for
reading. What is unknown or not finished yet is said to be so, never estimated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from apps.runs.records.run_view import RunView
from apps.web import formats

ENDINGS = {"failed": "failed", "cancelled": "was stopped"}
"""How a run ended without an answer, as a verb."""
SMALLEST_SHOWN_RATIO = Fraction(1, 100)
Named = tuple[str, RunView]
"""A run with what it is called in a sentence."""


def difference(left: Named, right: Named) -> tuple[str, ...]:
    """Return what the left run took beside the right one, as sentences.

    Show it with which answer was better: by itself it says that dear is bad.
    """
    going = [name for name, story in (left, right) if not story.is_over]
    if going:
        verb = "is" if len(going) == 1 else "are"
        who = _sentence(" and ".join(going))
        return (f"{who} {verb} still running. The difference follows at the end.",)
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
    if mine == other:
        return ["Both gave the same answer."]
    shared = (Counter(mine) & Counter(other)).total()
    percent = 200 * shared // (len(mine) + len(other))
    return [f"The answers differ: {percent} % of their words are the same."]


def _ratios(left: Named, right: Named) -> str:
    (name, mine), (other_name, other) = left, right
    parts = [_part(mine.latency_ms or 0, other.latency_ms or 0, "time")]
    if not (mine.total_cost.has_unknown or other.total_cost.has_unknown):
        parts.append(_part(mine.total_cost.micros, other.total_cost.micros, "cost"))
    tokens = (mine.total_usage.total_tokens, other.total_usage.total_tokens)
    parts.append(_part(*tokens, "tokens"))
    known = [part for part in parts if part]
    if not known:
        return f"There is nothing to compare {name} and {other_name} by."
    return f"{_sentence(name)} took {_listed(known)} of {other_name}."


def _part(mine: int, other: int, noun: str) -> str:
    """Return one number of the sentence; nothing has no ratio, so it has no part."""
    return f"{times(mine, other)} the {noun}" if mine and other else ""


def times(mine: int, other: int) -> str:
    """Return how many times `other` fits into `mine`, in two digits, with a sign."""
    if mine == other:
        return "exactly 1 ×"
    ratio = Fraction(mine, other)
    if ratio < SMALLEST_SHOWN_RATIO:
        return f"less than {float(SMALLEST_SHOWN_RATIO)} ×"
    if round(ratio, 1) >= 10:
        return f"{formats.count(round(ratio))} ×"
    digits = 1 if ratio >= 1 else 2
    rounded = round(ratio, digits)
    return "about 1 ×" if rounded == 1 else f"{float(rounded):.{digits}f} ×"


def _costs(left: Named, right: Named) -> list[str]:
    """Return what is to be said of costs that have no ratio."""
    (name, mine), (other_name, other) = left, right
    unknown = [name for name, story in (left, right) if story.total_cost.has_unknown]
    if unknown:
        who = " and of ".join(unknown)
        return [f"The cost of {who} is unknown, so costs are not compared."]
    if mine.total_cost.micros and other.total_cost.micros:
        return []
    if mine.total_cost == other.total_cost:
        return ["Both cost nothing."]
    costs = [_price(story.total_cost.micros) for story in (mine, other)]
    return [f"{_sentence(name)} cost {costs[0]}, {other_name} {costs[1]}."]


def _price(micros: int) -> str:
    return formats.money(micros) if micros else "nothing"


def _endings(left: Named, right: Named) -> list[str]:
    return [
        f"{_sentence(name)} {ENDINGS[story.state]}: its numbers go up to that moment."
        for name, story in (left, right)
        if story.state in ENDINGS
    ]


def _listed(parts: Sequence[str]) -> str:
    *first, last = parts
    return f"{', '.join(first)} and {last}" if first else last


def _sentence(words: str) -> str:
    """Return words for the start of a sentence; names of workers stay as they are."""
    return "T" + words[1:] if words.startswith("the ") else words


def costs_alone(runs: Sequence[Named]) -> str:
    """Return what each run cost and how long it took, without a ratio."""
    parts = []
    for name, story in runs:
        cost = story.total_cost
        price = "an unknown amount" if cost.has_unknown else _price(cost.micros)
        took = formats.duration(story.latency_ms or 0)
        parts.append(f"{name} cost {price} and took {took}")
    return f"{'; '.join(parts)}."
