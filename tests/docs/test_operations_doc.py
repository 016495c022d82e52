"""docs/operations.md lists every metric with its labels."""

from __future__ import annotations

import re

import conductor_site.asgi  # noqa: F401  # all that a process counts is defined
from apps.core.metrics import REGISTRY, Counts, Gauge, Histogram
from tests.docs.reading import page

ROW = re.compile(r"^\| `(conductor_\w+)` \| ([^|]*) \| ([^|]+) \|$", re.M)


def measured() -> dict[str, tuple[str, str]]:
    """Return labels and meaning of each metric by the name Prometheus sees."""
    found = {}
    for collector in list(REGISTRY._collector_to_names):
        if isinstance(collector, Counts | Gauge | Histogram):
            end = "_total" if isinstance(collector, Counts) else ""
            labels = ", ".join(f"`{label}`" for label in collector.labels)
            found[collector.name + end] = (labels, collector.text)
    return found


def test_every_metric_is_listed_with_its_labels_and_meaning():
    listed = {
        name: (labels.strip(), text)
        for name, labels, text in ROW.findall(page("docs/operations.md"))
    }
    assert len(listed) > 25
    assert listed == measured()
