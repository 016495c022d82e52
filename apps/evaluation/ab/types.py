"""What runs need of an A/B test. Pure, and without the kinds of systems."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from apps.core.data_classes import DataClassName
from apps.governance.sensitive_data.own_patterns import OwnPattern
from apps.runs.types import RunArm


@dataclass(frozen=True, slots=True)
class ActiveTest:
    """An A/B test that is under way, as runs need it."""

    id: UUID
    percent: int
    highest_data_class: DataClassName | None
    patterns: tuple[OwnPattern, ...]
    """What the policies add to the kinds of sensitive data; empty without a highest
    data class."""
    candidate: RunArm
    """The arm of the runs that the candidate answers."""
