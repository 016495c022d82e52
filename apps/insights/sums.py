"""Sums of runs, as values: what spans keep and what is summed when it is read. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from apps.insights.histogram import LogHistogram

EXAMPLES = 3
"""Latest runs that stand for all with the same fault or plan."""


class QuerySlot(NamedTuple):
    """What sums of queries are of."""

    group: str
    key: str
    by_callers: bool


class FaultSlot(NamedTuple):
    """What counts of faults are of."""

    stage: str
    fault: str
    worker: str
    by_callers: bool


class ShapeSlot(NamedTuple):
    """What sums of plans are of."""

    shape: str
    by_callers: bool


@dataclass(slots=True)
class QuerySums:
    """What some queries used; the fields are those of `models.QueryRow`."""

    runs: int = 0
    failed: int = 0
    cost_micros: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    unknown_costs: int = 0
    based_runs: int = 0
    based_asked: int = 0
    based_answered: int = 0
    based_tokens: int = 0
    based_cost_micros: int = 0
    latencies: LogHistogram = field(default_factory=LogHistogram)
    first_tokens: LogHistogram = field(default_factory=LogHistogram)
    costs: LogHistogram = field(default_factory=LogHistogram)

    @property
    def tokens(self) -> int:
        """Return input plus output tokens."""
        return self.prompt_tokens + self.completion_tokens

    def forget_values(self) -> None:
        """Leave the sums alone: percentiles of a part would mislead."""
        self.latencies, self.first_tokens = LogHistogram(), LogHistogram()
        self.costs = LogHistogram()

    def merge(self, other: QuerySums) -> None:
        """Add the sums of other queries."""
        self.runs += other.runs
        self.failed += other.failed
        self.cost_micros += other.cost_micros
        self.prompt_tokens += other.prompt_tokens
        self.completion_tokens += other.completion_tokens
        self.unknown_costs += other.unknown_costs
        self.based_runs += other.based_runs
        self.based_asked += other.based_asked
        self.based_answered += other.based_answered
        self.based_tokens += other.based_tokens
        self.based_cost_micros += other.based_cost_micros
        self.latencies.merge(other.latencies)
        self.first_tokens.merge(other.first_tokens)
        self.costs.merge(other.costs)


@dataclass(slots=True)
class FaultSums:
    """How often a fault happened; the fields are those of `models.FaultRow`."""

    runs: int = 0
    failed: int = 0
    count: int = 0
    cost_micros: int = 0
    rescues: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)

    def merge(self, other: FaultSums) -> None:
        """Add what happened in other runs."""
        self.runs += other.runs
        self.failed += other.failed
        self.count += other.count
        self.cost_micros += other.cost_micros
        self.rescues.update(other.rescues)
        self.examples = latest(self.examples, other.examples)


@dataclass(slots=True)
class ShapeSums:
    """How plans of one shape did; the fields are those of `models.ShapeRow`."""

    access: list[list[int]] = field(default_factory=list)
    runs: int = 0
    failed: int = 0
    completed: int = 0
    cost_micros: int = 0
    tokens: int = 0
    unknown_costs: int = 0
    latencies: LogHistogram = field(default_factory=LogHistogram)
    examples: list[str] = field(default_factory=list)

    def merge(self, other: ShapeSums) -> None:
        """Add what other plans did."""
        self.access = self.access or other.access
        self.runs += other.runs
        self.failed += other.failed
        self.completed += other.completed
        self.cost_micros += other.cost_micros
        self.tokens += other.tokens
        self.unknown_costs += other.unknown_costs
        self.latencies.merge(other.latencies)
        self.examples = latest(self.examples, other.examples)


@dataclass(slots=True)
class Collected:
    """All sums of some runs."""

    queries: dict[QuerySlot, QuerySums] = field(default_factory=dict)
    faults: dict[FaultSlot, FaultSums] = field(default_factory=dict)
    shapes: dict[ShapeSlot, ShapeSums] = field(default_factory=dict)

    def query(self, slot: QuerySlot) -> QuerySums:
        """Return the sums of a slot, to add to."""
        sums = self.queries.get(slot)
        if sums is None:
            sums = self.queries[slot] = QuerySums()
        return sums

    def fault(self, slot: FaultSlot) -> FaultSums:
        """Return the counts of a slot, to add to."""
        return self.faults.setdefault(slot, FaultSums())

    def shape(self, slot: ShapeSlot) -> ShapeSums:
        """Return the sums of a slot, to add to."""
        return self.shapes.setdefault(slot, ShapeSums())

    def merge(self, other: Collected) -> None:
        """Add the sums of other runs."""
        for query, queries in other.queries.items():
            self.query(query).merge(queries)
        for fault, faults in other.faults.items():
            self.fault(fault).merge(faults)
        for shape, shapes in other.shapes.items():
            self.shape(shape).merge(shapes)


def latest(*ids: Iterable[str]) -> list[str]:
    """Return the latest of some ids of runs, which ascend with time."""
    return sorted({id for some in ids for id in some}, reverse=True)[:EXAMPLES]
