"""Attends to the trainer of one training: notes its progress, and rewards its plans."""

from __future__ import annotations

import math
import time
from collections.abc import Generator
from contextlib import suppress

from django.utils import timezone

from apps.core.errors import ConductorError
from apps.training.conductor.claimed import ClaimedTraining, ConductorTrainingEnded
from apps.training.conductor.folders import training_folder
from apps.training.conductor.models import ConductorOutcome, ConductorStage
from apps.training.conductor.progress import (
    PlanTally,
    Point,
    curve_with,
    seconds_left,
)
from apps.training.conductor.prompts import places_read
from apps.training.conductor.protocol import (
    Ended,
    Rewards,
    Rollouts,
    Stop,
    TrainerProgress,
)
from apps.training.conductor.rollouts import TriedPlans, UnknownTask
from apps.training.conductor.selectors import rollouts_cost
from apps.training.conductor.spending import OutOfBudget
from apps.training.conductor.trainer_faults import LOG
from apps.training.conductor.trainer_process import (
    FolderInUse,
    TrainerFailed,
    TrainerLost,
    TrainerProcess,
    orphan_end,
    trainer_process,
)
from apps.training.conductor.training_folder import RECURSION

SAVE_S = 1.0
"""Seconds between two notes of the progress in the row."""
LOOK_S = 0.5
"""Seconds between two looks whether it was cancelled."""
STOP_S = 900.0
"""How long a trainer that was told to stop has for the step in progress."""
ORPHAN_S = 30.0
"""How long the trainer of a process before this one has to end."""
Waits = Generator[bool, None, Ended]


class AttendedTrainer:
    """The trainer of one claimed training. Not for the event loop: steps block."""

    def __init__(self, claimed: ClaimedTraining) -> None:
        self._claimed = claimed
        self._is_recursion = claimed.row.stage == ConductorStage.RECURSION
        self._folder = training_folder(claimed.row.id)
        self._log = self._folder / LOG
        if self._is_recursion:
            self._folder /= RECURSION
        self._rollouts = TriedPlans(
            claimed.row, places_read(self._folder), claimed.requested
        )
        self._tally: PlanTally | None = None
        self._since: dict[str, tuple[int, float]] = {}
        """By stage: the first step of this process, and when that was."""
        self._saved_at = self._looked_at = 0.0
        self._furthest = (-1, -1)
        self.over_budget = ""
        """Why no further run may begin; empty: one may."""
        self._stop_by = math.inf

    def ended(self) -> Waits:
        """Let it do its stages; yields whether it waits. Return how it ended.

        Raises: ConductorTrainingEnded; TrainerFailed; NotOurs; ConductorError.
        """
        try:
            return (yield from self._again_and_again())
        except (ConductorTrainingEnded, ConductorError):
            self._rollouts.stop()
            raise

    def _again_and_again(self) -> Waits:
        """Start it again if it is lost, as long as it has come further than before."""
        waits_until = time.monotonic() + ORPHAN_S
        while True:
            before = self._furthest
            try:
                with trainer_process(self._folder, self._log) as trainer:
                    return (yield from self._listen(trainer))
            except TrainerLost:
                if self._furthest == before:
                    raise
            except FolderInUse:
                self._claimed.require_wanted()
                if time.monotonic() >= waits_until:
                    orphan_end(self._folder)
                    waits_until = time.monotonic() + ORPHAN_S
                yield True

    def _listen(self, trainer: TrainerProcess) -> Waits:
        while True:
            self._require_wanted()
            if time.monotonic() >= self._stop_by:
                raise ConductorTrainingEnded(ConductorOutcome.BUDGET, self.over_budget)
            message = trainer.message()
            match message:
                case Ended():
                    self._save()
                    return message
                case TrainerProgress():
                    self._note(message)
                case Rollouts():
                    yield from self._reward(trainer, message)
            yield message is None

    def _require_wanted(self) -> None:
        """Look whether it was cancelled, but not with each of many messages."""
        if time.monotonic() - self._looked_at >= LOOK_S:
            self._looked_at = time.monotonic()
            self._claimed.require_wanted()

    # --- its plans --------------------------------------------------------------------

    def _reward(
        self, trainer: TrainerProcess, asked: Rollouts
    ) -> Generator[bool, None, None]:
        try:
            if not self.over_budget:
                for waits in self._rollouts.run(asked.plans):
                    self._require_wanted()
                    yield waits
        except OutOfBudget as exc:
            self.over_budget = str(exc)
            self._stop_by = time.monotonic() + STOP_S
            trainer.send(Stop())
        except UnknownTask:
            raise TrainerFailed(
                "the trainer names a task that it was not given"
            ) from None
        rewards, self._tally = self._rollouts.rewards(asked.plans)
        if self.over_budget:
            with suppress(TrainerLost):  # it may have stopped already
                trainer.send(Rewards(asked.id, tuple(rewards)))
            return
        self._require_some(self._tally)
        trainer.send(Rewards(asked.id, tuple(rewards)))

    def _require_some(self, tally: PlanTally) -> None:
        if tally.plans and tally.failed == tally.plans:
            why = self._rollouts.newest_cause()
            raise ConductorTrainingEnded(
                ConductorOutcome.FAILED, f"no plan could be graded any more: {why}"
            )

    # --- its progress -----------------------------------------------------------------

    def _note(self, said: TrainerProgress) -> None:
        row, stage = self._claimed.row, self._stage(said)
        if row.stage != stage:
            self._claimed.save(stage=stage, stage_since=timezone.now())
            self._saved_at = 0.0
        place = [*ConductorStage].index(stage)
        self._furthest = max(self._furthest, (place, said.step))
        row.curve = curve_with(row.curve, point := self._point(said))
        first, began = self._since.setdefault(stage, (said.step, time.monotonic()))
        seconds = time.monotonic() - began
        has_plans = stage != ConductorStage.SFT
        tally = self._tally.values() if self._tally and has_plans else {}
        row.progress = {
            **point,
            "of": said.of,
            "left_s": seconds_left(said.step, said.of, first, seconds),
            "workers": tally.get("workers", {}),
            "failed": tally.get("failed", 0),
        }
        if time.monotonic() - self._saved_at >= SAVE_S or said.step >= said.of:
            self._save()

    def _point(self, said: TrainerProgress) -> Point:
        figures = {
            name: round(value, 6) if math.isfinite(value) else None
            for name, value in said.figures.items()
        }
        stage = self._stage(said)
        point = {"stage": stage.value, "step": said.step, **figures}
        if stage != ConductorStage.SFT and self._tally is not None:
            known = self._tally.values()
            names = ["validity", "accuracy", "steps"]
            if stage == ConductorStage.RECURSION:
                names.append("kept")
            point.update({name: known[name] for name in names})
            point["cost_micros"] = rollouts_cost(self._claimed.row)
        return point

    def _stage(self, said: TrainerProgress) -> ConductorStage:
        """Return the training's stage; the trainer calls the last one grpo too."""
        if self._is_recursion:
            return ConductorStage.RECURSION
        return ConductorStage(said.stage.value)

    def _save(self) -> None:
        row = self._claimed.row
        self._claimed.save(curve=row.curve, progress=row.progress)
        self._saved_at = time.monotonic()
