"""What became of several runs that were changed at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from apps.runs.models import Run

MAX_SELECTED_RUNS = 500
"""Runs that one request changes: some seconds of work at most."""


class UnchangedReason(StrEnum):
    """Why a run was left as it was."""

    OVER = "over"
    """It has ended, so it cannot be stopped."""
    STOPPING = "stopping"
    """It was asked to stop, and had not ended some seconds later."""
    HAS_TAGS = "has_tags"
    """It had the tags already."""
    LACKS_TAGS = "lacks_tags"
    """It had none of the tags."""
    TOO_MANY_TAGS = "too_many_tags"
    """With the new tags it would have more than a run may have."""
    IN_PROGRESS = "in_progress"
    """It has not ended, so it cannot be reviewed."""
    WAITS_FOR_REVIEW = "waits_for_review"
    """It is in the queue already."""
    REVIEWED = "reviewed"
    """It has been reviewed, which stays so."""


@dataclass(frozen=True, slots=True)
class RunsChanged:
    """The runs that a change applied to, and the others by their reason."""

    changed: Sequence[Run]
    unchanged: Mapping[UnchangedReason, Sequence[Run]]
