"""Trainings and versions of conductors as the pages of learning show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.conf import settings
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from apps.audit.models import JobState
from apps.pools.models import Pool
from apps.training.conductor.models import (
    ConductorOutcome,
    ConductorStage,
    ConductorTraining,
    ConductorVersion,
)
from apps.training.selectors import (
    conductor_training_cost,
    conductor_training_list,
    conductor_version_list,
)

WIDTH, HEIGHT, MARGIN = 320, 120, 12
SHOWN = 5
"""Trainings of a pool on the page of learning."""
OWN_PLANS = (
    ("reward", _("Reward")),
    ("accuracy", _("Right answers")),
    ("validity", _("Replies that are plans")),
    ("steps", _("Steps of a plan")),
    ("entropy", _("Entropy of its replies")),
)
LINES = {
    ConductorStage.SFT: (("loss", _("Loss of examples")),),
    ConductorStage.GRPO: OWN_PLANS,
    ConductorStage.RECURSION: (*OWN_PLANS, ("kept", _("Replies that keep an answer"))),
}
"""What is drawn of each stage."""
STATES = {
    ConductorOutcome.USED: "completed",
    ConductorOutcome.BETTER: "completed",
    ConductorOutcome.NOT_BETTER: "waiting",
    ConductorOutcome.CANCELLED: "cancelled",
}


@dataclass(frozen=True, slots=True)
class CurveLine:
    """One figure along a stage."""

    label: str
    stage: str
    """Label of the stage."""
    points: str
    """Of a polyline."""
    first: float
    last: float
    lowest: float
    highest: float
    last_step: int


@dataclass(frozen=True, slots=True)
class FamilyShares:
    """How a conductor's plans spread the steps of a family over workers."""

    family: str
    shares: tuple[tuple[str, float], ...]
    """Worker and share, the largest first."""


@dataclass(frozen=True, slots=True)
class ConductorTrainingRow:
    """A training as lists and its page show it."""

    training: ConductorTraining
    is_open: bool
    waits_for_server: bool
    words: str
    """What it does, or how it ended."""
    state: str
    """For a badge."""
    cost_micros: int
    stages: tuple[tuple[str, str], ...]
    """Label, and waiting, running, completed, failed."""
    percent: int | None
    """Of the stage. None: unknown."""
    left_ms: int | None
    lines: tuple[CurveLine, ...]
    workers: tuple[FamilyShares, ...]
    version: ConductorVersion | None


@dataclass(frozen=True, slots=True)
class PoolConductors:
    """The conductors that were trained for a pool."""

    pool: Pool
    versions: tuple[ConductorVersion, ...]
    trainings: tuple[ConductorTrainingRow, ...]
    can_train: bool
    """The site has an environment to train conductors in."""


def can_train_conductors() -> bool:
    """Return whether the site has an environment to train conductors in."""
    return bool(settings.CONDUCTOR_TRAINING_PYTHON)


def pool_conductors(team_id: UUID, pool: Pool) -> PoolConductors:
    """Return what was trained for a pool."""
    trainings = conductor_training_list(team_id).filter(pool=pool)[:SHOWN]
    return PoolConductors(
        pool,
        tuple(conductor_version_list(team_id).filter(pool=pool)[:SHOWN]),
        tuple(conductor_training_row(each) for each in trainings),
        can_train_conductors(),
    )


def conductor_training_row(training: ConductorTraining) -> ConductorTrainingRow:
    """Return a training with its stages and curves."""
    is_open = training.state != JobState.DONE
    progress: Mapping[str, Any] = training.progress
    left_s, of = progress.get("left_s"), progress.get("of")
    runs = is_open and progress.get("stage") == training.stage
    return ConductorTrainingRow(
        training=training,
        is_open=is_open,
        waits_for_server=is_open and training.stage == ConductorStage.SERVE,
        words=_words(training, is_open),
        state="running" if is_open else STATES.get(_outcome(training), "failed"),
        cost_micros=conductor_training_cost(training),
        stages=_stages(training, is_open),
        percent=round(100 * progress["step"] / of) if runs and of else None,
        left_ms=1000 * left_s if runs and left_s is not None else None,
        lines=tuple(_lines(training.curve)),
        workers=_workers(progress.get("workers", {})),
        version=getattr(training, "version", None),
    )


def next_step(version: ConductorVersion, *, is_in_use: bool) -> str:
    """Return in a sentence what a person who manages pools does next with a version."""
    training, gate = version.training, version.gate
    is_open = training is not None and training.state != JobState.DONE
    if version.pool is None:
        return gettext(
            "Its pool was deleted, so no tier can plan with it. You can delete it."
        )
    if is_in_use:
        return gettext(
            "It plans now. To go back, use an earlier version, or restore an earlier "
            "version of the pool."
        )
    if version.conductor is None:
        if is_open:
            return gettext(
                "Next: serve it, and publish it below. Then it is compared on held-out "
                "tasks."
            )
        return gettext("Next: serve it, and publish it below. Then a tier can use it.")
    if is_open:
        return gettext(
            "It is being compared on held-out tasks, on the page of its training. "
            "Next: wait for the result, then let a tier plan with it."
        )
    if gate is None:
        return gettext(
            "It was not compared. Next: let a tier plan with it below, with a reason."
        )
    if gate["is_better"]:
        return gettext("It is better. Next: let a tier plan with it below.")
    return gettext(
        "It is not better. Next: train another one, or let a tier plan "
        "with this one below, with a reason."
    )


def _words(training: ConductorTraining, is_open: bool) -> str:
    if not is_open:
        return gettext(_outcome(training).label)
    if training.is_cancelled:
        return gettext("Being cancelled")
    return gettext(ConductorStage(training.stage).label)


def _outcome(training: ConductorTraining) -> ConductorOutcome:
    return ConductorOutcome(training.outcome)


def _stages(training: ConductorTraining, is_open: bool) -> tuple[tuple[str, str], ...]:
    wanted: list[ConductorStage] = [*ConductorStage]
    wanted.remove(ConductorStage.END)
    for stage, setting in (
        (ConductorStage.SFT, "sft_steps"),
        (ConductorStage.GRPO, "grpo_iterations"),
        (ConductorStage.RECURSION, "recursion_iterations"),
    ):
        if not training.settings.get(setting):
            wanted.remove(stage)
    reached = _reached(training, wanted, is_open)
    lines = []
    for place, stage in enumerate(wanted):
        state = "completed" if place < reached else "waiting"
        if place == reached:
            state = "running" if is_open else "failed"
        lines.append((gettext(stage.label), state))
    return tuple(lines)


def _reached(
    training: ConductorTraining, stages: Sequence[ConductorStage], is_open: bool
) -> int:
    """Return the place of the present stage; of one that ended, the one it ended in."""
    if is_open and training.stage in stages:
        return stages.index(ConductorStage(training.stage))
    if _is_measured(training):
        return len(stages)
    if training.gate_id:
        return stages.index(ConductorStage.GATE)
    if getattr(training, "version", None) is not None:
        return stages.index(ConductorStage.SERVE)
    stage = training.progress.get("stage")
    return stages.index(ConductorStage(stage)) if stage in stages else 0


def _is_measured(training: ConductorTraining) -> bool:
    return training.outcome in (
        ConductorOutcome.USED,
        ConductorOutcome.BETTER,
        ConductorOutcome.NOT_BETTER,
    )


def _lines(curve: Sequence[Mapping[str, Any]]) -> list[CurveLine]:
    found = []
    for stage, names in LINES.items():
        points = [point for point in curve if point["stage"] == stage]
        for name, label in names:
            seen = [(p["step"], p[name]) for p in points if p.get(name) is not None]
            if seen:
                found.append(_line(gettext(label), gettext(stage.label), seen))
    return found


def _line(label: str, stage: str, seen: Sequence[tuple[int, float]]) -> CurveLine:
    values = [value for _, value in seen]
    low, high, most = min(values), max(values), max(step for step, _ in seen)
    width, is_flat = WIDTH - 2 * MARGIN, high == low
    base, span = (low - 0.5, 1.0) if is_flat else (low, high - low)
    drawn = (
        (
            MARGIN + width * step / max(1, most),
            HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * (value - base) / span,
        )
        for step, value in seen
    )
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in drawn)
    if len(seen) == 1:
        points = f"{points} {points}"  # a line of one point is drawn as a dot
    return CurveLine(label, stage, points, values[0], values[-1], low, high, most)


def _workers(found: Mapping[str, Mapping[str, float]]) -> tuple[FamilyShares, ...]:
    return tuple(
        FamilyShares(family, tuple(shares.items()))
        for family, shares in sorted(found.items())
    )
