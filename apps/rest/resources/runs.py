"""Runs: started, listed, read with their steps and entries, cancelled, run again."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.urls import reverse
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.principal import Principal
from apps.accounts.rights import READ_RUNS, RUN
from apps.budgets.rate_limits import Admission
from apps.core.data_classes import DATA_CLASSES
from apps.core.money import micros_of_usd
from apps.engine.ports import CallParams
from apps.rest.fields import (
    Dollars,
    DollarsOut,
    Flag,
    Input,
    Number,
    Output,
    TextField,
    Time,
    Whole,
)
from apps.rest.pagination import PageQuery, page_by_id
from apps.rest.schema import operation
from apps.rest.throttles import pass_run
from apps.rest.views import RestView
from apps.runs.admission import ordered_by
from apps.runs.models import Run, RunState, Source
from apps.runs.records.run_view import RunView
from apps.runs.selectors import SEARCHED, access_run, run_estimate, run_list, run_view
from apps.runs.services import (
    run_cancel,
    run_rerun,
    run_start_blocking,
)
from apps.runs.types import RunFilters, RunOrder, RunRestrictions

TAG = "Runs"
IN_THE_NEWEST = f"Looked for in the newest {SEARCHED:,} of those asked for by time."
MAX_STOPS = 4
MAX_WORKERS = 100
EXAMPLE: dict[str, Any] = {
    "id": "0199c0de-0000-7000-8000-000000000001",
    "state": "completed",
    "source": "rest",
    "model": "conductor-ultra",
    "pool_name": "house",
    "pool_version": 3,
    "title": "Is 2027 a prime number? Check it twice.",
    "actor": {"type": "api_key", "id": "0199…", "name": "Build server"},
    "created_at": "2026-11-21T15:53:16.000000Z",
    "finished_at": "2026-11-21T15:53:21.000000Z",
    "planner": "language_model",
    "steps_total": 3,
    "steps_done": 3,
    "prompt_tokens": 812,
    "completion_tokens": 341,
    "cost_usd": "0.001234",
    "has_unknown_cost": False,
    "latency_ms": 5210,
    "overhead_ms": 4,
    "error": None,
    "url": "http://127.0.0.1:8000/runs/0199c0de-0000-7000-8000-000000000001/",
}
SENT = {"model": "conductor-ultra", "prompt": "Is 2027 a prime number? Check it twice."}


# --- what comes in -------------------------------------------------------------------


class NarrowingInput(Input):
    """What the run may use less of than its pool has; never more."""

    workers = serializers.ListField(
        child=TextField(max_length=64),
        max_length=MAX_WORKERS,
        required=False,
        help_text="Names of those it may use. Empty: all.",
    )
    max_steps = Whole(min_value=1, required=False)
    max_rounds = Whole(min_value=1, required=False)
    max_cost_usd = Dollars(required=False)
    data_class = serializers.ChoiceField(
        choices=DATA_CLASSES,
        required=False,
        help_text="What you say of the prompt; rules of the policy depend on it.",
    )
    approval = serializers.ChoiceField(
        choices=["never"],
        required=False,
        help_text="never: a plan that people must approve is refused at once.",
    )


class EstimateInput(Input):
    """A run that might be started."""

    model = TextField(
        max_length=200,
        help_text="`conductor-mini`, `conductor-ultra`, `<pool>/mini`, `<pool>/ultra`, "
        "`worker/<name>` or `<pool>/worker/<name>`.",
    )
    prompt = TextField(trim_whitespace=False, help_text="What is to be done.")


class RunInput(EstimateInput):
    """A run to start."""

    conductor = NarrowingInput(required=False)
    background = Flag(
        default=False,
        help_text="Leave the run to the site's worker processes, if it has some: where "
        "they are busy it waits for its turn.",
    )
    max_tokens = Whole(required=False, min_value=1, max_value=10_000_000)
    temperature = Number(required=False, min_value=0, max_value=2)
    top_p = Number(required=False, min_value=0, max_value=1)
    seed = Whole(required=False)
    stop = serializers.ListField(
        child=TextField(max_length=200, trim_whitespace=False),
        required=False,
        max_length=MAX_STOPS,
    )


class RunQuery(PageQuery):
    """Which runs, and which page of them."""

    state = serializers.ChoiceField(choices=RunState.choices, required=False)
    model = serializers.CharField(
        required=False, max_length=200, help_text=f"The whole name. {IN_THE_NEWEST}"
    )
    actor = serializers.CharField(
        required=False,
        max_length=200,
        help_text=f"A part of a person's or key's name. {IN_THE_NEWEST}",
    )
    query = serializers.CharField(
        required=False,
        max_length=200,
        help_text=f"A part of the title. {IN_THE_NEWEST}",
    )
    source = serializers.ChoiceField(  # type: ignore[assignment]
        choices=Source.choices, required=False, help_text=IN_THE_NEWEST
    )
    since = serializers.DateTimeField(required=False)
    until = serializers.DateTimeField(required=False)


# --- what goes out -------------------------------------------------------------------


class RunActorOutput(Output):
    """Who asked."""

    type = serializers.CharField(source="actor_type")
    id = serializers.CharField(source="actor_id")
    name = serializers.CharField(source="actor_name")


class RunErrorOutput(Output):
    """Why there is no answer."""

    code = serializers.CharField(source="error_code")
    message = serializers.CharField(
        source="error_message", help_text="Empty if it has been erased."
    )


class RunOutput(Output):
    """A run, as lists show it."""

    id = serializers.UUIDField()
    state = serializers.ChoiceField(choices=RunState.choices)
    source = serializers.ChoiceField(choices=Source.choices)  # type: ignore[assignment]
    model = serializers.CharField()
    pool_name = serializers.CharField()
    pool_version = serializers.IntegerField()
    title = serializers.CharField(help_text="How the prompt begins.")
    actor = RunActorOutput(source="*")
    created_at = Time()
    finished_at = Time(allow_null=True)
    planner = serializers.CharField()
    steps_total = serializers.IntegerField(
        help_text="Steps of all plans, skipped ones left out."
    )
    steps_done = serializers.IntegerField(help_text="Steps that have an answer.")
    prompt_tokens = serializers.IntegerField()
    completion_tokens = serializers.IntegerField()
    cost_usd = DollarsOut(source="cost_micros", help_text="The known part.")
    has_unknown_cost = serializers.BooleanField()
    latency_ms = serializers.IntegerField(allow_null=True)
    overhead_ms = serializers.IntegerField(
        allow_null=True, help_text="Time in which no model was being waited for."
    )
    error = serializers.SerializerMethodField()
    url = serializers.SerializerMethodField(help_text="Its page.")

    @extend_schema_field(RunErrorOutput(allow_null=True))
    def get_error(self, run: Run) -> dict[str, Any] | None:
        """Return the error of a run that has one."""
        return RunErrorOutput(run).data if run.error_code else None

    def get_url(self, run: Run) -> str:
        """Return the address of the run's page."""
        return f"{settings.CONDUCTOR_URL}/runs/{run.id}/"


class StepOutput(Output):
    """A step of a plan. Failed attempts are in its sums."""

    round = serializers.IntegerField()
    index = serializers.IntegerField()
    worker = serializers.CharField()
    subtask = serializers.CharField()
    access = serializers.ListField(
        child=serializers.IntegerField(), help_text="Steps whose answers it reads."
    )
    state = serializers.CharField()
    attempts = serializers.IntegerField()
    prompt_tokens = serializers.IntegerField(source="usage.prompt_tokens")
    completion_tokens = serializers.IntegerField(source="usage.completion_tokens")
    cost_usd = serializers.SerializerMethodField()
    latency_ms = serializers.IntegerField()

    @extend_schema_field(DollarsOut(allow_null=True))
    def get_cost_usd(self, step: Any) -> str | None:
        """Return the cost; None if a part of it is unknown."""
        if step.cost.has_unknown:
            return None
        return DollarsOut().to_representation(step.cost.micros)


class PolicyDecisionOutput(Output):
    """What the policies decided about a run, a plan or a step."""

    stage = serializers.ChoiceField(choices=["run", "plan", "step"])
    round = serializers.IntegerField(allow_null=True)
    step = serializers.IntegerField(allow_null=True)
    outcome = serializers.ChoiceField(
        choices=["allowed", "restricted", "approval", "denied"]
    )
    versions = serializers.DictField(
        child=serializers.IntegerField(), help_text="Of each policy, by its name."
    )
    rules = serializers.ListField(child=serializers.CharField())
    shadow_rules = serializers.ListField(child=serializers.CharField())
    refused_workers = serializers.ListField(child=serializers.CharField())
    reason = serializers.CharField()


class RunApprovalOutput(Output):
    """A plan that people had to approve."""

    round = serializers.IntegerField(source="request.round")
    outcome = serializers.ChoiceField(
        choices=["waiting", "approved", "refused", "expired", "withdrawn"],
        help_text="withdrawn: the run ended before anyone decided.",
    )
    rules = serializers.ListField(child=serializers.CharField(), source="request.rules")
    reason = serializers.CharField(source="request.reason")
    plan_digest = serializers.CharField(source="request.plan_digest")
    requested_at = Time()
    expires_at = serializers.CharField(source="request.expires_at")
    settled_at = Time(allow_null=True)
    approvers = serializers.ListField(child=serializers.CharField())
    is_edited = serializers.BooleanField()


class RunDetailOutput(RunOutput):
    """A run with what was asked, what came of it, and every step."""

    prompt = serializers.CharField(help_text="Empty if it has been erased.")
    answer = serializers.CharField(
        allow_null=True,
        help_text="Null while it runs, and if it was stopped. Of a failed run the best "
        "so far.",
    )
    steps = StepOutput(many=True)
    policy_decisions = PolicyDecisionOutput(
        many=True, help_text="Empty: the team had no rules."
    )
    approvals = RunApprovalOutput(
        many=True, help_text="Plans that people had to approve, in order."
    )

    def to_representation(self, shown: tuple[Run, RunView]) -> dict[str, Any]:
        """Return the row's fields and what the entries add to them."""
        run, view = shown
        return {
            **RunOutput(run).data,
            "prompt": view.prompt,
            "answer": view.answer,
            "steps": StepOutput(view.steps, many=True).data,
            "policy_decisions": PolicyDecisionOutput(
                view.policy_decisions, many=True
            ).data,
            "approvals": RunApprovalOutput(view.approvals, many=True).data,
        }


class EstimateOutput(Output):
    """What a run may cost."""

    low_usd = DollarsOut(source="low_micros")
    high_usd = DollarsOut(source="high_micros")
    basis = serializers.ChoiceField(
        choices=["past runs", "prices", "unknown"],
        help_text="unknown: a price is missing, and both figures are 0.",
    )
    sample = serializers.IntegerField(help_text="Past runs it rests on.")


class CancelOutput(Output):
    """What cancelling did."""

    is_stopped = serializers.BooleanField(help_text="False: the run had ended already.")


# --- operations ----------------------------------------------------------------------


class Runs(RestView):
    """Runs of the team."""

    tag = TAG
    starts_runs = True
    rights = {"GET": READ_RUNS, "POST": RUN}

    @operation(
        "run_list", "List runs", page_of=RunOutput, query=RunQuery, example=EXAMPLE
    )
    def get(self, request: Request) -> Response:
        """Return runs, newest first."""
        asked = self.read_page(RunQuery)
        cursor, limit = asked.pop("cursor"), asked.pop("limit")
        source = asked.pop("source", None)
        filters = RunFilters(**asked, sources=(source,) if source else ())
        runs = run_list(team_id=self.principal.team_id, filters=filters)
        return self.paged(page_by_id(runs, cursor=cursor, limit=limit), RunOutput)

    @operation(
        "run_create",
        "Start a run",
        body=RunInput,
        answer=RunOutput,
        status=201,
        errors=(422,),
        sent=SENT,
        example={**EXAMPLE, "state": "running", "finished_at": None},
    )
    def post(self, request: Request) -> Response:
        """Start a run and return it as soon as it is on record.

        It goes on by itself; read it again at its `Location`, or follow it on its page.
        To wait for the answer, or to stream it, use the OpenAI-compatible `/v1`.
        """
        values = self.read(RunInput)
        admission = pass_run(self, values["model"], values["prompt"])
        detached = values.pop("background")
        order = _order(self.principal, admission, values)
        return run_started(self, run_start_blocking(order, detached=detached))


class OneRun(RestView):
    """One run."""

    tag = TAG
    rights = {"GET": READ_RUNS}

    @operation("run_get", "Read a run", answer=RunDetailOutput)
    def get(self, request: Request, run_id: uuid.UUID) -> Response:
        """Return a run with its prompt, its answer and every step."""
        run = access_run(team_id=self.principal.team_id, run_id=run_id)
        return Response(RunDetailOutput((run, run_view(run))).data)


class RunRerun(RestView):
    """Asking the same again."""

    tag = TAG
    starts_runs = True
    rights = {"POST": RUN}

    @operation(
        "run_rerun",
        "Run again",
        answer=RunOutput,
        status=201,
        errors=(400, 422),
        example={**EXAMPLE, "state": "running", "finished_at": None},
    )
    def post(self, request: Request, run_id: uuid.UUID) -> Response:
        """Ask the same again, of the pool as it is now."""
        principal = self.principal
        run = access_run(team_id=principal.team_id, run_id=run_id)
        principal.require(READ_RUNS)
        admission = pass_run(self, run.model, run_view(run).prompt)
        new_id = run_rerun(run, principal, admission, source=Source.REST.value)
        return run_started(self, new_id)


class RunEstimate(RestView):
    """What a run may cost."""

    tag = TAG
    rights = {"POST": RUN}

    @operation(
        "run_estimate",
        "Estimate a run",
        body=EstimateInput,
        answer=EstimateOutput,
        errors=(422,),
        sent=SENT,
        example={
            "low_usd": "0.0011",
            "high_usd": "0.0064",
            "basis": "past runs",
            "sample": 48,
        },
    )
    def post(self, request: Request) -> Response:
        """Return what a run may cost, before it begins. Nothing is started."""
        estimate = run_estimate(self.principal.team_id, **self.read(EstimateInput))
        return Response(EstimateOutput(estimate).data)


class RunCancel(RestView):
    """Stopping a run."""

    tag = TAG
    rights = {"POST": RUN}

    @operation("run_cancel", "Cancel a run", answer=CancelOutput)
    def post(self, request: Request, run_id: uuid.UUID) -> Response:
        """Stop a run: its calls are closed, and what they used is settled."""
        run = access_run(team_id=self.principal.team_id, run_id=run_id)
        actor = self.principal.actor
        is_stopped = run_cancel(
            run_id=run.id,
            team_id=run.team_id,
            actor=actor,
            reason=f"stopped by {actor.display}",
        )
        return Response({"is_stopped": is_stopped})


def run_started(view: RestView, run_id: uuid.UUID) -> Response:
    """Answer with a run that has just begun."""
    run = access_run(team_id=view.principal.team_id, run_id=run_id)
    return view.created(RunOutput(run).data, reverse("rest:run", args=[run_id]))


def _order(
    principal: Principal, admission: Admission, values: dict[str, Any]
) -> RunOrder:
    restrictions = values.pop("conductor", {})
    return RunOrder(
        **ordered_by(principal, admission),
        prompt=values.pop("prompt"),
        model=values.pop("model"),
        source=Source.REST.value,
        params=CallParams(**{**values, "stop": tuple(values.get("stop", ()))}),
        is_watched=False,
        restrictions=_restrictions(**restrictions),
    )


def _restrictions(
    workers: Sequence[str] = (), max_cost_usd: str | None = None, **more: Any
) -> RunRestrictions:
    micros = None if max_cost_usd is None else micros_of_usd(max_cost_usd)
    return RunRestrictions(workers=tuple(workers), max_cost_micros=micros, **more)
