"""The digest of learning data and what it holds, counted as it is read. Pure."""

from __future__ import annotations

import hashlib
from collections import Counter
from datetime import datetime
from typing import Any

import orjson

from apps.training.learning_data.records import LearningRecord

SORTED = orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE


class LearningTally:
    """Counts of the records that it has been given, in any number."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self.runs = 0
        self.weight = 0.0
        """Of all runs together."""
        self.steps = 0
        self.graded_steps = 0
        self.by_source: Counter[str] = Counter()
        """Runs by their source, a value of `GradeSource`."""
        self.by_family: Counter[str] = Counter()
        """Runs by family; empty: those of no evaluation."""
        self.by_worker: Counter[str] = Counter()
        """Steps by worker."""
        self.explored = 0
        """Requests that tried a plan near the best one."""
        self.first_at: datetime | None = None
        self.last_at: datetime | None = None

    @property
    def digest(self) -> str:
        """Return the SHA-256 of the records so far, in hexadecimal.

        Of each one's JSON, its keys sorted, and a line feed.
        """
        return self._digest.hexdigest()

    def add(self, record: LearningRecord) -> None:
        """Count a record."""
        graded, steps = record.graded, record.run.steps
        self._digest.update(orjson.dumps(_values(record), option=SORTED))
        self.runs += 1
        self.weight += graded.weight
        self.steps += len(steps)
        self.graded_steps += sum(step.grade is not None for step in steps)
        self.by_source[graded.source] += 1
        self.by_family[graded.family] += 1
        self.explored += graded.is_explored
        self.by_worker.update(step.worker for step in steps)
        at = record.created_at
        self.first_at = min(self.first_at or at, at)
        self.last_at = max(self.last_at or at, at)


def _values(record: LearningRecord) -> dict[str, Any]:
    graded, run = record.graded, record.run
    return {
        "run_id": graded.run_id,
        "source": graded.source,
        "family": graded.family,
        "prompt": run.prompt,
        "weight": run.weight,
        "steps": [
            [step.worker, step.role, step.access, step.grade, step.fingerprint]
            for step in run.steps
        ],
    }
