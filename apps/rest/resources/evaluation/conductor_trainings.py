"""Trainings of conductors, the versions that came of them, and which one plans."""

from __future__ import annotations

import uuid
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.rights import MANAGE_EVALUATIONS, MANAGE_POOLS, READ_LEARNING
from apps.audit.models import JobState
from apps.evaluation.selectors import access_suite, access_version
from apps.pools.selectors import access_pool, pool_snapshot
from apps.rest.fields import Input, Output, TextField, Time, Whole
from apps.rest.resources.evaluation.trainings import GATE
from apps.rest.schema import operation
from apps.rest.views import RestView
from apps.training.conductor.models import (
    ConductorOutcome,
    ConductorStage,
    ConductorTraining,
    ConductorVersion,
)
from apps.training.selectors import (
    access_conductor_training,
    access_conductor_version,
    conductor_training_cost,
    conductor_training_list,
    conductor_version_list,
)
from apps.training.services import (
    conductor_training_cancel,
    conductor_training_start,
    conductor_version_delete,
    conductor_version_publish,
    conductor_version_use,
)

TAG = "Learning"
SETTINGS = {"base_model": "Qwen/Qwen2.5-7B-Instruct", "method": "lora", "tier": "ultra"}
POINT = {
    "stage": "grpo",
    "step": 40,
    "reward": 0.84,
    "entropy": 0.31,
    "length": 96.0,
    "validity": 0.99,
    "accuracy": 0.7,
    "steps": 2.9,
    "cost_micros": 18_300,
}
PROGRESS = {
    **POINT,
    "of": 200,
    "left_s": 5_400,
    "failed": 1,
    "workers": {"sums": {"a": 0.6, "b": 0.4}},
}
TRAINING: dict[str, Any] = {
    "id": "0199c0de-0000-7000-8000-000000000065",
    "pool": "default",
    "suite": "basics",
    "suite_version": 1,
    "planner_version": 2,
    "settings": SETTINGS,
    "stage": "grpo",
    "state": "running",
    "error": "",
    "progress": PROGRESS,
    "curve": [POINT],
    "conductor_version": None,
    "cost_micros": 18_300,
    "gate_id": None,
    "created_at": "2026-11-23T15:53:16.000000Z",
    "finished_at": None,
}
VERSION: dict[str, Any] = {
    "number": 3,
    "pool": "default",
    "is_adapter": True,
    "weights_digest": "5e" * 32,
    "size_bytes": 161_533_192,
    "trained_on": {
        "base_model": "Qwen/Qwen2.5-7B-Instruct",
        "method": "lora",
        "pool": "default",
        "workers": ["a", "b"],
        "planner_version": 2,
        "suite": "basics",
        "suite_version": 1,
        "suite_digest": "aa" * 32,
        "data_digest": "2c" * 32,
        "settings": SETTINGS,
        "summary": {"grpo": POINT},
        "cost_micros": 18_300,
        "rounds": 1,
    },
    "gate": GATE,
    "conductor_id": "0199c0de-0000-7000-8000-000000000012",
    "served_name": "conductor-3",
    "created_by": "Alice",
    "created_at": "2026-11-23T15:53:16.000000Z",
    "published_at": "2026-11-24T08:00:00.000000Z",
}
PUBLISH: dict[str, Any] = {"base_url": "https://vllm.example.com/v1"}
USE: dict[str, Any] = {"tier": "ultra"}
IN_USE: dict[str, Any] = {
    "pool": "default",
    "pool_version": 12,
    "conductor": "trained-3",
    "tier": "ultra",
}


class ConductorTrainingInput(Input):
    """A pool, a suite, and what differs from the usual training."""

    pool = TextField(max_length=64, required=False, help_text="Default: the team's.")
    suite = TextField(max_length=80, help_text="Name of a suite.")
    suite_version = Whole(min_value=1, required=False, help_text="Default: the newest.")
    settings = serializers.DictField(
        required=False,
        help_text="base_model, method, planner_number, sub_pools, sft_steps, "
        "grpo_iterations, grpo_questions, grpo_group, recursion_iterations, "
        "max_cost_micros and others. "
        "docs/training.md describes them.",
    )


class ConductorTrainingOutput(Output):
    """A training of a conductor and how far it is."""

    id = serializers.UUIDField()
    pool = serializers.CharField(source="pool.name")
    suite = serializers.CharField(source="suite_version.suite.name")
    suite_version = serializers.IntegerField(source="suite_version.number")
    planner_version = serializers.IntegerField(
        source="planner_number", help_text="Of the light planner that it learns from."
    )
    settings = serializers.DictField()
    stage = serializers.ChoiceField(choices=ConductorStage.choices)
    state = serializers.SerializerMethodField()
    error = serializers.CharField(help_text="Why it ended early. Empty: no fault.")
    progress = serializers.DictField(
        help_text="Where the stage is: step, of, left_s; loss of examples, or reward, "
        "entropy, validity, accuracy, steps and workers (by family) of its own plans, "
        "and kept, the share of replies that keep an answer, of second rounds."
    )
    curve = serializers.ListField(
        child=serializers.DictField(), help_text="Such points, in order."
    )
    conductor_version = serializers.SerializerMethodField()
    cost_micros = serializers.SerializerMethodField()
    gate_id = serializers.UUIDField(allow_null=True, help_text="An evaluation.")
    created_at = Time()
    finished_at = Time(allow_null=True)

    def get_state(self, training: ConductorTraining) -> str:
        """Return running, cancelling, or how it ended: used, better, not_better,
        cancelled, budget, collapsed or failed.
        """
        if training.state == JobState.DONE:
            return str(ConductorOutcome(training.outcome))
        return "cancelling" if training.is_cancelled else "running"

    def get_conductor_version(self, training: ConductorTraining) -> int | None:
        """Return the number of the version that came of it; null: none so far."""
        version = getattr(training, "version", None)
        return None if version is None else int(version.number)

    def get_cost_micros(self, training: ConductorTraining) -> int:
        """Return what its runs cost so far, in micro-dollars."""
        return conductor_training_cost(training)


class ConductorVersionOutput(Output):
    """Weights that a training made."""

    number = serializers.IntegerField()
    pool = serializers.SerializerMethodField()
    is_adapter = serializers.BooleanField(
        help_text="True: a LoRA adapter, served on top of its base model."
    )
    weights_digest = serializers.CharField(
        source="digest", help_text="SHA-256 over its files."
    )
    size_bytes = serializers.IntegerField()
    trained_on = serializers.DictField(help_text="Its model card.")
    gate = serializers.DictField(
        allow_null=True,
        help_text="How it did on held-out tasks. Null: it was not measured.",
    )
    conductor_id = serializers.UUIDField(
        allow_null=True, help_text="The conductor that it is. Null: not published."
    )
    served_name = serializers.CharField()
    created_by = serializers.CharField()
    created_at = Time()
    published_at = Time(allow_null=True)

    def get_pool(self, version: ConductorVersion) -> str | None:
        """Return the name of the pool that it was trained for; null: it is gone."""
        return None if version.pool is None else version.pool.name


class ConductorPublishInput(Input):
    """Where a version is served."""

    base_url = TextField(max_length=500, help_text="Of the server, with `/v1`.")
    served_name = TextField(
        max_length=200,
        required=False,
        help_text="What the server calls it. Default: conductor-NUMBER.",
    )
    credential_id = serializers.UUIDField(
        required=False, allow_null=True, help_text="The key that the server wants."
    )
    max_output_tokens = Whole(min_value=16, max_value=8_192, required=False)


class ConductorUseInput(Input):
    """Which tier plans with a version."""

    tier = TextField(
        max_length=8,
        required=False,
        help_text="mini or ultra. Default: the one that it was trained for.",
    )
    reason = TextField(
        max_length=500,
        required=False,
        help_text="Needed if the version is not better; it is recorded.",
    )


class ConductorUseOutput(Output):
    """The pool that plans with a version from now on."""

    pool = serializers.CharField()
    pool_version = serializers.IntegerField(help_text="The new version of the pool.")
    conductor = serializers.CharField()
    tier = serializers.CharField()


class ConductorTrainings(RestView):
    """The trainings of the team's conductors."""

    tag = TAG
    rights = {"GET": READ_LEARNING, "POST": MANAGE_EVALUATIONS}

    @operation(
        "conductor_training_list",
        "List trainings of conductors",
        page_of=ConductorTrainingOutput,
        example=TRAINING,
    )
    def get(self, request: Request) -> Response:
        """Return the trainings, newest first."""
        rows = conductor_training_list(self.principal.team_id)
        return self.listed(rows, ConductorTrainingOutput)

    @operation(
        "conductor_training_start",
        "Train a conductor for a pool",
        body=ConductorTrainingInput,
        answer=ConductorTrainingOutput,
        status=202,
        errors=(404, 409),
        sent={"suite": "basics", "settings": SETTINGS},
        example=TRAINING,
    )
    def post(self, request: Request) -> Response:
        """Learn from the light planner's plans, then from own ones; in the background.

        Its runs cost money and count towards budgets and rates. A key also needs
        `runs:create` and `workers:direct`. 409: a conductor is being trained for the
        pool, the pool has no light planner, or the site has no environment that trains.
        """
        asked, principal = self.read(ConductorTrainingInput), self.principal
        snapshot = pool_snapshot(principal.team_id, asked.get("pool") or None)
        suite = access_suite(team_id=principal.team_id, name=asked["suite"])
        training = conductor_training_start(
            pool=access_pool(principal.team_id, snapshot.id),
            suite_version=access_version(suite, asked.get("suite_version")),
            values=asked.get("settings", {}),
            actor=principal.actor,
            principal=principal,
        )
        return Response(ConductorTrainingOutput(training).data, status=202)


class OneConductorTraining(RestView):
    """One training of a conductor."""

    tag = TAG
    rights = {"GET": READ_LEARNING}

    @operation(
        "conductor_training_get",
        "Read how far the training of a conductor is",
        answer=ConductorTrainingOutput,
        example=TRAINING,
    )
    def get(self, request: Request, conductor_training_id: uuid.UUID) -> Response:
        """Return a training."""
        training = access_conductor_training(
            self.principal.team_id, conductor_training_id
        )
        return Response(ConductorTrainingOutput(training).data)


class ConductorTrainingCancel(RestView):
    """Cancels the training of a conductor."""

    tag = TAG
    rights = {"POST": MANAGE_EVALUATIONS}

    @operation(
        "conductor_training_cancel",
        "Cancel the training of a conductor",
        answer=ConductorTrainingOutput,
        example={**TRAINING, "state": "cancelling"},
    )
    def post(self, request: Request, conductor_training_id: uuid.UUID) -> Response:
        """Begin nothing further and stop what runs. One that ended stays."""
        team_id = self.principal.team_id
        training = access_conductor_training(team_id, conductor_training_id)
        conductor_training_cancel(training=training, actor=self.principal.actor)
        found = access_conductor_training(team_id, conductor_training_id)
        return Response(ConductorTrainingOutput(found).data)


class ConductorVersions(RestView):
    """The versions of the team's trained conductors."""

    tag = TAG
    rights = {"GET": READ_LEARNING}

    @operation(
        "conductor_version_list",
        "List trained conductors",
        page_of=ConductorVersionOutput,
        example=VERSION,
    )
    def get(self, request: Request) -> Response:
        """Return the versions, newest first."""
        rows = conductor_version_list(self.principal.team_id)
        return self.listed(rows, ConductorVersionOutput)


class OneConductorVersion(RestView):
    """One version of a trained conductor."""

    tag = TAG
    rights = {"GET": READ_LEARNING, "DELETE": MANAGE_POOLS}

    @operation(
        "conductor_version_get",
        "Read a trained conductor",
        answer=ConductorVersionOutput,
        example=VERSION,
    )
    def get(self, request: Request, number: int) -> Response:
        """Return what a version was trained on, and how it did."""
        version = access_conductor_version(self.principal.team_id, number)
        return Response(ConductorVersionOutput(version).data)

    @operation(
        "conductor_version_delete", "Delete a trained conductor", errors=(404, 409)
    )
    def delete(self, request: Request, number: int) -> Response:
        """Delete a version with its weights. 409: a pool plans with it."""
        conductor_version_delete(
            version=access_conductor_version(self.principal.team_id, number),
            actor=self.principal.actor,
        )
        return Response(status=204)


class ConductorPublish(RestView):
    """Makes a version a conductor of the team."""

    tag = TAG
    rights = {"PUT": MANAGE_POOLS}

    @operation(
        "conductor_publish",
        "Publish a trained conductor",
        body=ConductorPublishInput,
        answer=ConductorVersionOutput,
        errors=(404, 409),
        sent=PUBLISH,
        example=VERSION,
    )
    def put(self, request: Request, number: int) -> Response:
        """Say where a version is served. No tier plans with it yet.

        If its training waits for that, the comparison on held-out tasks begins.
        """
        team_id = self.principal.team_id
        conductor_version_publish(
            version=access_conductor_version(team_id, number),
            values=self.read(ConductorPublishInput),
            actor=self.principal.actor,
            within=self.principal.key,
        )
        found = access_conductor_version(team_id, number)
        return Response(ConductorVersionOutput(found).data)


class ConductorUse(RestView):
    """Lets a tier plan with a version."""

    tag = TAG
    rights = {"PUT": MANAGE_POOLS}

    @operation(
        "conductor_use",
        "Let a tier plan with a trained conductor",
        body=ConductorUseInput,
        answer=ConductorUseOutput,
        errors=(404, 409),
        sent=USE,
        example=IN_USE,
    )
    def put(self, request: Request, number: int) -> Response:
        """Put a version to use, from the next run on; any earlier one in the same way.

        409: it was not published.
        """
        asked = self.read(ConductorUseInput)
        version = access_conductor_version(self.principal.team_id, number)
        pool = conductor_version_use(
            version=version,
            actor=self.principal.actor,
            tier=asked.get("tier") or None,
            reason=asked.get("reason", ""),
        )
        shown = {
            "pool": pool.name,
            "pool_version": pool.version,
            "conductor": version.conductor.name if version.conductor else "",
            "tier": asked.get("tier") or version.trained_on["settings"]["tier"],
        }
        return Response(ConductorUseOutput(shown).data)
