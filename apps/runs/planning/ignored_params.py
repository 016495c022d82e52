"""Says of an order what its run will take no notice of.

The names stand in the context of the run's first entry. A parameter that no worker of
the run takes stands there by its name; one that only some take, as `name@worker` for
each that does not.
"""

from __future__ import annotations

from dataclasses import replace

from apps.engine.extra_params import not_taken
from apps.runs.planning.model_resolver import ResolvedModel
from apps.runs.types import RunOrder

MAX_NAMES = 20
"""Beyond that the rest is a number."""


def with_ignored(order: RunOrder, resolved: ResolvedModel) -> RunOrder:
    """Return the order with the extra parameters on record that have no effect."""
    if order.params.extra is None:
        return order
    workers = resolved.pool.workers
    names: list[str] = []
    for name, lacking in not_taken(order.params, workers).items():
        if len(lacking) == len(workers):
            names.append(name)
        else:
            names += [f"{name}@{worker}" for worker in lacking]
    if not names:
        return order
    known = order.ignored
    rest = [f"+{len(names) - MAX_NAMES}"] if len(names) > MAX_NAMES else []
    listed = ",".join([*([known] if known else ()), *names[:MAX_NAMES], *rest])
    return replace(order, ignored=listed)
