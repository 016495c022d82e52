"""Public ids of files and batches: a prefix and the id of the row."""

from __future__ import annotations

import re
import uuid

FILE, BATCH = "file-", "batch_"
HEX = re.compile(r"[0-9a-f]{32}")


def public_id(prefix: str, row_id: uuid.UUID) -> str:
    """Return the id that clients see."""
    return f"{prefix}{row_id.hex}"


def row_of(prefix: str, name: object) -> uuid.UUID | None:
    """Return the row an id leads to; None if it is no such id."""
    if not isinstance(name, str) or not name.startswith(prefix):
        return None
    digits = name.removeprefix(prefix)
    return uuid.UUID(hex=digits) if HEX.fullmatch(digits) else None
