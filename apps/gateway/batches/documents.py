"""Files and batches as clients see them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from apps.batches.models import BatchState, RequestBatch, StoredFile
from apps.batches.types import LineCounts
from apps.gateway.batches.ids import BATCH, FILE, public_id

WINDOW = "24h"
"""The only completion window."""


def file_document(file: StoredFile) -> dict[str, Any]:
    """Return a file, without its content."""
    return {
        "id": public_id(FILE, file.id),
        "object": "file",
        "bytes": file.size,
        "created_at": _seconds(file.created_at),
        "expires_at": _seconds(file.expires_at),
        "filename": file.filename,
        "purpose": file.purpose,
        "status": "processed",
        "status_details": None,
    }


def batch_document(batch: RequestBatch, counts: LineCounts) -> dict[str, Any]:
    """Return a batch and how far it is."""

    def ended(*states: BatchState) -> int | None:
        return _seconds(batch.ended_at) if batch.state in states else None

    errors = {"object": "list", "data": batch.errors} if batch.errors else None
    return {
        "id": public_id(BATCH, batch.id),
        "object": "batch",
        "endpoint": batch.endpoint,
        "errors": errors,
        "input_file_id": public_id(FILE, batch.input_file_id),
        "completion_window": WINDOW,
        "status": batch.state,
        "output_file_id": _file_id(batch.output_file),
        "error_file_id": _file_id(batch.error_file),
        "created_at": _seconds(batch.created_at),
        "expires_at": _seconds(batch.expires_at),
        "in_progress_at": _seconds(batch.in_progress_at),
        "finalizing_at": _seconds(batch.finalizing_at),
        "cancelling_at": _seconds(batch.cancelling_at),
        "completed_at": ended(BatchState.COMPLETED),
        "failed_at": ended(BatchState.FAILED),
        "expired_at": ended(BatchState.EXPIRED),
        "cancelled_at": ended(BatchState.CANCELLED),
        "request_counts": {
            "total": counts.total,
            "completed": counts.completed,
            "failed": counts.failed,
        },
        "metadata": batch.metadata or None,
    }


def page_document(items: list[dict[str, Any]], *, has_more: bool) -> dict[str, Any]:
    """Return one page of a list."""
    return {
        "object": "list",
        "data": items,
        "first_id": items[0]["id"] if items else None,
        "last_id": items[-1]["id"] if items else None,
        "has_more": has_more,
    }


def _file_id(file: StoredFile | None) -> str | None:
    return None if file is None else public_id(FILE, file.id)


def _seconds(moment: datetime | None) -> int | None:
    return None if moment is None else int(moment.timestamp())
