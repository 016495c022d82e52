"""Trainings of light planners, their versions, and which of them plans."""

from __future__ import annotations

import uuid
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.rights import MANAGE_EVALUATIONS, MANAGE_POOLS, READ_LEARNING
from apps.audit.models import JobState
from apps.evaluation.selectors import access_suite, access_version
from apps.pools.models import Pool, TierName
from apps.pools.selectors import (
    access_pool,
    planner_version,
    planner_versions,
    pool_snapshot,
)
from apps.rest.fields import Flag, Input, Output, TextField, Time, Whole
from apps.rest.resources.run_outputs import MODEL_SOURCES
from apps.rest.schema import operation
from apps.rest.views import RestView
from apps.training.models import Training
from apps.training.selectors import (
    access_training,
    newcomers,
    training_cost,
    training_list,
)
from apps.training.services import (
    planner_retire,
    planner_use,
    training_cancel,
    training_start,
)
from apps.training.trainings.models import Stage, TrainingOutcome

TAG = "Learning"
GATE: dict[str, Any] = {
    "evaluation": "0199c0de-0000-7000-8000-000000000041",
    "is_simulated": True,
    "tasks": 60,
    "new": {
        "name": "light planner (version 2)",
        "success": 0.9,
        "cost_micros": 390,
        "tokens": 410,
    },
    "others": [
        {
            "name": "self-reflection × 5 (a)",
            "success": 0.8,
            "cost_micros": 3_400,
            "tokens": 1_380,
            "difference": 0.1,
            "low": 0.01,
            "high": 0.19,
        }
    ],
    "margin": 0.05,
    "best_other": "self-reflection × 5 (a)",
    "result": "more_accurate",
    "is_better": True,
}
VERSION: dict[str, Any] = {
    "number": 2,
    "planner_digest": "5e" * 32,
    "data_digest": "2c" * 32,
    "source": "fitted",
    "fit": {
        "runs": 600,
        "graded_steps": 1_300,
        "kinds": 7,
        "workers": ["a", "b"],
        "source": "fitted",
        "embedding": None,
        "fingerprints": {"a": "5d0c9a1b7e3f2846", "b": "c81e728d9d4c2f63"},
        "answer_worth_micros": 10_501,
    },
    "gate": GATE,
    "created_by": "Alice",
    "created_at": "2026-11-23T15:53:16.000000Z",
}
SETTINGS = {"explore_runs": 800, "near_best_runs": 800, "tiers": ["ultra"]}
TRAINING: dict[str, Any] = {
    "id": "0199c0de-0000-7000-8000-000000000061",
    "pool": "default",
    "suite": "basics",
    "suite_version": 1,
    "settings": SETTINGS,
    "stage": "explore",
    "state": "running",
    "error": "",
    "version": None,
    "curve": [],
    "cost_micros": 18_300,
    "exploration_id": "0199c0de-0000-7000-8000-000000000041",
    "near_best_id": None,
    "gate_id": None,
    "created_at": "2026-11-23T15:53:16.000000Z",
    "finished_at": None,
}
USE: dict[str, Any] = {"version": 2, "tiers": ["ultra"]}
IN_USE: dict[str, Any] = {
    "version": 2,
    "tiers": {"mini": "conductor", "ultra": "light"},
    "newcomers": [
        {
            "worker": "c",
            "is_changed": False,
            "changed_at": None,
            "runs": 640,
            "highest_cost_micros": 1_200_000,
        }
    ],
}


class TrainingInput(Input):
    """A pool, a suite, and what differs from the usual training."""

    pool = TextField(max_length=64, required=False, help_text="Default: the team's.")
    suite = TextField(max_length=80, help_text="Name of a suite.")
    suite_version = Whole(min_value=1, required=False, help_text="Default: the newest.")
    settings = serializers.DictField(
        required=False,
        help_text="explore_runs, near_best_runs, held_out_tasks, parallel_runs, seed, "
        "answer_worth_micros, margin_percent, tiers, max_cost_micros; embeddings (an "
        "embedding worker of the pool); newcomer (a worker to probe), or from_profiles "
        "(true: measure the site's default). docs/training.md describes them.",
    )


class TrainingOutput(Output):
    """A training and how far it is."""

    id = serializers.UUIDField()
    pool = serializers.CharField(source="pool.name")
    suite = serializers.CharField(source="suite_version.suite.name")
    suite_version = serializers.IntegerField(source="suite_version.number")
    settings = serializers.DictField()
    stage = serializers.ChoiceField(choices=Stage.choices)
    state = serializers.SerializerMethodField()
    error = serializers.CharField(help_text="Why it ended early. Empty: no fault.")
    version = serializers.IntegerField(
        allow_null=True, help_text="Of the light planner, that it fitted last."
    )
    curve = serializers.ListField(
        child=serializers.DictField(),
        help_text="Of each fit on parts of the runs: stage, runs, log_loss (of "
        "held-out answers), expected (success that it expects of its own plans).",
    )
    cost_micros = serializers.SerializerMethodField()
    exploration_id = serializers.UUIDField(
        allow_null=True, help_text="An evaluation, like the next two."
    )
    near_best_id = serializers.UUIDField(allow_null=True)
    gate_id = serializers.UUIDField(allow_null=True)
    created_at = Time()
    finished_at = Time(allow_null=True)

    def get_state(self, training: Training) -> str:
        """Return running, cancelling, or how it ended: used, better, not_better,
        cancelled, budget or failed.
        """
        if training.state == JobState.DONE:
            return str(TrainingOutcome(training.outcome))
        return "cancelling" if training.is_cancelled else "running"

    def get_cost_micros(self, training: Training) -> int:
        """Return what its runs and vectors cost so far, in micro-dollars."""
        return training_cost(training)


class PlannerVersionOutput(Output):
    """A version of a pool's light planner."""

    number = serializers.IntegerField()
    planner_digest = serializers.CharField(
        source="digest", help_text="SHA-256 of the fitted planner."
    )
    data_digest = serializers.CharField(help_text="SHA-256 of the learning data.")
    source = serializers.ChoiceField(  # type: ignore[assignment]
        choices=MODEL_SOURCES,
        help_text="site_default: of worker profiles, without runs of the pool.",
    )
    fit = serializers.DictField(
        help_text="runs, graded_steps, kinds and workers; embedding: null, or worker, "
        "model, width (of vectors), prompts and left_out (prompts without a vector); "
        "answer_worth_micros: what a right answer is worth to it. Null: 25 answers of "
        "the dearest worker of each request."
    )
    gate = serializers.DictField(
        allow_null=True,
        help_text="How it did on held-out tasks. Null: it was not measured.",
    )
    created_by = serializers.CharField()
    created_at = Time()


class PlannerUseInput(Input):
    """Which version plans which tiers."""

    version = Whole(min_value=1)
    tiers = serializers.MultipleChoiceField(choices=TierName.choices)
    with_conductor = Flag(
        required=False,
        help_text="True: where it is unsure, the pool's conductor plans.",
    )
    reason = TextField(
        max_length=500,
        required=False,
        help_text="Needed if the version is not better; it is recorded.",
    )


class NewcomerOutput(Output):
    """A worker that the light planner does not know, or knows as another model."""

    worker = serializers.CharField()
    is_changed = serializers.BooleanField(
        help_text="True: the planner knows another model under its name, or the same "
        "one with other parameters; what it learned of that counts little."
    )
    changed_at = Time(
        allow_null=True,
        help_text="Since when it has its present model. Null: it was not changed, or "
        "not while the pool's versions were kept.",
    )
    runs = serializers.IntegerField(
        allow_null=True,
        help_text="Of the training that takes it in. Null: the pool was trained on no "
        "suite that is still there.",
    )
    highest_cost_micros = serializers.IntegerField(
        allow_null=True, help_text="Of those runs, retries apart. Null: not known."
    )


class PlannerUseOutput(Output):
    """Which version a pool uses, and who plans its tiers."""

    version = serializers.SerializerMethodField()
    tiers = serializers.SerializerMethodField()
    newcomers = serializers.SerializerMethodField()

    def get_version(self, pool: Pool) -> int | None:
        """Return the version in use; null: none is."""
        version = pool.planner_version
        return None if version is None else version.number

    def get_tiers(self, pool: Pool) -> dict[str, str]:
        """Return who plans each tier."""
        return {tier.name: tier.planner for tier in pool.tiers.all()}

    @extend_schema_field(NewcomerOutput(many=True))
    def get_newcomers(self, pool: Pool) -> list[dict[str, Any]]:
        """Return workers that it does not know as they are; trainings can probe one."""
        found = NewcomerOutput(newcomers(pool), many=True)
        return [dict(each) for each in found.data]


class Trainings(RestView):
    """The trainings of the team."""

    tag = TAG
    rights = {"GET": READ_LEARNING, "POST": MANAGE_EVALUATIONS}

    @operation(
        "training_list", "List trainings", page_of=TrainingOutput, example=TRAINING
    )
    def get(self, request: Request) -> Response:
        """Return the trainings, newest first."""
        return self.listed(training_list(self.principal.team_id), TrainingOutput)

    @operation(
        "training_start",
        "Train the light planner of a pool",
        body=TrainingInput,
        answer=TrainingOutput,
        status=202,
        errors=(404, 409),
        sent={"suite": "basics", "settings": SETTINGS},
        example=TRAINING,
    )
    def post(self, request: Request) -> Response:
        """Explore, fit, measure, and put to use what is better; in the background.

        Its runs cost money and count towards budgets and rates. A key also needs
        `runs:create` and `workers:direct`. 409: the pool is being trained.
        """
        asked, principal = self.read(TrainingInput), self.principal
        snapshot = pool_snapshot(principal.team_id, asked.get("pool") or None)
        suite = access_suite(team_id=principal.team_id, name=asked["suite"])
        training = training_start(
            pool=access_pool(principal.team_id, snapshot.id),
            suite_version=access_version(suite, asked.get("suite_version")),
            values=asked.get("settings", {}),
            actor=principal.actor,
            principal=principal,
        )
        return Response(TrainingOutput(training).data, status=202)


class OneTraining(RestView):
    """One training."""

    tag = TAG
    rights = {"GET": READ_LEARNING}

    @operation(
        "training_get",
        "Read how far a training is",
        answer=TrainingOutput,
        example=TRAINING,
    )
    def get(self, request: Request, training_id: uuid.UUID) -> Response:
        """Return a training."""
        training = access_training(self.principal.team_id, training_id)
        return Response(TrainingOutput(training).data)


class TrainingCancel(RestView):
    """Cancels a training."""

    tag = TAG
    rights = {"POST": MANAGE_EVALUATIONS}

    @operation(
        "training_cancel",
        "Cancel a training",
        answer=TrainingOutput,
        example={**TRAINING, "state": "cancelling"},
    )
    def post(self, request: Request, training_id: uuid.UUID) -> Response:
        """Begin nothing further and stop what runs. One that ended stays."""
        team_id = self.principal.team_id
        training = access_training(team_id, training_id)
        training_cancel(training=training, actor=self.principal.actor)
        return Response(TrainingOutput(access_training(team_id, training_id)).data)


class PlannerVersions(RestView):
    """The versions of a pool's light planner."""

    tag = TAG
    rights = {"GET": READ_LEARNING}

    @operation(
        "planner_version_list",
        "List the versions of a light planner",
        page_of=PlannerVersionOutput,
        example=VERSION,
    )
    def get(self, request: Request, pool_id: uuid.UUID) -> Response:
        """Return the kept versions, newest first."""
        pool = access_pool(self.principal.team_id, pool_id)
        return self.listed(planner_versions(pool), PlannerVersionOutput)


class PlannerVersionView(RestView):
    """One version of a pool's light planner."""

    tag = TAG
    rights = {"GET": READ_LEARNING}

    @operation(
        "planner_version_get",
        "Read a version of a light planner",
        answer=PlannerVersionOutput,
        example=VERSION,
    )
    def get(self, request: Request, pool_id: uuid.UUID, number: int) -> Response:
        """Return what a version was fitted on, and how it did on held-out tasks."""
        pool = access_pool(self.principal.team_id, pool_id)
        return Response(PlannerVersionOutput(planner_version(pool, number)).data)


class PlannerUse(RestView):
    """Which version of its light planner a pool uses."""

    tag = TAG
    rights = {"GET": READ_LEARNING, "PUT": MANAGE_POOLS, "DELETE": MANAGE_POOLS}

    @operation(
        "planner_use_get",
        "Read which light planner a pool uses",
        answer=PlannerUseOutput,
        example=IN_USE,
    )
    def get(self, request: Request, pool_id: uuid.UUID) -> Response:
        """Return the version in use, and who plans each tier."""
        pool = access_pool(self.principal.team_id, pool_id)
        return Response(PlannerUseOutput(pool).data)

    @operation(
        "planner_use",
        "Let tiers plan with a version of the light planner",
        body=PlannerUseInput,
        answer=PlannerUseOutput,
        errors=(404, 409),
        sent=USE,
        example=IN_USE,
    )
    def put(self, request: Request, pool_id: uuid.UUID) -> Response:
        """Put a version to use, from the next run on; any earlier one in the same way.

        409: `with_conductor`, and the pool has no conductor.
        """
        asked = self.read(PlannerUseInput)
        pool = planner_use(
            pool=access_pool(self.principal.team_id, pool_id),
            number=asked["version"],
            tiers=sorted(asked["tiers"]),
            actor=self.principal.actor,
            reason=asked.get("reason", ""),
            with_conductor=asked.get("with_conductor", False),
        )
        return Response(PlannerUseOutput(pool).data)

    @operation("planner_retire", "Let a pool plan without its light planner")
    def delete(self, request: Request, pool_id: uuid.UUID) -> Response:
        """Return its tiers to the conductor, or to the fallback worker."""
        pool = access_pool(self.principal.team_id, pool_id)
        planner_retire(pool=pool, actor=self.principal.actor)
        return Response(status=204)
