"""Reads what the latest runs of a model read and wrote: a basis for estimates."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from apps.engine.ports import CONDUCTOR
from apps.runs.models import NOT_BY_CALLERS, STATES_CALLED, Run, RunState, Step
from apps.runs.planning.likely_costs import PastCall, PastRun

KEPT_RUNS = 20
"""Few enough to follow a change of habits."""
SEARCHED_RUNS = 200
"""The team's latest runs that are looked through for them."""


def past_runs(team_id: uuid.UUID, model: str) -> tuple[PastRun, ...]:
    """Return the team's latest completed runs of a model, the newest one first.

    Runs of evaluations and shadow tests are left out: their plans are other ones.
    """
    latest = (
        Run.objects.for_team(team_id)
        .order_by("-id")
        .values(
            "id",
            "model",
            "state",
            "source",
            "asked_tokens",
            "orchestration_prompt_tokens",
            "orchestration_completion_tokens",
        )[:SEARCHED_RUNS]
    )
    found = [
        row
        for row in latest
        if row["model"] == model
        and row["state"] == RunState.COMPLETED
        and row["source"] not in NOT_BY_CALLERS
    ][:KEPT_RUNS]
    steps = _step_calls(team_id, [row["id"] for row in found])
    return tuple(
        PastRun(row["asked_tokens"] or 0, (*_planning(row), *steps[row["id"]]))
        for row in found
    )


def _planning(row: Mapping[str, Any]) -> tuple[PastCall, ...]:
    """Return the calls for the plans as one; none if no model planned."""
    read = row["orchestration_prompt_tokens"]
    written = row["orchestration_completion_tokens"]
    return (PastCall(CONDUCTOR, read, written),) if read or written else ()


def _step_calls(
    team_id: uuid.UUID, run_ids: list[uuid.UUID]
) -> dict[uuid.UUID, list[PastCall]]:
    calls: dict[uuid.UUID, list[PastCall]] = defaultdict(list)
    if not run_ids:
        return calls
    rows = Step.objects.for_team(team_id).filter(
        run_id__in=run_ids, state__in=STATES_CALLED
    )
    fields = ("run_id", "worker", "prompt_tokens", "completion_tokens")
    for run_id, *call in rows.order_by("run_id", "round", "index").values_list(*fields):
        calls[run_id].append(PastCall(*call))
    return calls
