"""Systems as people name them on a command line, and what the names stand for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from apps.core.errors import InvalidInput
from apps.evaluation.systems.base import CARRIER_TIER
from apps.pools.types import PoolSnapshot

FORMS = (
    "conductor:mini, conductor:ultra, worker:NAME, workers (each one alone), "
    "self-reflection:NAME[:TURNS], moa:AGGREGATOR (the others propose), random-plan, "
    "per-family:EVALUATION (the best worker of each family, as that one measured) or "
    "nearest-neighbors:EVALUATION (the best worker of the tasks most alike)"
)


def systems_named(names: Sequence[str], snapshot: PoolSnapshot) -> list[dict[str, Any]]:
    """Return the systems of short names, as settings of an evaluation have them.

    They fit the pool: in a mixture of agents as many workers propose as its tier has
    steps for, the first ones of the pool. Raises: InvalidInput.
    """
    workers = [worker.name for worker in snapshot.chat_workers]
    most = snapshot.tiers[CARRIER_TIER].max_steps - 1
    return [system for name in names for system in _named(name, workers, most)]


def _named(name: str, workers: Sequence[str], most: int) -> list[dict[str, Any]]:
    match name.split(":"):
        case ["conductor", ("mini" | "ultra") as tier]:
            return [{"kind": "tier", "tier": tier}]
        case ["worker", worker]:
            return [{"kind": "worker", "worker": worker}]
        case ["workers"]:
            return [{"kind": "worker", "worker": worker} for worker in workers]
        case ["self-reflection", worker]:
            return [{"kind": "self_reflection", "worker": worker}]
        case ["self-reflection", worker, turns] if turns.isdecimal():
            given = {"worker": worker, "turns": int(turns)}
            return [{"kind": "self_reflection", **given}]
        case ["moa", aggregator]:
            proposing = [worker for worker in workers if worker != aggregator]
            given = {"workers": proposing[:most], "aggregator": aggregator}
            return [{"kind": "mixture_of_agents", **given}]
        case ["random-plan"]:
            return [{"kind": "random_plan"}]
        case ["nearest-neighbors", evaluation]:
            return [{"kind": "nearest_neighbors", "measured_by": evaluation}]
        case ["per-family", evaluation]:
            return [{"kind": "worker_per_family", "measured_by": evaluation}]
    raise InvalidInput(f"there is no system {name!r}; expected {FORMS}")
