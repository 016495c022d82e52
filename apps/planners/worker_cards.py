"""What a trained conductor reads of each worker: measured digits, for one prompt.

A card is `price2 solve6 guided9 check3 plan4`: the price in relation to the dearest
worker, then the success in tenths that the light planner expects of the worker on
prompts of this kind, by role (see `ProfileRole`). Conductors are trained on such cards,
so a pool may have other workers. Workers are numbered in the order of their cards,
whatever their order in the pool, so a conductor has one case to learn where it would
have all orders. A digit follows its word without a space, because a space is a token.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from apps.engine.ports import Pool, PoolWorker, Task

if TYPE_CHECKING:
    from apps.planners.light.model import LightModel

Cards = Callable[[Task, Pool], tuple[str, ...]]
"""Returns one card for each worker of a pool, in its order."""
HIGHEST = 9
UNMEASURED = "not measured"


def in_order_of_cards(task: Task, pool: Pool, cards: Cards) -> Pool:
    """Return the pool with its workers as a prompt numbers them, the dearest first."""
    found = zip(cards(task, pool), pool.workers, strict=True)
    ordered = sorted(found, key=lambda pair: (pair[0], pair[1].name), reverse=True)
    return replace(pool, workers=tuple(worker for _, worker in ordered))


def priced_cards(task: Task, pool: Pool) -> tuple[str, ...]:
    """Return cards of workers of which nothing was measured."""
    return tuple(f"{digit} {UNMEASURED}" for digit in _prices(pool))


def measured_cards(model: LightModel) -> Cards:
    """Return what makes cards of what a light planner knows."""

    def cards(task: Task, pool: Pool) -> tuple[str, ...]:
        kind = model.kinds.kind_of(task.prompt)
        known = model.known_now(pool.fingerprints)

        def measured(name: str) -> str:
            if name not in known.workers:
                return UNMEASURED
            success = known.table[:, known.workers.index(name), kind]
            words = zip(("solve", "guided", "check", "plan"), success, strict=True)
            return " ".join(f"{word}{_tenths(share)}" for word, share in words)

        found = zip(_prices(pool), pool.names, strict=True)
        return tuple(f"{digit} {measured(name)}" for digit, name in found)

    return cards


def _prices(pool: Pool) -> list[str]:
    """Return each worker's output price in ninths of the dearest one's."""
    known = [_output_micros(worker) for worker in pool.workers]
    dearest = max((price for price in known if price is not None), default=0)

    def words(price: int | None) -> str:
        if price is None:
            return "price unknown"
        return f"price{round(HIGHEST * price / dearest) if dearest else 0}"

    return [words(price) for price in known]


def _output_micros(worker: PoolWorker) -> int | None:
    return None if worker.price is None else worker.price.output_micros


def _tenths(share: float) -> int:
    return min(HIGHEST, int(10 * share))
