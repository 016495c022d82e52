"""Derives what runs of the past have no notes of, from the ledger."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

from django.db import transaction

from apps.core.errors import ConductorError
from apps.insights.models import KeptSpan
from apps.insights.stored import spans_drop
from apps.runs.models import Run, RunState
from apps.runs.selectors import end_facts_recorded, shape_of

PAGE = 100
"""Runs whose entries are read together."""
ROWS = 500
"""Runs whose rows are written together."""


def insights_rebuild(team_id: uuid.UUID) -> Iterator[tuple[int, int]]:
    """Note the faults, loops and first tokens of a team's runs that have none.

    Also the graphs of their plans, which follow from their rows. Yields after each page
    how many runs got their notes, and how many cannot be read.
    Then forgets the kept sums, which are made anew. What is noted already is left as it
    is, so this may be called again at any time. No entry is written: rows are derived.
    """
    runs = Run.objects.for_team(team_id).filter(findings__isnull=True)
    runs = runs.exclude(state=RunState.RUNNING).order_by("id")
    page = list(runs[:PAGE])
    while page:
        yield _note(page)
        page = list(runs.filter(id__gt=page[-1].id)[:PAGE])
    _note_shapes(team_id)
    spans = KeptSpan.objects.for_team(team_id)
    spans_drop(team_id, list(spans.values_list("id", flat=True)))


def _note_shapes(team_id: uuid.UUID) -> None:
    runs = Run.objects.for_team(team_id).filter(shape__isnull=True).order_by("id")
    page = list(runs.only("id", "team_id", "plan")[:ROWS])
    while page:
        for run in page:
            run.shape = shape_of([step.get("access", ()) for step in run.plan]).key
        # Whoever executes a run writes the newest shape itself.
        Run.objects.for_team(team_id).filter(shape__isnull=True).bulk_update(
            page, ["shape"]
        )
        page = list(
            runs.filter(id__gt=page[-1].id).only("id", "team_id", "plan")[:ROWS]
        )


def _note(page: list[Run]) -> tuple[int, int]:
    noted = failed = 0
    for run in page:
        try:
            facts = end_facts_recorded(run)
        except ConductorError:
            failed += 1  # the check of the ledger says what is wrong with its entries
            continue
        with transaction.atomic():
            rows = Run.objects.for_team(run.team_id).filter(
                id=run.id, findings__isnull=True
            )
            noted += rows.update(**facts)
    return noted, failed
