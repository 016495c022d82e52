"""Every fault at every place has a named outcome, and the docs tell it."""

from pathlib import Path

import pytest

from apps.engine import events as ev
from apps.engine.errors import TRANSIENT_FAULTS
from apps.engine.usage import Usage
from tests.engine.fault_table import FAULTS, PLACES, RIGHT, outcome, page

CODES = {"stream_interrupted"}


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.title)
@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_ends_well_or_by_name(place, fault):
    found = outcome(place, fault)
    if isinstance(found.end, ev.RunCompleted):
        assert found.end.answer == RIGHT
        assert found.sent in ("", RIGHT)
    else:
        assert found.end.code in CODES
        assert place.next_says != RIGHT
    assert len(found.calls) <= 4  # three attempts, and one call of the fallback plan


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.title)
@pytest.mark.parametrize("fault", FAULTS)
def test_what_cannot_pass_is_not_tried_again(place, fault):
    calls = outcome(place, fault).calls
    again = calls.count(place.worker)
    assert again == 1 or fault in TRANSIENT_FAULTS


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.title)
@pytest.mark.parametrize("fault", FAULTS)
def test_every_call_is_settled_once(place, fault):
    found = outcome(place, fault)
    started = (ev.StepStarted, ev.PlanRequested)
    ended = (
        ev.StepCompleted,
        ev.StepAttemptFailed,
        ev.PlanReplied,
        ev.PlanCallFailed,
    )
    parts = [e for e in found.events if isinstance(e, ended)]
    assert len(parts) == sum(isinstance(e, started) for e in found.events)
    assert found.end.usage == sum((p.usage for p in parts), start=Usage())
    assert found.end.cost_micros == sum(p.cost_micros or 0 for p in parts)


def test_the_page_says_what_is_so():
    told = (Path(__file__).parents[2] / "docs/faults.md").read_text()
    assert told == page(), "python -m tests.engine.fault_table > docs/faults.md"
