"""Checks every entry that the product appends against its schema, while tests run."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import orjson
import pytest

from apps.audit import services
from apps.audit.append import prepare
from apps.audit.types import Batch, EntryDraft
from deploy.ledger_entry_schema import ACTIONS, entry_schema

ROOT = Path(__file__).resolve().parents[1]
OWN = (str(ROOT / "apps/audit/services.py"), str(ROOT / "apps/audit/append.py"))
PRODUCT = (str(ROOT / "apps"), str(ROOT / "conductor_site"))
NO_TEXT = {"bytes": 0, "digest": ""}
VALIDATORS = {
    action: jsonschema_rs.validator_for(definition)
    for action, definition in entry_schema()["$defs"].items()
    if action in ACTIONS
}
EVENTS = entry_schema()["$defs"].keys() - ACTIONS.keys()


def faults_of(draft: EntryDraft) -> list[str]:
    """Return what the schema says against an entry."""
    if draft.action in EVENTS:
        return []  # of the engine: `tests/docs/test_event_schema.py`
    if draft.action not in VALIDATORS:
        return [f"{draft.action}: deploy/ledger_entry_schema.py does not declare it"]
    document = {
        "action": draft.action,
        "outcome": draft.outcome,
        "targets": [{"type": draft.subject_type, "id": str(draft.subject_id)}],
        "data": orjson.loads(orjson.dumps(dict(draft.data), default=dict)),
        "bodies": {name: NO_TEXT for name, text in draft.bodies.items() if text},
    }
    found = VALIDATORS[draft.action].iter_errors(document)
    return [f"{draft.action}: {each.message} at {each.instance_path}" for each in found]


def is_product() -> bool:
    """Say whether the product appends, and not a test behind its back."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        path = frame.f_code.co_filename
        if path.startswith(str(ROOT)) and path not in OWN and path != __file__:
            is_own: bool = path.startswith(PRODUCT)
            return is_own
        frame = frame.f_back
    return False


@pytest.fixture(scope="session")
def appended_faults() -> Iterator[list[str]]:
    """Watch all entries of this process; what is wrong with them comes in here."""
    faults: list[str] = []

    def watched(batch: Batch, dialect: Any) -> Any:
        prepared = prepare(batch, dialect)
        if is_product():
            faults.extend(fault for d in batch.drafts for fault in faults_of(d))
        return prepared

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(services, "prepare", watched)
        yield faults


@pytest.fixture(autouse=True)
def entries_fit_their_schema(appended_faults: list[str]) -> Iterator[None]:
    """Fail a test in which an entry is appended that the schema does not describe."""
    yield
    found, appended_faults[:] = list(appended_faults), []
    assert not found, "\n".join(found)
