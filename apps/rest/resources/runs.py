"""Runs: started, listed, read with their steps and entries, cancelled, run again."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from django.urls import reverse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.principal import Principal
from apps.accounts.rights import READ_RUNS, RUN
from apps.budgets.rate_limits import Admission
from apps.core.data_classes import DATA_CLASSES
from apps.core.money import micros_of_usd
from apps.engine.ports import CallParams
from apps.insights.types import TIER_WORDS
from apps.pools.worker_figures.profiles import FAMILY_LENGTH
from apps.rest.fields import Dollars, Flag, Input, Number, TextField, Whole
from apps.rest.pagination import PageQuery, page_by_id
from apps.rest.resources.run_outputs import (
    CancelOutput,
    EstimateOutput,
    RunDetailOutput,
    RunOutput,
)
from apps.rest.schema import operation
from apps.rest.throttles import pass_run
from apps.rest.views import RestView
from apps.runs.admission import ordered_by
from apps.runs.models import RunState, Source
from apps.runs.planning.families import MAX_FAMILIES, family_read
from apps.runs.selectors import (
    SEARCHED,
    access_run,
    run_estimate,
    run_list,
    run_view,
    with_waits,
)
from apps.runs.services import (
    run_cancel,
    run_rerun,
    run_start_blocking,
)
from apps.runs.types import ENDED, RunFilters, RunOrder, RunRestrictions
from apps.web.run_addresses import (
    BY_CALLERS,
    NONE,
    fault_of,
    id_of,
    named,
    sources_of,
)

TAG = "Runs"
IN_THE_NEWEST = f"Looked for in the newest {SEARCHED:,} of those asked for by time."
MAX_STOPS = 4
MAX_WORKERS = 100
EXAMPLE: dict[str, Any] = {
    "id": "0199c0de-0000-7000-8000-000000000001",
    "state": "completed",
    "source": "rest",
    "model": "conductor-ultra",
    "tier": "ultra",
    "family": "primes",
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
    "waits_for": None,
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
    family = TextField(
        max_length=FAMILY_LENGTH,
        required=False,
        help_text=f"Of tasks, to compare runs by. Your team has {MAX_FAMILIES}; more "
        "count as `other`.",
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

    state = serializers.ChoiceField(
        choices=[*RunState.choices, (ENDED, "Ended")],
        required=False,
        help_text=f"`{ENDED}`: whatever but running.",
    )
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
        choices=[*Source.choices, (BY_CALLERS, "People and API clients")],
        required=False,
        help_text=f"`{BY_CALLERS}`: not of evaluations or shadow tests. "
        f"{IN_THE_NEWEST}",
    )
    tier = serializers.ChoiceField(choices=list(TIER_WORDS.items()), required=False)
    planner = serializers.CharField(
        required=False, max_length=40, help_text=f"`{NONE}`: no plan was made."
    )
    family = serializers.CharField(
        required=False, max_length=FAMILY_LENGTH, help_text=f"`{NONE}`: without one."
    )
    worker = serializers.CharField(
        required=False,
        max_length=100,
        help_text="One that was called for a step. Looked for in its newest "
        f"{SEARCHED:,} steps.",
    )
    api_key = serializers.CharField(
        required=False,
        max_length=36,
        help_text=f"Its id; `{NONE}`: without a key. {IN_THE_NEWEST}",
    )
    member = serializers.CharField(
        required=False,
        max_length=36,
        help_text=f"The id of a user; `{NONE}`: without one. {IN_THE_NEWEST}",
    )
    plan = serializers.CharField(
        required=False,
        max_length=16,
        help_text="The `shape` of the newest plan, as insights name it; "
        f"`{NONE}`: without a plan. {IN_THE_NEWEST}",
    )
    fault = serializers.CharField(
        required=False,
        max_length=150,
        help_text="Stage, fault and worker as insights name them, such as "
        f"`step:rate_limited:coder` or `run:timeout:`. {IN_THE_NEWEST}",
    )
    since = serializers.DateTimeField(required=False)
    until = serializers.DateTimeField(required=False)

    def validate_api_key(self, value: str) -> str:
        """Refuse what is no id. Raises: ValidationError."""
        return _id_or_none(value)

    def validate_member(self, value: str) -> str:
        """Refuse what is no id. Raises: ValidationError."""
        return _id_or_none(value)

    def validate_fault(self, value: str) -> str:
        """Refuse what names no fault. Raises: ValidationError."""
        if fault_of(value) is None:
            raise serializers.ValidationError(
                "expected a stage (plan, step, loop or run), a fault and a worker, "
                "like 'step:rate_limited:coder'"
            )
        return value


def _id_or_none(value: str) -> str:
    if value != NONE and id_of(value) is None:
        raise serializers.ValidationError(f"expected an id or {NONE!r}")
    return value


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
        runs = run_list(team_id=self.principal.team_id, filters=_filters(asked))
        shown = with_waits(self.principal.team_id, runs)
        return self.paged(page_by_id(shown, cursor=cursor, limit=limit), RunOutput)

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


def _filters(asked: dict[str, Any]) -> RunFilters:
    """Return the filters of a query that has been checked."""
    key, member = asked.pop("api_key", ""), asked.pop("member", "")
    return RunFilters(
        sources=sources_of(asked.pop("source", "")),
        planner=named(asked.pop("planner", "")),
        family=named(asked.pop("family", "")),
        shape=named(asked.pop("plan", "")),
        api_key_id=id_of(key),
        user_id=id_of(member),
        has_key=False if key == NONE else None,
        has_member=False if member == NONE else None,
        fault=fault_of(asked.pop("fault", "")),
        **asked,
    )


def _order(
    principal: Principal, admission: Admission, values: dict[str, Any]
) -> RunOrder:
    restrictions = values.pop("conductor", {})
    family = family_read(restrictions.pop("family", None), param="conductor.family")
    return RunOrder(
        **ordered_by(principal, admission),
        prompt=values.pop("prompt"),
        model=values.pop("model"),
        source=Source.REST.value,
        params=CallParams(**{**values, "stop": tuple(values.get("stop", ()))}),
        is_watched=False,
        restrictions=_restrictions(**restrictions),
        family=family,
    )


def _restrictions(
    workers: Sequence[str] = (), max_cost_usd: str | None = None, **more: Any
) -> RunRestrictions:
    micros = None if max_cost_usd is None else micros_of_usd(max_cost_usd)
    return RunRestrictions(workers=tuple(workers), max_cost_micros=micros, **more)
