"""The candidates that a comparison can have, each with what it may cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from apps.core.errors import ConductorError
from apps.playground.choices import PoolChoice
from apps.playground.composing.estimate_text import estimate_words
from apps.runs.types import Estimate

MOST_ESTIMATED = 30
"""Candidates whose cost is estimated; each takes a few queries."""


@dataclass(frozen=True, slots=True)
class CandidateChoice:
    """A tier or a worker that can be asked."""

    model: str
    name: str
    about: str
    is_tier: bool
    estimate: Estimate | None
    """None: nothing is known yet."""

    @property
    def cost_words(self) -> str:
        """Return what it may cost, in words; empty: nothing is known."""
        if self.estimate is None:
            return ""
        return estimate_words(self.estimate)

    @property
    def most_micros(self) -> int | None:
        """Return the most that it may cost. None: unknown."""
        return self.estimate.most_micros if self.estimate else None


@dataclass(frozen=True, slots=True)
class CandidateGroup:
    """The candidates of one pool."""

    pool: str
    candidates: tuple[CandidateChoice, ...]


Estimating = Callable[[str], Estimate]
"""Estimates a run of a model."""


def candidate_groups(
    pools: Sequence[PoolChoice], estimate: Estimating | None
) -> list[CandidateGroup]:
    """Return what can be asked, by pool. `estimate` None: no prompt is known yet."""
    left = MOST_ESTIMATED
    groups = []
    seen: set[str] = set()
    for pool in pools:
        found = []
        for model, name, about, is_tier in _offered(pool, seen):
            known = _estimated(model, estimate) if left > 0 else None
            left -= 1
            found.append(CandidateChoice(model, name, about, is_tier, known))
        if found:
            groups.append(CandidateGroup(pool.name, tuple(found)))
    return groups


def usual_candidates(
    groups: Sequence[CandidateGroup], asked: str = "", best_worker: str = ""
) -> list[str]:
    """Return what is chosen at first: a tier that plans, and a single worker.

    `asked`: the model of a recorded run, whose answer is one of them; `best_worker`:
    the name of the worker that was right most often alone, if that was measured.
    """
    own = groups[0].candidates if groups else ()
    tiers = sorted(each.model for each in own if each.is_tier)[::-1]
    alone = [each for each in own if not each.is_tier]
    alone.sort(key=lambda each: each.name != best_worker)
    workers = [each.model for each in alone]
    is_planned = asked in tiers
    wanted = [*workers, *tiers] if is_planned else [*tiers[:1], *workers, *tiers[1:]]
    return [each for each in wanted if each != asked][: 1 if asked else 2]


def _offered(pool: PoolChoice, seen: set[str]) -> Iterator[tuple[str, str, str, bool]]:
    for tier in pool.tiers:
        yield pool.model(tier.name), tier.name, tier.explanation, True
    for worker in pool.workers:
        if worker.name not in seen:
            seen.add(worker.name)
            yield worker.model, worker.name, worker.description, False


def _estimated(model: str, estimate: Estimating | None) -> Estimate | None:
    if estimate is None:
        return None
    try:
        return estimate(model)
    except ConductorError:  # the pool has just changed; starting it says why
        return None


def candidate_models(pools: Sequence[PoolChoice]) -> list[str]:
    """Return the model names of all candidates."""
    tiers = [pool.model(tier.name) for pool in pools for tier in pool.tiers]
    return [*tiers, *(worker.model for pool in pools for worker in pool.workers)]
