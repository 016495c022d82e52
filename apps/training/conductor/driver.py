"""Drives one training of a conductor, stage by stage. What it has done is in its row.

The trainer works in a process and a folder of its own; its plans are run here. Killed
at any point, another process goes on: the trainer from its last checkpoint, and no plan
is paid for twice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from django.db import transaction
from django.utils import timezone

from apps.audit.models import JobState
from apps.core.errors import ConductorError
from apps.core.scoping import TeamQuerySet
from apps.evaluation.services import evaluation_start
from apps.evaluation.systems.base import carrier_tier
from apps.planners.answer_worth import worth_in_force
from apps.planners.light.planner import LightPlanner
from apps.pools.models import Pool
from apps.pools.selectors import access_pool, light_planner, pool_fingerprints
from apps.training.conductor.attended import AttendedTrainer
from apps.training.conductor.claimed import ClaimedTraining, ConductorTrainingEnded
from apps.training.conductor.folders import (
    Weights,
    file_digest,
    folder_keep,
    recursion_folder,
    recursion_settle,
    training_folder,
    weights_of,
    weights_settle,
)
from apps.training.conductor.gate import conductor_gate_systems
from apps.training.conductor.models import (
    ConductorOutcome,
    ConductorStage,
    ConductorTraining,
    ConductorVersion,
)
from apps.training.conductor.prompts import (
    TrainingPrompt,
    places_read,
    places_write,
    training_prompts,
)
from apps.training.conductor.protocol import Ending
from apps.training.conductor.publishing import conductor_version_use
from apps.training.conductor.recursion import RoundPrompt, RoundPrompts
from apps.training.conductor.selectors import (
    conductor_training_cost,
    conductor_version_list,
)
from apps.training.conductor.spending import NotOurs
from apps.training.conductor.training_folder import (
    EXAMPLES,
    FITTED,
    MODEL,
    RECURSION,
    TASKS,
    read_tasks,
    write_folder,
)
from apps.training.conductor.versions import (
    conductor_version_add,
    conductor_version_measured,
)
from apps.training.learning_data.reading import learning_records
from apps.training.trainings.evaluations import EvaluationBroke, evaluation_wait
from apps.training.trainings.gate import gate_report
from apps.training.trainings.measured_workers import MeasuredWorkers

TRAINED = (ConductorStage.SFT, ConductorStage.GRPO, ConductorStage.RECURSION)
"""Stages of the trainer."""
READ_A_STEP = 20
"""Prompts that are written, or runs that are read, before others get their turn."""
ResultT = TypeVar("ResultT")
Values = dict[str, Any]


class ConductorTrainingDriver:
    """The work of one claimed training, in small steps. Not for the event loop."""

    def __init__(self, training: ConductorTraining) -> None:
        self._claimed = ClaimedTraining(training)
        self._row, self._plan = training, self._claimed.plan

    def steps(self) -> Iterator[bool]:
        """Do what is left; yields whether it waits for something.

        Stops if another process drives the training now, and where it has to be served.
        Raises: ConductorTrainingEnded; ConductorError.
        """
        stages: dict[str, Callable[[], Iterator[bool]]] = {
            ConductorStage.EXAMPLES: self._write,
            ConductorStage.SFT: self._train,
            ConductorStage.GRPO: self._train,
            ConductorStage.RECURSION: self._train,
            ConductorStage.GATE: self._measure,
        }
        with suppress(NotOurs):
            while (do := stages.get(self._row.stage)) is not None:
                try:
                    self._claimed.require_wanted()
                    yield from do()
                except (ConductorTrainingEnded, ConductorError, OSError):
                    yield from self._keep_complete()
                    raise

    # --- examples ---------------------------------------------------------------------

    def _write(self) -> Iterator[bool]:
        """Write what the trainer reads."""
        planner, snapshot = self._planner(), self._claimed.snapshot()
        prompts: list[TrainingPrompt] = []
        for each in training_prompts(self._row, self._plan, planner, snapshot):
            prompts.append(each)
            if len(prompts) % READ_A_STEP == 0:
                yield False
        prompts = [each for each in prompts if each.completions]
        if not prompts:
            raise ConductorTrainingEnded(
                ConductorOutcome.FAILED,
                "the light planner knows no worker of the pool, so there is no example",
            )
        folder = training_folder(self._row.id)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_folder(
            folder,
            self._plan.job(),
            examples=[each.example for each in prompts],
            tasks=[each.task for each in prompts],
        )
        places_write(folder, {each.key: each.place for each in prompts})
        self._claimed.save(
            data_digest=_digest_of(folder / EXAMPLES, folder / TASKS),
            stage=ConductorStage(self._plan.stages[0].value),
            stage_since=timezone.now(),
        )

    # --- the trainer ------------------------------------------------------------------

    def _train(self) -> Iterator[bool]:
        attended = AttendedTrainer(self._claimed)
        ended = yield from attended.ended()
        match ended.why:
            case Ending.COMPLETED if self._has_recursion_left:
                yield from self._write_rounds(ended.model)
            case Ending.COMPLETED:
                yield from self._keep(ended.model, None, "")
            case Ending.COLLAPSED:
                why = _plain(ended.message)
                yield from self._keep(ended.model, ConductorOutcome.COLLAPSED, why)
            case Ending.STOPPED if attended.over_budget:
                name = ended.model or FITTED
                budget, why = ConductorOutcome.BUDGET, attended.over_budget
                yield from self._keep(name, budget, why)
            case _:
                why = _plain(ended.message) or "the trainer stopped"
                raise ConductorTrainingEnded(ConductorOutcome.FAILED, why)

    def _keep(
        self, name: str | None, outcome: ConductorOutcome | None, why: str
    ) -> Iterator[bool]:
        """Make a version of the weights in a folder, if there are any.

        Without an `outcome` they wait for a server then. Raises:
        ConductorTrainingEnded.
        """
        is_last = self._row.stage == ConductorStage.RECURSION
        settle = recursion_settle if is_last else weights_settle
        folder = settle(self._row.id, name)
        rounds = 2 if is_last and name == MODEL else 1
        weights = yield from _in_thread(lambda: weights_of(folder))
        if weights is None and outcome is None:
            why = "the trainer ended without weights"
            raise ConductorTrainingEnded(ConductorOutcome.FAILED, why)
        with transaction.atomic():
            if weights is not None:
                self._add(weights, rounds)
            if outcome is None:
                self._claimed.save(
                    stage=ConductorStage.SERVE,
                    stage_since=timezone.now(),
                    state=JobState.WAITING,
                )
                if self._claimed.is_cancelled:  # while its weights were read
                    outcome = ConductorOutcome.CANCELLED
        if outcome is not None:
            raise ConductorTrainingEnded(outcome, why)
        folder_keep(self._row.id, MODEL)

    def _keep_complete(self) -> Iterator[bool]:
        """Make a version of the weights of the last complete stage, if there are any.

        They plan once: a second round is learned in the last stage alone.
        """
        if self._row.stage not in TRAINED or self._versions.exists():
            return
        folder = weights_settle(self._row.id, FITTED)
        weights = yield from _in_thread(lambda: weights_of(folder))
        if weights is not None:
            with transaction.atomic():
                self._add(weights, rounds=1)

    def _add(self, weights: Weights, rounds: int) -> None:
        """Add a version, unless a process before this one did."""
        if self._versions.exists():
            return
        conductor_version_add(
            training=self._row,
            weights=weights,
            workers=[w.name for w in self._claimed.snapshot().chat_workers],
            cost_micros=conductor_training_cost(self._row),
            rounds=rounds,
            actor=self._claimed.actor,
        )

    # --- planning once more -----------------------------------------------------------

    @property
    def _has_recursion_left(self) -> bool:
        is_last = self._row.stage == ConductorStage.RECURSION
        return self._plan.recursion_iterations > 0 and not is_last

    def _write_rounds(self, name: str | None) -> Iterator[bool]:
        """Write the folder of the last part, which begins with the weights so far."""
        weights = weights_settle(self._row.id, name)
        if weights.is_symlink() or not weights.is_dir():
            yield from self._keep(name, None, "")  # which says that there are none
        folder = training_folder(self._row.id)
        places = places_read(folder)
        first = [RoundPrompt(t, places[t.task]) for t in read_tasks(folder)]
        snapshot, found = self._claimed.snapshot(), list[RoundPrompt]()
        made = RoundPrompts(self._row, self._planner(), snapshot, first)
        for each in made.prompts():
            found.append(each)
            if len(found) % READ_A_STEP == 0:
                yield False
        if not found:
            why = "no answer of its own plans is left to learn a second round with"
            yield from self._keep(name, ConductorOutcome.FAILED, why)
        rounds = folder / RECURSION
        recursion_folder(folder)
        write_folder(rounds, self._plan.recursion_job(), tasks=[e.task for e in found])
        places_write(rounds, {each.task.task: each.place for each in found})
        files = (folder / EXAMPLES, folder / TASKS, rounds / TASKS)
        self._claimed.save(
            data_digest=_digest_of(*files),
            stage=ConductorStage.RECURSION,
            stage_since=timezone.now(),
        )

    def _planner(self) -> LightPlanner:
        """Return the light planner that it learns from."""
        number = self._row.planner_number
        try:
            found = light_planner(self._row.team_id, self._row.pool_id, number)
        except ValueError as exc:
            raise ConductorTrainingEnded(ConductorOutcome.FAILED, str(exc)) from exc
        worth = worth_in_force(
            self._plan.answer_worth_micros, found.answer_worth_micros
        )
        return LightPlanner(found.model, number, worth)

    # --- the gate ---------------------------------------------------------------------

    def _measure(self) -> Iterator[bool]:
        """Compare the version on held-out tasks, and put it to use if it is better."""
        version = self._version()
        if self._row.gate_id is None:
            yield from self._measure_workers()
            self._begin_gate(version)
        assert self._row.gate is not None
        try:
            yield from evaluation_wait(
                self._row.team_id,
                self._row.gate.id,
                lambda: self._claimed.is_cancelled,
                self._claimed.actor,
            )
        except EvaluationBroke as exc:
            budget, failed = ConductorOutcome.BUDGET, ConductorOutcome.FAILED
            raise ConductorTrainingEnded(
                budget if exc.is_budget else failed, exc.why
            ) from exc
        self._claimed.require_wanted()
        report = gate_report(
            self._row.gate, self._row.best_by_family, self._plan.margin_percent / 100
        )
        conductor_version_measured(version=version, gate=report)
        raise ConductorTrainingEnded(self._decided(report, version))

    def _measure_workers(self) -> Iterator[bool]:
        """Note which workers the learning data shows to be best alone."""
        pool = self._row.pool
        measured = MeasuredWorkers(pool_fingerprints(pool))
        for number, record in enumerate(learning_records(pool.team_id, pool.name)):
            measured.add(record)
            if number % READ_A_STEP == 0:
                yield False
        workers = [worker.name for worker in self._claimed.snapshot().chat_workers]
        best = measured.best(workers)
        tasks = self._row.suite_version.tasks.filter(split="held_out")
        families = tasks.values_list("family", flat=True).distinct()
        # Where nothing was logged of a family, the best of all stands for its best.
        by_family = {name: best for name in families if name}
        by_family |= measured.best_by_family(workers)
        self._claimed.save(best_worker=best, best_by_family=by_family)

    def _begin_gate(self, version: ConductorVersion) -> None:
        snapshot, pool = self._claimed.snapshot(), self._pool()
        in_use = pool.planner_version
        assert version.conductor is not None
        systems = conductor_gate_systems(
            self._plan,
            conductor=version.conductor.name,
            rounds=version.rounds,
            present=None if pool.conductor is None else pool.conductor.name,
            planner_number=self._row.planner_number,
            planner_in_use=None if in_use is None else in_use.number,
            best=self._row.best_worker,
            workers=[worker.name for worker in snapshot.chat_workers],
            max_steps=snapshot.tiers[carrier_tier(snapshot.tiers)].max_steps,
        )
        values = {
            "pool": pool.name,
            "systems": systems,
            "split": "held_out",
            "max_tasks": self._plan.held_out_tasks,
            "seed": self._plan.seed,
            "parallel_runs": self._plan.parallel_runs,
            **self._cost_limit(),
        }
        # Together, or a process that took over would pay for it once more.
        with transaction.atomic():
            started = evaluation_start(
                version=self._row.suite_version,
                values=values,
                principal=self._claimed.principal(),
                actor=self._claimed.actor,
            )
            self._claimed.save(gate=started)

    def _decided(
        self, report: Mapping[str, Any], version: ConductorVersion
    ) -> ConductorOutcome:
        if not report["is_better"]:
            return ConductorOutcome.NOT_BETTER
        if not self._plan.uses_if_better:
            return ConductorOutcome.BETTER
        conductor_version_use(version=version, actor=self._claimed.actor)
        return ConductorOutcome.USED

    def _version(self) -> ConductorVersion:
        found = self._versions.first()
        if found is None or found.conductor is None:
            raise ConductorTrainingEnded(
                ConductorOutcome.FAILED, "its version, or the conductor of it, is gone"
            )
        return found

    @property
    def _versions(self) -> TeamQuerySet[ConductorVersion]:
        rows = conductor_version_list(self._row.team_id)
        return rows.filter(training=self._row)

    def _pool(self) -> Pool:
        return access_pool(self._row.team_id, self._row.pool_id)

    def _cost_limit(self) -> Values:
        """Return what is left of the cost limit. Raises: ConductorTrainingEnded."""
        if self._plan.max_cost_micros is None:
            return {}
        left = self._plan.max_cost_micros - conductor_training_cost(self._row)
        if left <= 0:
            why = "nothing is left of its limit"
            raise ConductorTrainingEnded(ConductorOutcome.BUDGET, why)
        return {"max_cost_micros": left}


def _in_thread(work: Callable[[], ResultT]) -> Generator[bool, None, ResultT]:
    """Do something that takes long while the training shows that it is alive."""
    with ThreadPoolExecutor(1) as threads:
        found = threads.submit(work)
        while not found.done():
            yield True
        return found.result()


def _digest_of(*files: Path) -> str:
    digests = [file_digest(each) for each in files]
    return hashlib.sha256("".join(digests).encode()).hexdigest()


def _plain(text: str) -> str:
    """Return what a trainer said as one line that can be stored."""
    return "".join(char if char.isprintable() else " " for char in text).strip()
