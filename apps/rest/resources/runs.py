"""Runs: started, listed, read with their steps and entries, cancelled, run again."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.urls import reverse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.principal import Principal
from apps.accounts.rights import READ_RUNS, RUN
from apps.attachments.selectors import attachments_own
from apps.budgets.rate_limits import Admission
from apps.conversations.services import NextTurn, Prompt, prompt_prepare
from apps.core.data_classes import DATA_CLASSES
from apps.core.money import micros_of_usd
from apps.engine.limits import MAX_TIME_S
from apps.engine.ports import CallParams
from apps.pools.worker_figures.profiles import FAMILY_LENGTH
from apps.rest.fields import Dollars, Flag, Id, Input, Number, TextField, Whole
from apps.rest.pagination import PageQuery, page_by_id, page_by_place
from apps.rest.resources.presets.calls import preset_filled_in
from apps.rest.resources.presets.shapes import PresetCallInput
from apps.rest.resources.run_lists.run_filters import (
    GAPS_HEADER,
    RunFilterQuery,
    run_filters,
)
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
from apps.runs.label_types import (
    METADATA_NAME_LENGTH,
    METADATA_VALUE_LENGTH,
    MOST_METADATA,
)
from apps.runs.models import Source
from apps.runs.planning.families import MAX_FAMILIES, family_read
from apps.runs.selectors import (
    SORTED,
    RunSort,
    access_run,
    run_estimate,
    run_search,
    run_view,
    runs_sorted,
    with_labels,
    with_waits,
)
from apps.runs.services import (
    run_cancel,
    run_rerun,
    run_start_blocking,
)
from apps.runs.types import PresetUse, RunOrder, RunRestrictions

TAG = "Runs"
MAX_STOPS = 4
REQUIRED = "This field is required."
MAX_WORKERS = 100
EXAMPLE: dict[str, Any] = {
    "id": "0199c0de-0000-7000-8000-000000000001",
    "state": "completed",
    "source": "rest",
    "model": "conductor-ultra",
    "tier": "ultra",
    "family": "primes",
    "preset_id": None,
    "pool_name": "house",
    "pool_version": 3,
    "tags": ["checked"],
    "metadata": {"ticket": "4711"},
    "title": "Is 2027 a prime number? Check it twice.",
    "actor": {"type": "api_key", "id": "0199…", "name": "Build server"},
    "created_at": "2026-11-21T15:53:16.000000Z",
    "finished_at": "2026-11-21T15:53:21.000000Z",
    "planner": "language_model",
    "missing_plan": None,
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
    max_time_s = Whole(
        min_value=1, max_value=MAX_TIME_S, required=False, help_text="Seconds."
    )
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


class PromptInput(EstimateInput):
    """A prompt, and how it shall be answered."""

    conductor = NarrowingInput(required=False)
    attachments = serializers.ListField(
        child=Id(),
        required=False,
        max_length=settings.MAX_ATTACHMENTS,
        help_text="Ids of files and images that you have uploaded.",
    )
    max_tokens = Whole(required=False, min_value=1, max_value=10_000_000)
    temperature = Number(required=False, min_value=0, max_value=2)
    top_p = Number(required=False, min_value=0, max_value=1)
    seed = Whole(required=False)
    metadata = serializers.DictField(
        child=TextField(
            max_length=METADATA_VALUE_LENGTH, allow_blank=True, trim_whitespace=False
        ),
        required=False,
        help_text=f"Up to {MOST_METADATA} pairs to find the run by, with names of at "
        f"most {METADATA_NAME_LENGTH} characters. Erased with its texts.",
    )
    stop = serializers.ListField(
        child=TextField(max_length=200, trim_whitespace=False),
        required=False,
        max_length=MAX_STOPS,
    )

    def validate_metadata(self, value: dict[str, str]) -> dict[str, str]:
        """Refuse too many pairs and bad names. Raises: ValidationError."""
        names = [n for n in value if not 0 < len(n) <= METADATA_NAME_LENGTH]
        if len(value) > MOST_METADATA or names or any("\0" in name for name in value):
            raise serializers.ValidationError(
                f"expected at most {MOST_METADATA} pairs, whose names have 1 to "
                f"{METADATA_NAME_LENGTH} characters"
            )
        return value


class PresetPromptInput(PromptInput):
    """A prompt or a preset that makes one, and how it shall be answered."""

    model = TextField(
        max_length=200,
        required=False,
        help_text="As for an estimate. Default: what the preset names.",
    )
    prompt = TextField(
        required=False,
        trim_whitespace=False,
        help_text="What is to be done. Not with a preset.",
    )
    preset = PresetCallInput(
        required=False,
        help_text="Makes the prompt. Its settings count where the request says "
        "nothing else.",
    )

    needed_alone: tuple[str, ...] = ("model", "prompt")
    """Required without a preset."""

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Require a prompt or a preset. Raises: ValidationError."""
        needed = () if "preset" in attrs else self.needed_alone
        missing = {name: [REQUIRED] for name in needed if name not in attrs}
        if "preset" in attrs and "prompt" in attrs:
            missing["prompt"] = ["a preset makes the prompt; send one of the two"]
        if missing:
            raise serializers.ValidationError(missing)
        return attrs


class RunInput(PresetPromptInput):
    """A run to start."""

    system = TextField(
        required=False,
        allow_blank=True,
        trim_whitespace=False,
        help_text="System prompt. Empty: none.",
    )
    background = Flag(
        default=False,
        help_text="Leave the run to the site's worker processes, if it has some: where "
        "they are busy it waits for its turn.",
    )


class RunQuery(PageQuery, RunFilterQuery):
    """Which runs, in which order, and which page of them."""

    sort = serializers.ChoiceField(
        choices=[*RunSort.values, *(f"-{name}" for name in RunSort.values)],
        required=False,
        help_text="The highest figure first, with `-` before it the lowest: of the "
        f"newest {SORTED:,} runs that the filters leave. Without it: newest first.",
    )


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
        sort = asked.pop("sort", "")
        filters = run_filters(asked)
        search = run_search(team_id=self.principal.team_id, filters=filters)
        shown = with_waits(self.principal.team_id, search.runs)
        if sort:
            by = RunSort(sort.removeprefix("-"))
            shown = runs_sorted(shown, by, ascending=sort.startswith("-"))
            page = page_by_place(shown, cursor=cursor, limit=limit)
        else:
            page = page_by_id(shown, cursor=cursor, limit=limit)
        with_labels(self.principal.team_id, page.data)
        answer = self.paged(page, RunOutput)
        if search.gaps:
            answer[GAPS_HEADER] = ", ".join(search.gaps)
        return answer

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
        With `preset`, the prompt is made of the variables of a preset. To wait for the
        answer, or to stream it, use the OpenAI-compatible `/v1`.
        """
        values = self.read(RunInput)
        detached = values.pop("background")
        preset = preset_filled_in(self.principal, values)
        asked = prompt_prepare(prompt_sent(self.principal, values))
        admission = pass_run(self, values["model"], asked.prompt)
        order = run_order(self.principal, admission, asked, values, preset)
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
            "usual_ms": 4200,
            "late_ms": 9100,
            "typical_usd": "0.0064",
            "most_usd": "0.43",
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


def prompt_sent(principal: Principal, values: dict[str, Any]) -> Prompt:
    """Return the prompt of a checked input, whose values for it are taken.

    Raises: InvalidInput for an attachment that the caller does not have.
    """
    ids = values.pop("attachments", [])
    return Prompt(
        values.pop("prompt"),
        values.pop("system", None),
        tuple(
            attachments_own(
                principal.team_id, principal.actor, ids, param="attachments"
            )
        ),
    )


def run_order(
    principal: Principal,
    admission: Admission,
    asked: NextTurn,
    values: dict[str, Any],
    preset: PresetUse | None = None,
) -> RunOrder:
    """Return the order of a checked input, all of whose values are taken."""
    restrictions = values.pop("conductor", {})
    family = family_read(restrictions.pop("family", None), param="conductor.family")
    return RunOrder(
        **ordered_by(principal, admission),
        prompt=asked.prompt,
        messages=asked.messages,
        attachments=asked.attachments,
        model=values.pop("model"),
        metadata=values.pop("metadata", {}),
        source=Source.REST.value,
        params=CallParams(**{**values, "stop": tuple(values.get("stop", ()))}),
        is_watched=False,
        restrictions=_restrictions(**restrictions),
        family=family,
        preset=preset,
    )


def _restrictions(
    workers: Sequence[str] = (), max_cost_usd: str | None = None, **more: Any
) -> RunRestrictions:
    micros = None if max_cost_usd is None else micros_of_usd(max_cost_usd)
    return RunRestrictions(workers=tuple(workers), max_cost_micros=micros, **more)
