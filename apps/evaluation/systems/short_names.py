"""Systems as people name them on a command line, and what the names stand for."""

from __future__ import annotations

from collections.abc import Sequence

from apps.core.errors import InvalidInput
from apps.evaluation.systems.base import PageChoice as PageChoice
from apps.evaluation.systems.base import PoolNames, Values, carrier_tier
from apps.evaluation.systems.kinds import KINDS
from apps.pools.types import PoolSnapshot

FORMS = "; ".join(kind.short_form for kind in KINDS if kind.short_form)
PAGE_CHOICES: tuple[PageChoice, ...] = tuple(
    choice for kind in KINDS for choice in kind.page_choices
)
"""What the page offers, in the order of the kinds."""


def systems_named(names: Sequence[str], snapshot: PoolSnapshot) -> list[Values]:
    """Return the systems of short names, as settings of an evaluation have them.

    They fit the pool: in a mixture of agents as many workers propose as the tier of
    fixed plans has steps for, the first ones of the pool. Raises: InvalidInput.
    """
    workers = tuple(worker.name for worker in snapshot.chat_workers)
    carrier = snapshot.tiers[carrier_tier(snapshot.tiers)]
    pool = PoolNames(workers, carrier.max_steps)
    return [system for name in names for system in _named(name, pool)]


def _named(name: str, pool: PoolNames) -> list[Values]:
    for kind in KINDS:
        if (found := kind.named(name.split(":"), pool)) is not None:
            return found
    raise InvalidInput(f"there is no system {name!r}; expected {FORMS}")
