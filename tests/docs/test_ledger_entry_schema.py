"""The schema of the ledger describes every action, and the documents name them all."""

from __future__ import annotations

import re
import uuid
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from apps.audit.types import SERVICE, EntryDraft
from apps.engine.events import ALL_EVENTS
from deploy.ledger_entry_schema import ACTIONS, FILES, entry_schema, schema_text
from tests.ledger_schema import faults_of

ROOT = Path(__file__).resolve().parents[2]
LEDGER = (ROOT / "docs/ledger.md").read_text("utf-8")
OF_MODELS = {"credential", "worker", "conductor", "pool"}
CHANGES = {"created", "updated", "deleted"}


def test_the_file_is_that_of_the_declarations() -> None:
    hint = "python -m deploy.ledger_entry_schema"
    for file in FILES:
        assert file.read_text("utf-8") == schema_text(), hint


def test_every_action_has_one_definition() -> None:
    events = {kind.action for kind in ALL_EVENTS}
    assert events.isdisjoint(ACTIONS)
    assert set(entry_schema()["$defs"]) == events | set(ACTIONS)
    jsonschema_rs.validator_for(entry_schema())


def test_docs_name_the_actions_that_are_declared() -> None:
    """`docs/ledger.md` sums up what models have in common."""
    named = set(re.findall(r"`([a-z_]+\.[a-z_]+)`", LEDGER))
    common = {f"{model}.{change}" for model in OF_MODELS for change in CHANGES}
    assert set(ACTIONS) - common <= named
    assert common <= set(ACTIONS)


@pytest.mark.parametrize("action", sorted(ACTIONS))
def test_everything_is_described(action: str) -> None:
    one = ACTIONS[action]
    assert one.description.endswith(".")
    for name, shape in {**one.facts, **one.optional}.items():
        assert shape.get("description") or name == "target_id", name


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"action": "team.imagined"}, "does not declare it"),
        ({"data": {"slug": "a", "name": "A", "more": 1}}, "more"),
        ({"data": {"slug": "a"}}, "name"),
        ({"data": {"slug": 1, "name": "A"}}, "string"),
        ({"subject_type": "user"}, "team"),
        ({"outcome": "failure"}, "success"),
        ({"bodies": {"email": "x"}}, "email"),
    ],
)
def test_the_watch_finds_what_is_not_described(
    changed: dict[str, Any], words: str
) -> None:
    facts = {"slug": "a", "name": "A"}
    good = EntryDraft("team.created", "team", uuid.uuid4(), SERVICE, facts)
    assert faults_of(good) == []
    (fault, *_) = faults_of(good._replace(**changed))
    assert words in fault
