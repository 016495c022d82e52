"""Adds versions of conductors: what the weights are, and what they were trained on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db import transaction

from apps.accounts.models import Team
from apps.audit.types import Actor
from apps.pools.models import Conductor
from apps.training.conductor.folders import Weights, weights_folder_name
from apps.training.conductor.models import ConductorTraining, ConductorVersion
from apps.training.conductor.services import training_record

SUMMED = ("loss", "reward", "accuracy", "validity", "steps", "kept", "entropy")


def conductor_version_add(
    *,
    training: ConductorTraining,
    weights: Weights,
    workers: list[str],
    cost_micros: int,
    rounds: int,
    actor: Actor,
) -> ConductorVersion:
    """Keep the weights of a training as the team's newest version, recorded.

    `rounds`: plans of a run that it was trained to make. No pool plans with it. Call it
    in the transaction that ends the trainer's part.
    """
    # Two trainings of a team that end at once must not get one number.
    Team.objects.select_for_update(no_key=True).get(pk=training.team_id)
    rows = ConductorVersion.objects.for_team(training.team_id)
    newest = rows.order_by("-number").first()
    published = _published_numbers(training.team_id)
    version = ConductorVersion.objects.create(
        team_id=training.team_id,
        number=1 + max([newest.number if newest else 0, *published]),
        pool=training.pool,
        training=training,
        folder=weights_folder_name(training.id),
        is_adapter=weights.is_adapter,
        digest=weights.digest,
        size_bytes=weights.size_bytes,
        trained_on=_trained_on(training, workers, cost_micros, rounds),
        created_by=actor.display[:200],
    )
    facts = {
        "pool": training.pool.name,
        "conductor_version": version.number,
        "digest": version.digest,
        "data_digest": training.data_digest,
        "base_model": training.settings["base_model"],
        "summary": _in_words(version.trained_on["summary"]),
    }
    training_record(training, "trained", actor, facts)
    return version


def _published_numbers(team_id: UUID) -> list[int]:
    """Return the numbers of versions whose conductors are there, deleted ones too."""
    names = Conductor.objects.for_team(team_id).filter(name__regex=r"^trained-[0-9]+$")
    return [int(n.rpartition("-")[2]) for n in names.values_list("name", flat=True)]


@transaction.atomic
def conductor_version_measured(
    *, version: ConductorVersion, gate: Mapping[str, Any]
) -> None:
    """Keep how a version did on held-out tasks."""
    version.gate = dict(gate)
    version.save(update_fields=["gate"])


def _trained_on(
    training: ConductorTraining, workers: list[str], cost_micros: int, rounds: int
) -> dict[str, Any]:
    suite = training.suite_version
    return {
        "base_model": training.settings["base_model"],
        "method": training.settings["method"],
        "pool": training.pool.name,
        "workers": workers,
        "planner_version": training.planner_number,
        "suite": suite.suite.name,
        "suite_version": suite.number,
        "suite_digest": suite.digest,
        "data_digest": training.data_digest,
        "settings": training.settings,
        "summary": _summary(training.curve),
        "cost_micros": cost_micros,
        "rounds": rounds,
    }


def _summary(curve: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the first and the last point of each stage."""
    found: dict[str, Any] = {}
    for point in curve:
        figures = {name: point[name] for name in SUMMED if point.get(name) is not None}
        stage = found.setdefault(point["stage"], {"first": figures})
        stage.update({"last": figures, "steps": point["step"]})
    return found


def _in_words(summary: dict[str, Any]) -> dict[str, Any]:
    """Return a summary for the ledger, which holds no floating-point numbers."""
    return {
        stage: {
            name: {key: str(value) for key, value in figures.items()}
            if isinstance(figures, dict)
            else figures
            for name, figures in found.items()
        }
        for stage, found in summary.items()
    }
