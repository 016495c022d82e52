"""deploy/grafana/conductor.json asks for metrics and labels that there are."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import conductor_site.asgi  # noqa: F401  # all that a process counts is defined
from apps.core.metrics import REGISTRY, Counts, Gauge, Histogram, exposition

ROOT = Path(__file__).resolve().parent.parent.parent
DASHBOARD = json.loads((ROOT / "deploy/grafana/conductor.json").read_text("utf-8"))
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
EXPRESSIONS = [
    pytest.param(target["expr"], target["legendFormat"], id=panel["title"])
    for panel in PANELS
    for target in panel["targets"]
]
FROM_PROMETHEUS = {"job", "instance", "le"}
PROCESS = {
    "conductor_process_resident_memory_bytes",
    "conductor_process_cpu_seconds_total",
    "conductor_process_open_fds",
}
"""What prometheus-client measures by itself."""


def known() -> dict[str, set[str]]:
    """Return the labels of every series by its name."""
    found: dict[str, set[str]] = {name: set() for name in PROCESS}
    for collector in list(REGISTRY._collector_to_names):
        match collector:
            case Counts():
                found[f"{collector.name}_total"] = set(collector.labels)
            case Histogram():
                for end in ("bucket", "sum", "count"):
                    found[f"{collector.name}_{end}"] = set(collector.labels)
            case Gauge():
                found[collector.name] = set(collector.labels)
    return found


@pytest.mark.parametrize(("expression", "legend"), EXPRESSIONS)
def test_every_metric_and_label_exists(expression: str, legend: str):
    series = known()
    names = set(re.findall(r"\bconductor_\w+", expression))
    assert names
    assert names <= series.keys()
    labels = set().union(*(series[name] for name in names)) | FROM_PROMETHEUS
    grouped = re.findall(r"by \(([^)]*)\)", expression)
    used = {label for group in grouped for label in re.split(r",\s*", group)}
    used |= set(re.findall(r"(\w+)\s*[!=]~?\s*\"", expression))
    used |= set(re.findall(r"\{\{(\w+)\}\}", legend))
    assert used <= labels


def test_every_metric_of_ours_is_on_the_dashboard():
    shown = " ".join(str(value.values[0]) for value in EXPRESSIONS)
    families = {re.sub(r"_(bucket|sum|count)$", "", name) for name in known()}
    unseen = {name for name in families if name not in shown}
    assert unseen == {"conductor_info"}  # what its list of jobs is read from


def test_panels_lie_side_by_side():
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        place: dict[str, Any] = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        assert place["x"] + place["w"] <= 24
        taken |= cells


def test_ids_are_unique():
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(ids) == len(set(ids))


@pytest.mark.django_db(transaction=True)
def test_the_processs_own_are_measured():
    text = exposition().decode()
    assert [name for name in PROCESS if f"\n{name} " not in text] == []
