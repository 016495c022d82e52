"""Errors of files and batches."""

from __future__ import annotations

from apps.core.errors import InvalidInput, NotAllowed


class FileInUse(InvalidInput):
    """A batch that has not ended needs the file."""

    code = "file_in_use"


class FileOnHold(NotAllowed):
    """A legal hold keeps the file."""

    code = "legal_hold"
