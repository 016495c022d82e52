"""Metrics of the ledger's writer."""

from __future__ import annotations

from apps.core.metrics import SHORT_S, Counts, Histogram

BATCH_BOUNDS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
LAG = Histogram(
    "ledger_lag_seconds",
    "From handing entries to the ledger's writer to knowing that they are durable.",
    SHORT_S,
)
GROUP = Histogram(
    "ledger_commit_batches",
    "Batches of entries that one commit wrote.",
    BATCH_BOUNDS,
)
"""Counted where the writer's answers come in: by its thread, or by the event loop."""
COPIES_FAILED = Counts(
    "checkpoint_copies_failed",
    "Times that checkpoints could not be written to CHECKPOINT_DIR.",
)
"""Counted by the checkpoint thread alone."""
CHECKPOINTS_REFUSED = Counts(
    "checkpoints_refused",
    "Times that the end of a chain, or its tree, was not signed, as it is not right.",
)
"""Counted by the checkpoint thread, at every look until the operator has acted."""
