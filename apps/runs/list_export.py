"""A list of runs as a file: CSV or JSON Lines, made while it is sent.

The columns are the fields of a run in the REST API, one value each. No prompt or answer
is in it but the title, as on the list.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from uuid import UUID

import orjson
from django.conf import settings
from django.db import models, transaction
from django.db.models import QuerySet

from apps.audit.services import entries_append
from apps.audit.types import Actor, Batch, EntryDraft
from apps.core.money import usd_text
from apps.core.plain_text import csv_row
from apps.runs.label_types import RunLabels
from apps.runs.labels import with_labels
from apps.runs.models import Run

MOST_EXPORTED = 100_000
"""Runs of one file, the newest ones."""
RUNS_AT_ONCE = 1_000
RUNS_EXPORTED = "team.runs_exported"
Value = str | int | bool | list[str] | dict[str, str] | None


class RunListFormat(models.TextChoices):
    """The form of a file of runs."""

    CSV = "csv", "CSV"
    JSONL = "jsonl", "JSON Lines"

    @property
    def media_type(self) -> str:
        """Return the type that the answer has."""
        return "text/csv" if self == self.CSV else "application/jsonl"


COLUMNS = (
    "id",
    "state",
    "source",
    "model",
    "tier",
    "family",
    "preset_id",
    "pool_name",
    "pool_version",
    "title",
    "tags",
    "metadata",
    "actor_type",
    "actor_id",
    "actor_name",
    "created_at",
    "finished_at",
    "planner",
    "steps_total",
    "steps_done",
    "prompt_tokens",
    "completion_tokens",
    "cost_usd",
    "has_unknown_cost",
    "latency_ms",
    "overhead_ms",
    "error_code",
    "error_message",
    "url",
)


def run_list_export(
    *,
    team_id: UUID,
    runs: QuerySet[Run],
    form: RunListFormat,
    filters: Sequence[str],
    actor: Actor,
) -> Iterator[bytes]:
    """Return the pieces of a file of these runs; that it was asked for is recorded.

    `runs`: newest first; at most MOST_EXPORTED of them are taken. `filters`: names of
    the filters that are set, for the entry.
    """
    facts = {"format": str(form), "filters": sorted(filters)}
    draft = EntryDraft(RUNS_EXPORTED, "team", team_id, actor, facts)
    with transaction.atomic():
        entries_append(batch=Batch(team_id, (draft,)))
    return _pieces(runs, form)


def run_values(run: Run) -> dict[str, Value]:
    """Return what a file says of a run."""
    labels = run.labels or RunLabels()
    told: dict[str, Value] = {name: getattr(run, name, None) for name in COLUMNS}
    return told | {
        "id": str(run.id),
        "preset_id": str(run.preset_id) if run.preset_id else None,
        "tags": list(labels.tags),
        "metadata": dict(labels.metadata),
        "created_at": _moment(run.created_at),
        "finished_at": _moment(run.finished_at),
        "cost_usd": usd_text(run.cost_micros),
        "url": f"{settings.CONDUCTOR_URL}/runs/{run.id}/",
    }


def _pieces(runs: QuerySet[Run], form: RunListFormat) -> Iterator[bytes]:
    left, last = MOST_EXPORTED, None
    if form == RunListFormat.CSV:
        yield csv_row(COLUMNS).encode()
    while left > 0:
        # On from the last one: runs that are added meanwhile move nothing.
        older = runs if last is None else runs.filter(id__lt=last)
        some = list(older[: min(left, RUNS_AT_ONCE)])
        if not some:
            return
        with_labels(some[0].team_id, some)
        yield b"".join(_line(run, form) for run in some)
        left, last = left - len(some), some[-1].id


def _line(run: Run, form: RunListFormat) -> bytes:
    values = run_values(run)
    if form == RunListFormat.CSV:
        return csv_row([_cell(value) for value in values.values()]).encode()
    return orjson.dumps(values, option=orjson.OPT_APPEND_NEWLINE)


def _cell(value: Value) -> str | int | bool | None:
    """Return a value as CSV has it: tags with commas between, metadata as JSON."""
    if isinstance(value, list):
        return ", ".join(value)
    return orjson.dumps(value).decode() if isinstance(value, dict) else value


def _moment(value: datetime | None) -> str | None:
    if value is None:
        return None
    return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
