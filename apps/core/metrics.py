"""Metrics of a process, for Prometheus.

Counting must cost nothing that a run would notice, so these are plain dictionaries
without a lock: each of them is counted on one thread only (the event loop's, unless it
says otherwise) and may be read from any. Labels are words of a fixed list: no names of
teams, workers or addresses, and nothing that anybody wrote.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

REGISTRY = CollectorRegistry(auto_describe=False)
PREFIX = "conductor"
ProcessCollector(namespace=PREFIX, registry=REGISTRY)

SHORT_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
"""Upper bounds for what should take milliseconds."""
LONG_S = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 900.0)
"""Upper bounds for what waits for models."""

Labels = tuple[str, ...]
Reading = Mapping[Labels, float]
"""Values by labels; the empty tuple where there are none."""


class Counts(Collector):
    """Counters that only grow, one for each combination of labels."""

    def __init__(self, name: str, text: str, labels: Labels = ()) -> None:
        self.name = f"{PREFIX}_{name}"
        self.text = text
        self.labels = labels
        self.values: dict[Labels, int] = {} if labels else {(): 0}
        REGISTRY.register(self)

    def add(self, *labels: str, by: int = 1) -> None:
        """Count `by` more."""
        self.values[labels] = self.values.get(labels, 0) + by

    def value(self, *labels: str) -> int:
        """Return what has been counted."""
        return self.values.get(labels, 0)

    def collect(self) -> Iterable[Metric]:
        """Return it in Prometheus's terms, with `_total` after the name."""
        family = CounterMetricFamily(self.name, self.text, labels=self.labels)
        for labels, value in list(self.values.items()):
            family.add_metric(labels, value)
        return [family]


class _Series:
    """The observations of one combination of labels."""

    __slots__ = ("counts", "total")

    def __init__(self, places: int) -> None:
        self.counts = [0] * places
        """By bucket, those of smaller buckets left out."""
        self.total = 0.0


class Histogram(Collector):
    """How often a value fell below each of some bounds."""

    def __init__(
        self, name: str, text: str, bounds: Sequence[float], labels: Labels = ()
    ) -> None:
        self.name = f"{PREFIX}_{name}"
        self.text = text
        self._bounds = tuple(bounds)
        self.labels = labels
        self._series: dict[Labels, _Series] = {}
        REGISTRY.register(self)

    def observe(self, value: float, *labels: str) -> None:
        """Count one value."""
        series = self._series.get(labels)
        if series is None:
            series = self._series[labels] = _Series(len(self._bounds) + 1)
        series.counts[bisect_left(self._bounds, value)] += 1
        series.total += value

    def count(self, *labels: str) -> int:
        """Return how many values have been counted."""
        series = self._series.get(labels)
        return 0 if series is None else sum(series.counts)

    def collect(self) -> Iterable[Metric]:
        """Return it in Prometheus's terms."""
        family = HistogramMetricFamily(self.name, self.text, labels=self.labels)
        names = [*map(str, self._bounds), "+Inf"]
        for labels, series in list(self._series.items()):
            buckets, seen = [], 0
            for name, count in zip(names, list(series.counts), strict=True):
                seen += count
                buckets.append((name, seen))
            family.add_metric(labels, buckets, series.total)
        return [family]


class Gauge(Collector):
    """A value that is read when metrics are collected."""

    def __init__(
        self, name: str, text: str, read: Callable[[], Reading], labels: Labels = ()
    ) -> None:
        self.name = f"{PREFIX}_{name}"
        self.text = text
        self.labels = labels
        self._read = read
        REGISTRY.register(self)

    def collect(self) -> Iterable[Metric]:
        """Return it in Prometheus's terms."""
        family = GaugeMetricFamily(self.name, self.text, labels=self.labels)
        for labels, value in self._read().items():
            family.add_metric(labels, value)
        return [family]


def exposition() -> bytes:
    """Return every metric of this process in Prometheus's text format."""
    return generate_latest(REGISTRY)
