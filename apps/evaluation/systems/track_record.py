"""Who did best on some tasks. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping


def best_worker(outcomes: Iterable[Mapping[str, tuple[bool, int]]]) -> str:
    """Return who was right most often; of equal ones who is cheaper, then by name.

    `outcomes` has for each task whether each worker was right, and its cost. Raises:
    ValueError if nothing has been measured.
    """
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for task in outcomes:
        for worker, (is_right, cost) in task.items():
            figures = sums[worker]
            figures[0] += is_right
            figures[1] += cost
            figures[2] += 1
    if not sums:
        raise ValueError("no single worker has been measured")
    return min(
        sorted(sums),
        key=lambda w: (-sums[w][0] / sums[w][2], sums[w][1] / sums[w][2]),
    )
