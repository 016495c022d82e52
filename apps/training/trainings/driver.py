"""Drives one training: each stage waits for an evaluation or a fit, then the next."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from django.db import transaction
from django.utils import timezone

from apps.accounts.models import Team
from apps.accounts.principal import Principal
from apps.audit.types import Actor
from apps.evaluation.models import Evaluation
from apps.evaluation.requesters import requester_principal
from apps.evaluation.selectors import evaluation_list
from apps.evaluation.services import evaluation_start
from apps.evaluation.systems.base import carrier_tier
from apps.planners.light.logged_runs import LoggedRun
from apps.pools.models import Pool, TierPlanner
from apps.pools.selectors import (
    access_pool,
    planner_version,
    pool_fingerprints,
    pool_snapshot,
)
from apps.pools.services import (
    PlannerFit,
    planner_version_add,
    planner_version_measured,
    planner_version_use,
)
from apps.training.learning_data.reading import learning_records
from apps.training.learning_data.served_models import AnsweringModels
from apps.training.learning_data.tally import LearningTally
from apps.training.selectors import training_cost
from apps.training.trainings.embedding import (
    EmbeddingFailed,
    EmbeddingWork,
    PromptsToEmbed,
    PromptVectors,
)
from apps.training.trainings.evaluations import EvaluationBroke, evaluation_wait
from apps.training.trainings.fit_process import fit_process, require_fitting
from apps.training.trainings.gate import gate_report
from apps.training.trainings.measured_workers import MeasuredWorkers
from apps.training.trainings.models import Stage, Training, TrainingOutcome
from apps.training.trainings.newcomers import present_version
from apps.training.trainings.settings import (
    TrainingPlan,
    exploration_systems,
    gate_systems,
    near_best_systems,
    plans_of_tasks,
    probe_systems,
    trial_systems,
)
from apps.training.trainings.site_defaults import site_default
from apps.training.trainings.worth import trained_worth

READ_A_STEP = 50
"""Runs that are read before others get their turn."""
Values = dict[str, Any]


class TrainingEnded(Exception):
    """A training can't go on, or need not."""

    def __init__(self, outcome: TrainingOutcome, why: str = "") -> None:
        super().__init__(why)
        self.outcome, self.why = outcome, why


class _ClaimLost(Exception):
    """Another process drives the training now, or it was deleted."""


class TrainingDriver:
    """The work of one training, in small steps. What it has done is in its row."""

    def __init__(self, training: Training) -> None:
        self._training = training
        self._plan = TrainingPlan.model_validate(training.settings)
        self._team = Team.objects.get(pk=training.team_id)
        self._actor = Actor(**training.requested_by)
        self._snapshot = pool_snapshot(training.team_id, training.pool.name)
        self._workers = [worker.name for worker in self._snapshot.chat_workers]

    def steps(self) -> Iterator[bool]:
        """Do what is left, stage by stage; yields whether it waits for something.

        Stops if another process drives the training now. Raises: TrainingEnded when
        there is nothing left; ConductorError, before anything is paid for if this
        process has nothing to fit with.
        """
        require_fitting()
        stages = {
            Stage.EXPLORE: self._explore,
            Stage.FIT: self._fit,
            Stage.NEAR_BEST: self._explore_near_best,
            Stage.REFIT: self._fit,
            Stage.GATE: self._measure,
        }
        with suppress(_ClaimLost):
            while True:
                self._require_wanted()
                stage = Stage(self._training.stage)
                yield from stages[stage]()
                self._save(stage=self._after(stage))

    def _after(self, stage: Stage) -> Stage:
        if stage is Stage.FIT and not self._plan.near_best_runs:
            return Stage.GATE
        order = list(Stage)
        return order[order.index(stage) + 1]

    # --- explorations -----------------------------------------------------------------

    def _explore(self) -> Iterator[bool]:
        if runs := self._plan.explore_runs:
            plans, tasks = plans_of_tasks(runs, self._training_tasks())
            systems = exploration_systems(plans)
            if self._plan.newcomer:
                known = present_version(self._pool())
                number = None if known is None else known.number
                systems = probe_systems(plans, self._plan.newcomer, number)
            yield from self._evaluate("exploration", systems, "training", tasks)

    def _explore_near_best(self) -> Iterator[bool]:
        runs = self._plan.near_best_runs
        plans, tasks = plans_of_tasks(runs, self._training_tasks())
        version, worth = self._version, self._plan.answer_worth_micros
        systems = near_best_systems(plans, version, worth)
        if newcomer := self._plan.newcomer:
            systems = trial_systems(plans, version, worth, newcomer)
        yield from self._evaluate("near_best", systems, "training", tasks)

    def _training_tasks(self) -> int:
        rows = self._training.suite_version.tasks.filter(split="training")
        if not (count := rows.count()):
            raise TrainingEnded(
                TrainingOutcome.FAILED, "the suite has no tasks to train on"
            )
        return count

    def _evaluate(
        self, field: str, systems: Sequence[Values], split: str, tasks: int
    ) -> Iterator[bool]:
        """Run an evaluation, or wait for the one that runs. Raises: TrainingEnded."""
        if getattr(self._training, f"{field}_id") is None:
            values = {
                "pool": self._training.pool.name,
                "systems": list(systems),
                "split": split,
                "max_tasks": tasks,
                "seed": self._plan.seed,
                "parallel_runs": self._plan.parallel_runs,
                **self._cost_limit(),
            }
            # Together, or a process that took over would pay for it once more.
            with transaction.atomic():
                started = evaluation_start(
                    version=self._training.suite_version,
                    values=values,
                    principal=self._principal(),
                    actor=self._actor,
                )
                self._save(**{f"{field}_id": started.id})
        try:
            yield from evaluation_wait(
                self._team.id,
                getattr(self._training, f"{field}_id"),
                self._is_cancelled,
                self._actor,
            )
        except EvaluationBroke as exc:
            budget, failed = TrainingOutcome.BUDGET, TrainingOutcome.FAILED
            raise TrainingEnded(budget if exc.is_budget else failed, exc.why) from exc
        self._require_wanted()

    def _evaluation(self, field: str) -> Evaluation:
        rows = evaluation_list(self._team.id)
        found = rows.filter(id=getattr(self._training, f"{field}_id")).first()
        if found is None:
            raise TrainingEnded(TrainingOutcome.FAILED, "its evaluation was deleted")
        return found

    def _cost_limit(self) -> Values:
        """Return what is left of the cost limit. Raises: TrainingEnded."""
        if self._plan.max_cost_micros is None:
            return {}
        left = self._plan.max_cost_micros - training_cost(self._training)
        if left <= 0:
            raise TrainingEnded(TrainingOutcome.BUDGET, "nothing is left of its limit")
        return {"max_cost_micros": left}

    def _principal(self) -> Principal | None:
        return requester_principal(self._actor, self._team, self._training.user)

    # --- fits -------------------------------------------------------------------------

    def _fit(self) -> Iterator[bool]:
        """Fit on everything that is logged, and keep the version.

        A worker without a logged answer stays unknown to it.
        """
        if self._plan.from_profiles:
            self._keep_default()
            return
        now = pool_fingerprints(self._pool())
        tally, measured = LearningTally(), MeasuredWorkers(now)
        answering = AnsweringModels(now)
        to_embed = PromptsToEmbed(self._plan.embeddings)
        runs: list[LoggedRun] = []
        for number, record in enumerate(self._records()):
            tally.add(record)
            measured.add(record)
            answering.add(record)
            to_embed.add(record)
            runs.append(record.run)
            if number % READ_A_STEP == 0:
                yield False
        workers = [name for name in self._workers if tally.by_worker[name]]
        vectors = yield from self._embed(to_embed)
        known = answering.fingerprints(workers)
        with fit_process(runs, workers, self._plan.seed, vectors, known) as process:
            while (found := process.result()) is None:
                yield True
        fit = PlannerFit(
            found.runs,
            found.graded_steps,
            found.kinds,
            tuple(workers),
            tally.digest,
            embedding=None if vectors is None else vectors.values(),
            fingerprints=known,
        )
        stage = Stage(self._training.stage)
        points = [{"stage": stage.value, **point} for point in found.curve]
        prompts = [run.prompt for run in runs]
        self._keep(found.stored, fit, prompts, measured, points)

    def _embed(
        self, prompts: PromptsToEmbed
    ) -> Generator[bool, None, PromptVectors | None]:
        """Return the vectors of all prompts; None: the training does without.

        Raises: TrainingEnded if they cannot be had: a version by n-grams is another one
        than the one that was ordered.
        """
        if not self._plan.embeddings:
            return None
        paid = self._training.embedding_cost_micros
        left = self._cost_limit().get("max_cost_micros")
        work = EmbeddingWork(
            self._training.id,
            pool_snapshot(self._team.id, self._training.pool.name),
            self._plan.embeddings,
            self._actor,
            self._principal(),
        )
        try:
            for vectors in work.vectors(prompts, left):
                if vectors is not None:
                    return vectors
                self._require_wanted()
                yield True
        except EmbeddingFailed as exc:
            budget, failed = TrainingOutcome.BUDGET, TrainingOutcome.FAILED
            why = f"the prompts could not be embedded: {exc.why}"
            raise TrainingEnded(budget if exc.is_limit else failed, why) from exc
        finally:
            self._save(embedding_cost_micros=paid + work.cost.micros)
        raise AssertionError("the vectors come last")

    def _records(self) -> Iterator[Any]:
        return learning_records(self._team.id, self._training.pool.name)

    def _keep_default(self) -> None:
        """Keep the site's default with the profiles that the workers have now."""
        default = site_default(self._pool())
        self._keep(default.stored, default.fit, default.prompts, default.measured, [])

    @transaction.atomic
    def _keep(
        self,
        stored: bytes,
        fit: PlannerFit,
        prompts: Sequence[str],
        measured: MeasuredWorkers,
        points: Sequence[Values],
    ) -> None:
        worth = trained_worth(
            self._training, self._plan, self._snapshot, stored, prompts
        )
        version = planner_version_add(
            pool=self._training.pool,
            stored=stored,
            fit=replace(fit, answer_worth_micros=worth),
            actor=self._actor,
        )
        self._save(
            version=version.number,
            curve=[*self._training.curve, *points],
            best_worker=measured.best(self._workers),
            best_by_family=measured.best_by_family(self._workers),
        )

    @property
    def _version(self) -> int:
        """Return the number of the newest fit. Raises: TrainingEnded."""
        if self._training.version is None:
            raise TrainingEnded(TrainingOutcome.FAILED, "there is no fit")
        return self._training.version

    # --- the gate ---------------------------------------------------------------------

    def _measure(self) -> Iterator[bool]:
        """Compare the version on held-out tasks, and put it to use if it is better."""
        pool, version = self._pool(), self._version
        present = pool.planner_version
        tiers = self._snapshot.tiers
        systems = gate_systems(
            self._plan.answer_worth_micros,
            version=version,
            present=None if present is None else present.number,
            best=self._training.best_worker,
            workers=self._workers,
            max_steps=tiers[carrier_tier(tiers)].max_steps,
        )
        tasks = self._plan.held_out_tasks
        yield from self._evaluate("gate", systems, "held_out", tasks)
        report = gate_report(
            self._evaluation("gate"),
            self._training.best_by_family,
            self._plan.margin_percent / 100,
        )
        found = planner_version(pool, version)
        planner_version_measured(version=found, gate=report)
        raise TrainingEnded(self._decided(report, version))

    def _decided(self, report: Mapping[str, Any], version: int) -> TrainingOutcome:
        if not report["is_better"]:
            return TrainingOutcome.NOT_BETTER
        if not self._plan.tiers:
            return TrainingOutcome.BETTER
        planner_version_use(
            pool=self._training.pool,
            number=version,
            tiers=dict.fromkeys(self._plan.tiers, TierPlanner.LIGHT),
            actor=self._actor,
        )
        return TrainingOutcome.USED

    # --- the row ----------------------------------------------------------------------

    def _save(self, **values: Any) -> None:
        rows = Training.objects.for_team(self._training.team_id)
        claimed = rows.filter(claim_id=self._training.claim_id)
        if not claimed.update(beat_at=timezone.now(), **values):
            raise _ClaimLost
        for name, value in values.items():
            setattr(self._training, name, value)

    def _pool(self) -> Pool:
        return access_pool(self._team.id, self._training.pool_id)

    def _is_cancelled(self) -> bool:
        rows = Training.objects.for_team(self._training.team_id)
        return rows.filter(pk=self._training.pk, is_cancelled=True).exists()

    def _require_wanted(self) -> None:
        if self._is_cancelled():
            raise TrainingEnded(TrainingOutcome.CANCELLED)
