"""Writes `ledger-entries.schema.json`: the facts and texts of every action.

One copy is for readers of `docs`, one goes into every export with proofs.

Actions of runs come from the engine's events; those of people and of the site are
declared beside this file. While tests run, every entry that the product appends is
checked against the schema, so a fact that is not declared fails a test.

`python -m deploy.ledger_entry_schema`; a test fails while the file is outdated.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deploy.event_schema import ROOT, event_schema
from deploy.ledger_entry_evaluation_actions import EVALUATION_ACTIONS
from deploy.ledger_entry_governance_actions import GOVERNANCE_ACTIONS
from deploy.ledger_entry_shapes import Action
from deploy.ledger_entry_team_actions import TEAM_ACTIONS
from deploy.ledger_entry_training_actions import TRAINING_ACTIONS

NAME = "ledger-entries.schema.json"
FILES: tuple[Path, ...] = (
    ROOT / "docs" / NAME,
    ROOT / "apps" / "audit" / "bundles" / "files" / NAME,
)
ACTIONS: Mapping[str, Action] = {
    **TEAM_ACTIONS,
    **GOVERNANCE_ACTIONS,
    **EVALUATION_ACTIONS,
    **TRAINING_ACTIONS,
}


def entry_schema() -> dict[str, Any]:
    """Return a JSON Schema (draft 2020-12) with one definition for each action."""
    events = event_schema()["$defs"]
    definitions = {
        **events,
        **{action: each.schema(action) for action, each in ACTIONS.items()},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Entries of Conductor's ledger",
        "description": "`data` has the facts of an entry. Of entries of runs, `bodies` "
        "shows the texts themselves; entries hold their length and digest. An entry "
        "from before a fact was added lacks it.",
        "$defs": definitions,
        "oneOf": [{"$ref": f"#/$defs/{action}"} for action in definitions],
    }


def schema_text() -> str:
    """Return the schema as the file has it."""
    return json.dumps(entry_schema(), indent=1) + "\n"


if __name__ == "__main__":
    for file in FILES:
        file.write_text(schema_text(), encoding="utf-8")
