"""The schema of run events is that of the code, and entries of real runs fit it."""

from __future__ import annotations

import jsonschema_rs
import pytest

from apps.engine.codec import encode
from apps.engine.events import ALL_EVENTS
from deploy.event_schema import FILES, event_schema, schema_text
from tests.engine.test_parts import EXAMPLES


def test_the_file_is_that_of_the_code() -> None:
    hint = "python -m deploy.event_schema"
    for file in FILES:
        assert file.read_text("utf-8") == schema_text(), hint


@pytest.mark.parametrize("event", EXAMPLES, ids=lambda e: e.action)
def test_every_event_fits_its_definition_and_no_other(event) -> None:
    record = encode(event)
    document = {"action": record.action, "data": record.data, "bodies": record.bodies}
    check = jsonschema_rs.validator_for(event_schema())
    assert check.is_valid(document)
    assert not check.is_valid({**document, "action": "run.imagined"})
    assert not check.is_valid({**document, "data": {**record.data, "more": 1}})


def test_every_event_has_a_definition() -> None:
    assert set(event_schema()["$defs"]) == {kind.action for kind in ALL_EVENTS}
