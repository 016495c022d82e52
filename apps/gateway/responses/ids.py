"""Public ids of responses and their items: a prefix and the id of the run.

A response is a run, so its id leads to the run without a table.
"""

from __future__ import annotations

import re
import uuid

RESPONSE, MESSAGE, REASONING, CALL = "resp", "msg", "rs", "fc"
COMPACTION = "cmp"
ITEM_ID = re.compile(r"(msg|rs|fc|cmp)_([0-9a-f]{32})([0-9]{2})?")
RESPONSE_ID = re.compile(r"resp_([0-9a-f]{32})")


def response_id(run_id: uuid.UUID) -> str:
    """Return the id under which a run is a response."""
    return f"{RESPONSE}_{run_id.hex}"


def run_of_response(text: str) -> uuid.UUID | None:
    """Return the run a response id leads to; None if it is no such id."""
    found = RESPONSE_ID.fullmatch(text)
    return uuid.UUID(hex=found[1]) if found else None


def item_id(kind: str, run_id: uuid.UUID, index: int = 0) -> str:
    """Return the id of the `index`-th item of a kind in a response."""
    return f"{kind}_{run_id.hex}{index:02d}"


def source_of_item(text: str) -> tuple[str, uuid.UUID, int] | None:
    """Return kind, run and index of an item id of ours; None if it is none."""
    found = ITEM_ID.fullmatch(text)
    if found is None:
        return None
    return found[1], uuid.UUID(hex=found[2]), int(found[3] or 0)
