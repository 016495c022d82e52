"""Values that cross the border of batches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class LinePlace:
    """Where a request stands in the file of its batch."""

    custom_id: str
    offset: int
    """Bytes, like `length`."""
    length: int


@dataclass(frozen=True, slots=True)
class LineCounts:
    """How many requests of a batch are how far."""

    total: int = 0
    completed: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True)
class LineFault:
    """Why a line of a file cannot be used."""

    code: str
    message: str
    line: int | None = None
    """From 1. None: it is about the file as a whole."""
    param: str | None = None

    def document(self) -> dict[str, Any]:
        """Return it as clients see it."""
        return {
            "code": self.code,
            "message": self.message,
            "line": self.line,
            "param": self.param,
        }
