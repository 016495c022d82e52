"""docs/events.md names every event, every field and every fault, and nothing else."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import get_type_hints

import pytest

from apps.engine.errors import TRANSIENT_FAULTS, CallFault, PlanFault
from apps.engine.events import ALL_EVENTS, BODY
from apps.engine.usage import Usage
from tests.docs.reading import page

DOC = page("docs/events.md")
SECTIONS = dict(re.findall(r"^### `([a-z._]+)`\n(.*?)(?=^##)", DOC, re.M | re.S))


def documented(action: str) -> dict[str, str]:
    """Return the fields of an event and how they are kept, as the page says."""
    return dict(re.findall(r"^\| `(\w+)` \| (\w+) \|", SECTIONS[action], re.M))


def words(heading: str) -> list[str]:
    """Return the words of the table under a heading."""
    section = DOC.split(f"## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"^\| `(\w+)` \|", section, re.M)


def test_every_event_has_a_section_in_the_order_of_the_code():
    assert list(SECTIONS) == [event.action for event in ALL_EVENTS]


@pytest.mark.parametrize("event", ALL_EVENTS, ids=lambda event: event.action)
def test_every_field_is_listed_with_how_it_is_kept(event):
    hints = get_type_hints(event, include_extras=True)
    kept = {
        field.name: "text"
        if BODY in getattr(hints[field.name], "__metadata__", ())
        else "fact"
        for field in fields(event)
    }
    assert documented(event.action) == kept


def test_every_fault_is_listed():
    assert words("Call faults") == list(CallFault)
    assert words("Plan faults") == list(PlanFault)


def test_faults_after_which_the_same_worker_is_asked_are_named():
    sentence = DOC.rsplit("After `", 1)[1].split("the same worker")[0]
    assert set(re.findall(r"(\w+)`", sentence)) == TRANSIENT_FAULTS


def test_every_number_of_usage_is_named():
    tokens = DOC.split("## Tokens\n")[1].split("\n## ")[0]
    assert [f.name for f in fields(Usage) if f"`{f.name}`" not in tokens] == []
