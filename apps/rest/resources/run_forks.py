"""Runs that repeat a recorded plan: as it is, or with one step changed."""

from __future__ import annotations

import uuid

from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.rights import READ_RUNS, RUN
from apps.core.errors import InvalidInput
from apps.rest.fields import Input, TextField, Whole
from apps.rest.resources.runs import EXAMPLE, TAG, RunOutput, run_started
from apps.rest.schema import operation
from apps.rest.throttles import pass_run
from apps.rest.views import RestView
from apps.runs.forks import StepEdit
from apps.runs.models import Source
from apps.runs.selectors import access_run, run_view
from apps.runs.services import run_fork

MAX_TEXT = 200_000
"""Characters."""


class ForkInput(Input):
    """What changes in the plan; nothing: it is run as it is."""

    step = Whole(
        required=False, min_value=0, help_text="Index in the plan. Left out: no change."
    )
    round = Whole(
        required=False, min_value=0, help_text="Default: the last one with a plan."
    )
    subtask = TextField(required=False, max_length=MAX_TEXT)
    worker = TextField(
        required=False, max_length=100, help_text="Name of a worker of the pool."
    )
    answer = TextField(
        required=False,
        max_length=MAX_TEXT,
        help_text="In place of the step's answer; the step is not run then.",
    )


class RunFork(RestView):
    """Repeats the plan of a run."""

    tag = TAG
    starts_runs = True
    rights = {"POST": RUN}

    @operation(
        "run_fork",
        "Replay or fork a run",
        body=ForkInput,
        answer=RunOutput,
        status=201,
        errors=(400, 422),
        sent={"step": 1, "worker": "b"},
        example={**EXAMPLE, "state": "running", "finished_at": None},
    )
    def post(self, request: Request, run_id: uuid.UUID) -> Response:
        """Run the recorded plan again, of the pool as it is now.

        With `step`, that step is changed: it and the steps that depend on it are run,
        and the others keep their answers, which are not paid for again.
        """
        asked = self.read(ForkInput)
        principal = self.principal
        run = access_run(team_id=principal.team_id, run_id=run_id)
        principal.require(READ_RUNS)
        if "step" not in asked and asked:
            raise InvalidInput("step: say which step changes", param="step")
        edit = StepEdit(**asked) if asked else None
        admission = pass_run(self, run.model, run_view(run).prompt)
        new_id = run_fork(
            run, principal, admission, edit=edit, source=Source.REST.value
        )
        return run_started(self, new_id)
