"""Suites of tasks, and evaluations of systems on them."""

from __future__ import annotations

import base64
import binascii
import uuid
from collections.abc import Mapping
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.rights import MANAGE_EVALUATIONS, READ_EVALUATIONS
from apps.audit.models import JobState
from apps.core.errors import InvalidFields
from apps.evaluation.models import Evaluation, EvaluationOutcome, Suite, SuiteVersion
from apps.evaluation.selectors import (
    access_evaluation,
    access_suite,
    access_version,
    evaluation_list,
    evaluation_progress,
    newest_version,
    suite_list,
)
from apps.evaluation.services import (
    evaluation_cancel,
    evaluation_estimate,
    evaluation_start,
    suite_import,
)
from apps.evaluation.suites.benchmarks import READERS
from apps.evaluation.suites.files import UnreadableSuite, tasks_of, tasks_read
from apps.evaluation.suites.tasks import SuiteTask
from apps.rest.fields import Flag, Input, Output, TextField, Time, Whole
from apps.rest.schema import operation
from apps.rest.views import RestView

TAG = "Evaluations"
SUITE: dict[str, Any] = {
    "id": "0199c0de-0000-7000-8000-000000000041",
    "name": "basics",
    "version": 1,
    "tasks": 120,
    "sha256": "0" * 64,
    "is_simulated": False,
    "created_at": "2026-11-23T15:53:16.000000Z",
}
TASK = {
    "id": "sum-1",
    "family": "sums",
    "prompt": "What is 17 * 23 + 4?",
    "verifier": {"kind": "numeric", "answer": 395},
}
SETTINGS: dict[str, Any] = {
    "pool": "default",
    "systems": [{"kind": "tier", "tier": "ultra"}, {"kind": "worker", "worker": "a"}],
    "max_tasks": 60,
}
EVALUATION: dict[str, Any] = {
    "id": "0199c0de-0000-7000-8000-000000000042",
    "suite": "basics",
    "suite_version": 1,
    "is_simulated": False,
    "settings": SETTINGS,
    "state": "running",
    "error": "",
    "progress": {
        "total": 120,
        "graded": 31,
        "started": 8,
        "cost_micros": 41_870,
        "left_s": 95,
    },
    "started_by": "Alice",
    "created_at": "2026-11-23T15:53:16.000000Z",
    "started_at": "2026-11-23T15:53:18.000000Z",
    "finished_at": None,
}
MAX_FILE_TEXT = 4_000_000
"""Characters; a request cannot be longer."""
FORMAT = "docs/evaluation.md describes the fields."


class SuiteInput(Input):
    """A new version of a suite."""

    name = TextField(max_length=80, help_text="Of the suite; a new name makes one.")
    tasks = serializers.ListField(
        child=serializers.DictField(),
        allow_empty=False,
        required=False,
        help_text=f"Or a file. {FORMAT}",
    )
    file = TextField(
        required=False,
        max_length=MAX_FILE_TEXT,
        help_text="Instead of tasks: a file of them (JSON Lines, CSV or Parquet), in "
        "base64.",
    )
    file_name = TextField(
        required=False,
        max_length=200,
        help_text="Of the file; its end says the format. Default: JSON Lines, or "
        "Parquet if the file begins so.",
    )
    benchmark = serializers.ChoiceField(
        required=False,
        choices=sorted(READERS),
        help_text="The file is of this public benchmark, in its published format.",
    )
    is_simulated = Flag(
        required=False,
        default=False,
        help_text="The tasks are of the simulated benchmark; reports say so.",
    )


class EvaluationInput(Input):
    """Which systems on which tasks."""

    suite = TextField(max_length=80, help_text="Name.")
    suite_version = Whole(
        required=False, min_value=1, help_text="Default: the newest one."
    )
    settings = serializers.DictField(
        help_text="Pool, systems, tasks and limits. A tier or a worker may name a "
        "`pool_version`. " + FORMAT
    )


class SuiteOutput(Output):
    """A suite, with its newest version."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    version = serializers.IntegerField(source="newest.number")
    tasks = serializers.IntegerField(source="newest.task_count")
    sha256 = serializers.CharField(source="newest.digest", help_text="Of the tasks.")
    is_simulated = serializers.BooleanField()
    created_at = Time(source="newest.created_at")


class EvaluationProgressOutput(Output):
    """How far an evaluation is."""

    total = serializers.IntegerField(help_text="Tasks of all systems; 0: not counted.")
    graded = serializers.IntegerField()
    started = serializers.IntegerField(help_text="Whose runs are in progress.")
    cost_micros = serializers.IntegerField(help_text="Of the graded ones.")
    left_s = serializers.IntegerField(
        allow_null=True,
        help_text="How long the rest takes at the pace so far; null: not known, or it "
        "has ended.",
    )


class EvaluationOutput(Output):
    """An evaluation."""

    id = serializers.UUIDField()
    suite = serializers.CharField(source="version.suite.name")
    suite_version = serializers.IntegerField(source="version.number")
    is_simulated = serializers.BooleanField(
        help_text="Its tasks, or all workers of its pool, are simulated."
    )
    settings = serializers.DictField()
    state = serializers.SerializerMethodField()
    error = serializers.CharField(help_text="Why it ended early. Empty: no fault.")
    progress = serializers.SerializerMethodField()
    started_by = serializers.SerializerMethodField()
    created_at = Time()
    started_at = Time(allow_null=True)
    finished_at = Time(allow_null=True)

    def get_state(self, evaluation: Evaluation) -> str:
        """Return waiting, running, cancelling, or how it ended: completed, cancelled,
        budget (the cost limit was reached) or failed.
        """
        if evaluation.state == JobState.DONE:
            return str(EvaluationOutcome(evaluation.outcome))
        return "cancelling" if evaluation.is_cancelled else str(evaluation.state)

    def get_progress(self, evaluation: Evaluation) -> dict[str, int | None]:
        """Return how far it is: results in all, graded and started ones, cost, and
        the seconds that are left.
        """
        found = evaluation_progress(evaluation)
        return dict(EvaluationProgressOutput(found).data)

    def get_started_by(self, evaluation: Evaluation) -> str:
        """Return the name of the person or key."""
        return str(evaluation.requested_by.get("display", ""))


class EvaluationEstimateOutput(Output):
    """What an evaluation would do."""

    tasks = serializers.IntegerField(help_text="That each system gets.")
    runs = serializers.IntegerField()
    highest_micros = serializers.IntegerField(
        allow_null=True,
        help_text="What all runs may cost at most, retries apart; null: a price is "
        "missing.",
    )
    likely_micros = serializers.IntegerField(
        allow_null=True,
        help_text="What they will probably cost, by earlier results of the same "
        "systems or profiles of workers; null: there are none.",
    )


class Suites(RestView):
    """The suites of the team."""

    tag = TAG
    rights = {"GET": READ_EVALUATIONS, "POST": MANAGE_EVALUATIONS}

    @operation("suite_list", "List suites", page_of=SuiteOutput, example=SUITE)
    def get(self, request: Request) -> Response:
        """Return the suites by name, with their newest versions. No tasks."""
        suites = [with_newest(s) for s in suite_list(self.principal.team_id)]
        return self.listed(suites, SuiteOutput)

    @operation(
        "suite_import",
        "Import tasks as a suite",
        body=SuiteInput,
        answer=SuiteOutput,
        status=201,
        sent={"name": "basics", "tasks": [TASK]},
        example=SUITE,
    )
    def post(self, request: Request) -> Response:
        """Store tasks as the newest version of a suite. Equal ones make no new one."""
        asked = self.read(SuiteInput)
        principal = self.principal
        tasks = _tasks_asked(asked)
        version = suite_import(
            team=principal.team,
            name=asked["name"],
            tasks=tasks,
            actor=principal.actor,
            is_simulated=asked["is_simulated"],
        )
        return Response(SuiteOutput(with_newest(version.suite)).data, status=201)


def _tasks_asked(asked: Mapping[str, Any]) -> tuple[SuiteTask, ...]:
    """Return the tasks of a request, or of the file in it. Raises: InvalidFields."""
    if ("tasks" in asked) == ("file" in asked):
        raise InvalidFields({"tasks": ["either tasks or a file is needed"]})
    if "tasks" in asked:
        if "benchmark" in asked:
            raise InvalidFields({"benchmark": ["it is for files"]})
        return tasks_of(asked["tasks"])
    try:
        content = base64.b64decode(asked["file"], validate=True)
        name = asked.get("file_name", "file.jsonl")
        return tasks_read(content, name, asked.get("benchmark", ""))
    except binascii.Error:
        raise InvalidFields({"file": ["it is not base64"]}) from None
    except UnreadableSuite as exc:
        raise InvalidFields({"file": list(map(str, exc.faults))}) from None


class Evaluations(RestView):
    """The evaluations of the team."""

    tag = TAG
    rights = {"GET": READ_EVALUATIONS, "POST": MANAGE_EVALUATIONS}

    @operation(
        "evaluation_list",
        "List evaluations",
        page_of=EvaluationOutput,
        example=EVALUATION,
    )
    def get(self, request: Request) -> Response:
        """Return the evaluations, newest first."""
        rows = evaluation_list(self.principal.team_id)
        return self.listed(rows, EvaluationOutput)

    @operation(
        "evaluation_start",
        "Start an evaluation",
        body=EvaluationInput,
        answer=EvaluationOutput,
        status=202,
        errors=(404, 409),
        sent={"suite": "basics", "settings": SETTINGS},
        example=EVALUATION,
    )
    def post(self, request: Request) -> Response:
        """Run systems on the tasks of a suite, in the background.

        Its runs cost money and count towards budgets and rates. A key also needs
        `runs:create`, and `workers:direct` for single workers. 409: too many
        evaluations of the team have not ended.
        """
        asked = self.read(EvaluationInput)
        principal = self.principal
        evaluation = evaluation_start(
            version=_version_asked(self, asked),
            values=asked["settings"],
            principal=principal,
            actor=principal.actor,
        )
        return Response(EvaluationOutput(evaluation).data, status=202)


class EvaluationEstimateView(RestView):
    """What an evaluation would do."""

    tag = TAG
    rights = {"POST": MANAGE_EVALUATIONS}

    @operation(
        "evaluation_estimate",
        "Estimate an evaluation",
        body=EvaluationInput,
        answer=EvaluationEstimateOutput,
        errors=(404,),
        sent={"suite": "basics", "settings": SETTINGS},
        example={
            "tasks": 60,
            "runs": 120,
            "highest_micros": 418_700,
            "likely_micros": 51_900,
        },
    )
    def post(self, request: Request) -> Response:
        """Return what an evaluation would do and cost at most. Starts nothing."""
        asked = self.read(EvaluationInput)
        found = evaluation_estimate(
            version=_version_asked(self, asked), values=asked["settings"]
        )
        return Response(EvaluationEstimateOutput(found).data)


class OneEvaluation(RestView):
    """One evaluation."""

    tag = TAG
    rights = {"GET": READ_EVALUATIONS}

    @operation(
        "evaluation_get",
        "Read how far an evaluation is",
        answer=EvaluationOutput,
        example=EVALUATION,
    )
    def get(self, request: Request, evaluation_id: uuid.UUID) -> Response:
        """Return an evaluation."""
        return Response(EvaluationOutput(evaluation_of(self, evaluation_id)).data)


class EvaluationCancel(RestView):
    """Cancels an evaluation."""

    tag = TAG
    rights = {"POST": MANAGE_EVALUATIONS}

    @operation(
        "evaluation_cancel",
        "Cancel an evaluation",
        answer=EvaluationOutput,
        example={**EVALUATION, "state": "cancelling"},
    )
    def post(self, request: Request, evaluation_id: uuid.UUID) -> Response:
        """Begin no further run and stop those in progress. One that has ended stays."""
        evaluation = evaluation_of(self, evaluation_id)
        evaluation_cancel(evaluation=evaluation, actor=self.principal.actor)
        return Response(EvaluationOutput(evaluation_of(self, evaluation_id)).data)


def _version_asked(view: RestView, asked: Mapping[str, Any]) -> SuiteVersion:
    """Return the version of a suite that a request names. Raises: NotFound."""
    suite = access_suite(team_id=view.principal.team_id, name=asked["suite"])
    return access_version(suite, asked.get("suite_version"))


def evaluation_of(view: RestView, evaluation_id: uuid.UUID) -> Evaluation:
    """Return an evaluation of the principal's team. Raises: NotFound."""
    team_id = view.principal.team_id
    return access_evaluation(team_id=team_id, evaluation_id=evaluation_id)


def with_newest(suite: Suite) -> Suite:
    """Return a suite with its newest version. Raises: NotFound if it has none."""
    suite.newest = newest_version(suite)  # type: ignore[attr-defined]
    return suite
