"""A run that changes hands is one trace with a root for each process."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from apps.runs.models import Run
from tests.observing.collector import Collector, collecting, facts
from tests.runs.conftest import models  # noqa: F401
from tests.runs.test_resume import House, house, left, speed_up  # noqa: F401


@pytest.fixture
def collector(settings: Any) -> Iterator[Collector]:
    with collecting() as collector:
        settings.OTEL_EXPORTER_OTLP_ENDPOINT = collector.url
        yield collector


def test_both_processes_spans_are_in_the_runs_trace(
    collector: Collector,
    house: House,  # noqa: F811
    left: Callable[..., Run],  # noqa: F811
):
    run = left()
    (first,) = roots(collector)
    assert facts(first)["conductor.outcome"] == "interrupted"
    speed_up()
    stage = house.open()
    house.watch(stage, run, "run.completed")
    house.close()
    _, second = roots(collector)
    assert facts(second)["conductor.outcome"] == "completed"
    resumed = [facts(root)["conductor.is_resumed"] for root in (first, second)]
    assert resumed == [False, True]
    ids = {uuid.UUID(bytes=span.trace_id) for span in collector.spans}
    assert ids == {run.id}


def roots(collector: Collector) -> list[Any]:
    found = [span for span in collector.spans if not span.parent_span_id]
    return sorted(found, key=lambda span: span.start_time_unix_nano)
