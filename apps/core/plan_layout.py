"""Lays a plan out as a drawing: left to right by depth, from the true access lists.

Edges that span several columns run through narrow lanes between the nodes, one lane
per source, so no line ever crosses a node. Knows sizes, not colours or words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean

Access = Sequence[Sequence[int]]
"""For each step the indices of the earlier steps it reads."""


@dataclass(frozen=True, slots=True)
class Scale:
    """The sizes of a drawing, in SVG units."""

    node_width: float
    node_height: float
    column_gap: float
    row_gap: float
    lane_height: float
    margin: float


FULL = Scale(216, 96, 36, 18, 4, 14)
MINI = Scale(11, 11, 13, 4, 1, 2)
ARROW_SPACE = 14.0
"""The most room between two lines that end at one step, in SVG units."""


@dataclass(frozen=True, slots=True)
class Node:
    """Where a step stands: its top left corner."""

    index: int
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Edge:
    """A line from the step that is read to the step that reads it."""

    source: int
    target: int
    path: str


@dataclass(frozen=True, slots=True)
class Layout:
    """A drawn plan."""

    scale: Scale
    width: float
    height: float
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]


@dataclass(slots=True)
class _Slot:
    """A place in a column: a step, or the lane of a step's long edges."""

    step: int
    is_lane: bool
    column: int
    before: list[_Slot] = field(default_factory=list)
    middle: float = 0.0


def depths(access: Access) -> list[int]:
    """Return each step's column: one more than the deepest step it reads."""
    found: list[int] = []
    for reads in access:
        found.append(1 + max((found[index] for index in reads), default=-1))
    return found


def lay_out(access: Access, scale: Scale = FULL) -> Layout:
    """Return the drawing of a plan."""
    if not access:
        return Layout(scale, 0, 0, (), ())
    depth = depths(access)
    steps = [_Slot(index, False, column) for index, column in enumerate(depth)]
    routes = _routes(access, steps)
    slots = {id(slot): slot for route in routes.values() for slot in route}
    slots |= {id(slot): slot for slot in steps}
    for column in range(max(depth) + 1):
        _place([s for s in slots.values() if s.column == column], scale)
    return _draw(steps, list(slots.values()), routes, scale)


def _routes(access: Access, steps: list[_Slot]) -> dict[tuple[int, int], list[_Slot]]:
    lanes: dict[tuple[int, int], _Slot] = {}
    routes: dict[tuple[int, int], list[_Slot]] = {}
    for target, reads in enumerate(access):
        for source in reads:
            route = [steps[source]]
            for column in range(steps[source].column + 1, steps[target].column):
                lane = lanes.setdefault((source, column), _Slot(source, True, column))
                lane.before = [route[-1]]
                route.append(lane)
            routes[source, target] = [*route, steps[target]]
            steps[target].before.append(route[-1])
    return routes


def _place(column: list[_Slot], scale: Scale) -> None:
    """Give each slot of a column its height: near what it reads, without overlap."""
    wishes = {id(slot): _wanted_middle(slot) for slot in column}
    column.sort(key=lambda slot: (wishes[id(slot)], slot.is_lane, slot.step))
    bottom = float("-inf")
    for slot in column:
        half = (scale.lane_height if slot.is_lane else scale.node_height) / 2
        slot.middle = max(wishes[id(slot)], bottom + scale.row_gap + half)
        bottom = slot.middle + half
    if not any(slot.is_lane for slot in column):
        # Nodes alone are centred on what they read; beside lanes they keep in line.
        drift = fmean(slot.middle - wishes[id(slot)] for slot in column)
        for slot in column:
            slot.middle -= drift


def _wanted_middle(slot: _Slot) -> float:
    nodes = [before.middle for before in slot.before if not before.is_lane]
    return fmean(nodes or [before.middle for before in slot.before] or [0.0])


def _draw(
    steps: list[_Slot],
    slots: list[_Slot],
    routes: dict[tuple[int, int], list[_Slot]],
    scale: Scale,
) -> Layout:
    halves = {True: scale.lane_height / 2, False: scale.node_height / 2}
    top = min(slot.middle - halves[slot.is_lane] for slot in slots) - scale.margin
    bottom = max(slot.middle + halves[slot.is_lane] for slot in slots) + scale.margin
    pitch = scale.node_width + scale.column_gap
    for slot in slots:
        slot.middle -= top
    columns = 1 + max(slot.column for slot in slots)
    arrivals = _arrivals(routes, scale)
    return Layout(
        scale=scale,
        width=_round(columns * pitch - scale.column_gap + 2 * scale.margin),
        height=_round(bottom - top),
        nodes=tuple(
            Node(
                slot.step,
                _round(scale.margin + slot.column * pitch),
                _round(slot.middle - halves[False]),
            )
            for slot in steps
        ),
        edges=tuple(
            Edge(source, target, _path(route, scale, arrivals[source, target]))
            for (source, target), route in routes.items()
        ),
    )


def _arrivals(
    routes: dict[tuple[int, int], list[_Slot]], scale: Scale
) -> dict[tuple[int, int], float]:
    """Return how far from its reader's middle each line ends, so that heads differ."""
    found: dict[tuple[int, int], float] = {}
    for reader in {target for _, target in routes}:
        lines = [key for key in routes if key[1] == reader]
        lines.sort(key=lambda key: (routes[key][-2].middle, key))
        space = min(scale.node_height / (len(lines) + 1), ARROW_SPACE)
        middle = (len(lines) - 1) / 2
        found |= {key: (n - middle) * space for n, key in enumerate(lines)}
    return found


def _path(route: list[_Slot], scale: Scale, arrival: float) -> str:
    pitch = scale.node_width + scale.column_gap
    left = [_round(scale.margin + slot.column * pitch) for slot in route]
    parts = [f"M{_round(left[0] + scale.node_width)} {_round(route[0].middle)}"]
    for slot, x in zip(route[1:], left[1:], strict=True):
        start, bend = _round(x - scale.column_gap), _round(x - scale.column_gap / 2)
        y_before = _round(route[route.index(slot) - 1].middle)
        y = _round(slot.middle + (arrival if slot is route[-1] else 0))
        parts.append(f"L{start} {y_before}C{bend} {y_before} {bend} {y} {x} {y}")
        if slot.is_lane:
            parts.append(f"L{_round(x + scale.node_width)} {y}")
    return "".join(parts)


def _round(value: float) -> float:
    return round(value, 1)
