"""Changes to files and batches."""

from apps.batches.services.batches import (
    batch_begin,
    batch_cancel,
    batch_create,
    batch_finalize,
    batch_finish,
    batch_refuse,
    batches_claim,
    batches_release,
    line_refuse,
    line_start,
    line_wait,
    lines_drop,
    lines_end,
)
from apps.batches.services.files import (
    BATCHES_SERVICE,
    file_delete,
    file_store,
    files_expire,
    results_discard,
)

__all__ = [
    "BATCHES_SERVICE",
    "batch_begin",
    "batch_cancel",
    "batch_create",
    "batch_finalize",
    "batch_finish",
    "batch_refuse",
    "batches_claim",
    "batches_release",
    "file_delete",
    "file_store",
    "files_expire",
    "line_refuse",
    "line_start",
    "line_wait",
    "lines_drop",
    "lines_end",
    "results_discard",
]
