"""One suite: what it holds, and the tasks of its versions."""

from __future__ import annotations

import uuid
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.rights import MANAGE_EVALUATIONS, READ_EVALUATIONS
from apps.evaluation.models import StoredTask, Suite
from apps.evaluation.selectors import (
    access_suite_by_id,
    access_version,
    suite_versions,
)
from apps.evaluation.services import suite_delete
from apps.evaluation.suites.reads import task_counts, task_rows
from apps.evaluation.suites.storage import task_read, task_values
from apps.rest.fields import Output, TextField, Time
from apps.rest.pagination import Page, PageQuery, page_by_place
from apps.rest.resources.evaluation.evaluations import (
    FORMAT,
    SUITE,
    TAG,
    TASK,
    SuiteOutput,
    with_newest,
)
from apps.rest.schema import operation
from apps.rest.views import RestView

SUITE_DETAIL: dict[str, Any] = {
    **SUITE,
    "versions": [
        {
            "version": 1,
            "tasks": 120,
            "sha256": "0" * 64,
            "created_by": "Alice",
            "created_at": "2026-11-23T15:53:16.000000Z",
        }
    ],
    "families": [{"family": "sums", "split": "held_out", "tasks": 120}],
}


class SuiteVersionOutput(Output):
    """The tasks of a suite at one time."""

    version = serializers.IntegerField(source="number")
    tasks = serializers.IntegerField(source="task_count")
    sha256 = serializers.CharField(source="digest", help_text="Of the tasks.")
    created_by = serializers.CharField()
    created_at = Time()


class TaskCountOutput(Output):
    """How many tasks there are of one family and split."""

    family = serializers.CharField()
    split = serializers.CharField()
    tasks = serializers.IntegerField()


class SuiteDetailOutput(SuiteOutput):
    """A suite with its versions, newest first."""

    versions = serializers.SerializerMethodField()
    families = serializers.SerializerMethodField(help_text="Of the newest version.")

    def get_versions(self, suite: Suite) -> list[dict[str, Any]]:
        """Return every version."""
        return [SuiteVersionOutput(each).data for each in suite_versions(suite)]

    def get_families(self, suite: Suite) -> list[dict[str, Any]]:
        """Return how many tasks there are of each family and split."""
        counts = task_counts(access_version(suite, None))
        return [TaskCountOutput(each).data for each in counts]


class SuiteTaskQuery(PageQuery):
    """Which tasks of a suite."""

    version = serializers.IntegerField(
        required=False, min_value=1, help_text="Default: the newest one."
    )
    family = TextField(required=False, max_length=60)
    split = serializers.ChoiceField(required=False, choices=["held_out", "training"])


class SuiteTaskOutput(Output):
    """A task, as files have it."""

    id = serializers.CharField()
    family = serializers.CharField()
    split = serializers.CharField()
    prompt = serializers.CharField()
    verifier = serializers.DictField(help_text=FORMAT)


class OneSuite(RestView):
    """One suite."""

    tag = TAG
    rights = {"GET": READ_EVALUATIONS, "DELETE": MANAGE_EVALUATIONS}

    @operation(
        "suite_get",
        "Read what a suite holds",
        answer=SuiteDetailOutput,
        example=SUITE_DETAIL,
    )
    def get(self, request: Request, suite_id: uuid.UUID) -> Response:
        """Return a suite with its versions, and the families of the newest one."""
        team_id = self.principal.team_id
        suite = with_newest(access_suite_by_id(team_id=team_id, suite_id=suite_id))
        return Response(SuiteDetailOutput(suite).data)

    @operation("suite_delete", "Delete a suite", errors=(409,))
    def delete(self, request: Request, suite_id: uuid.UUID) -> Response:
        """Delete a suite with its tasks, its evaluations and their results.

        The runs stay. 409: an evaluation of it has not ended.
        """
        principal = self.principal
        suite = access_suite_by_id(team_id=principal.team_id, suite_id=suite_id)
        suite_delete(suite=suite, actor=principal.actor)
        return Response(status=204)


class SuiteTasks(RestView):
    """The tasks of a suite."""

    tag = TAG
    rights = {"GET": READ_EVALUATIONS}

    @operation(
        "suite_tasks",
        "List the tasks of a suite",
        page_of=SuiteTaskOutput,
        query=SuiteTaskQuery,
        example={**TASK, "split": "held_out"},
    )
    def get(self, request: Request, suite_id: uuid.UUID) -> Response:
        """Return the tasks of a version in their order, with prompts and verifiers."""
        asked = self.read_page(SuiteTaskQuery)
        suite = access_suite_by_id(team_id=self.principal.team_id, suite_id=suite_id)
        version = access_version(suite, asked.get("version"))
        rows = task_rows(
            version, family=asked.get("family", ""), split=asked.get("split", "")
        )
        page: Page[StoredTask] = page_by_place(
            rows, cursor=asked["cursor"], limit=asked["limit"]
        )
        tasks = [task_values(task_read(row)) for row in page.data]
        return self.paged(Page(tasks, page.next_cursor), SuiteTaskOutput)
