"""What answers say of runs: a row of the list, a run with its steps, an estimate."""

from __future__ import annotations

from typing import Any

import orjson
from django.conf import settings
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.planners.light.sources import FeatureSort, ModelSource
from apps.rest.fields import DollarsOut, Output, Time
from apps.runs.label_types import RunLabels
from apps.runs.missing_plan import MissingPlan, missing_plan_of
from apps.runs.models import Run, RunState, Source
from apps.runs.records.run_view import RunView
from apps.runs.selectors import with_labels


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
    tier = serializers.CharField(
        help_text="`mini`, `ultra` or `direct`: what `model` asks for."
    )
    family = serializers.CharField(help_text="Of tasks. Empty: none was named.")
    preset_id = serializers.UUIDField(
        allow_null=True, help_text="Of the preset that made the prompt. Null: none."
    )
    pool_name = serializers.CharField()
    pool_version = serializers.IntegerField()
    title = serializers.CharField(help_text="How the prompt begins.")
    tags = serializers.SerializerMethodField(
        help_text="What people and programs put on it, like `metadata` erased with its "
        "texts."
    )
    metadata = serializers.SerializerMethodField(help_text="As the request had it.")
    actor = RunActorOutput(source="*")
    created_at = Time()
    finished_at = Time(allow_null=True)
    planner = serializers.CharField()
    missing_plan = serializers.SerializerMethodField(
        help_text="Why it was answered without a plan, although its tier plans. "
        "`no_usable_plan`: the conductor gave none that could be used. "
        "`tier_does_not_plan`: the ultra tier has no conductor, or is set to use no "
        "plan. Null: it has a plan, or one worker was asked on purpose.",
    )
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
    waits_for = serializers.ChoiceField(
        choices=["approval"],
        allow_null=True,
        help_text="`approval`: its plan waits until people have approved it. Null: it "
        "is at work, or has ended.",
    )
    error = serializers.SerializerMethodField()
    url = serializers.SerializerMethodField(help_text="Its page.")

    @extend_schema_field(
        serializers.ChoiceField(choices=[*MissingPlan], allow_null=True)
    )
    def get_missing_plan(self, run: Run) -> str | None:
        """Return why the plan of its tier is missing, if it is."""
        return missing_plan_of(run)

    @extend_schema_field(serializers.ListField(child=serializers.CharField()))
    def get_tags(self, run: Run) -> list[str]:
        """Return the tags of the run."""
        return list(_labels(run).tags)

    @extend_schema_field(serializers.DictField(child=serializers.CharField()))
    def get_metadata(self, run: Run) -> dict[str, str]:
        """Return the metadata of the run."""
        return dict(_labels(run).metadata)

    @extend_schema_field(RunErrorOutput(allow_null=True))
    def get_error(self, run: Run) -> dict[str, Any] | None:
        """Return the error of a run that has one."""
        return RunErrorOutput(run).data if run.error_code else None

    def get_url(self, run: Run) -> str:
        """Return the address of the run's page."""
        return f"{settings.CONDUCTOR_URL}/runs/{run.id}/"


def _labels(run: Run) -> RunLabels:
    """Return the labels of a run; those of a list are read before, all at once."""
    if run.labels is None:
        with_labels(run.team_id, [run])
    return run.labels or RunLabels()


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
    plans_rest = serializers.BooleanField(
        help_text="True: its worker plans the rest, which is the next round."
    )

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


MODEL_SOURCES = [(source.value, source.value) for source in ModelSource]


class PlannedStepOutput(Output):
    """A step of a plan that the light planner looked at."""

    role = serializers.CharField(help_text="plan, solve, check or combine.")
    worker = serializers.CharField()


class PlanOptionOutput(Output):
    """A plan that the light planner looked at, and what it expects of it."""

    steps = PlannedStepOutput(many=True)
    success = serializers.FloatField(help_text="How often its answer is right: 0 to 1.")
    low = serializers.FloatField(
        allow_null=True,
        default=None,
        help_text="Lower bound of the interval of 95 % of `success`, by how much was "
        "seen. null: the run is from before there were intervals.",
    )
    high = serializers.FloatField(
        allow_null=True, default=None, help_text="The upper bound."
    )
    cost_usd = DollarsOut(source="cost_micros")


class ExploredOutput(Output):
    """Which plan was tried in place of the best one, to learn from it."""

    rank = serializers.IntegerField(help_text="Of the plan; the best one has 1.")
    of = serializers.IntegerField(help_text="Plans that could be tried, best included.")
    best = PlanOptionOutput()


class PromptFeaturesOutput(Output):
    """By what the light planner found the kind of a prompt."""

    by = serializers.ChoiceField(
        choices=[(sort.value, sort.value) for sort in FeatureSort],
        help_text="embedding: the vector of the prompt. ngrams: parts of its words.",
    )
    worker = serializers.CharField(help_text="The embedding worker of the version.")
    missing = serializers.CharField(
        help_text="Why there is no vector. Empty: there is one."
    )


class PlanExplanationOutput(Output):
    """Why the light planner chose the plan of a round."""

    round = serializers.IntegerField()
    version = serializers.IntegerField(help_text="Of the pool's light planner.")
    kind = serializers.IntegerField(help_text="Of the prompt, among those it knows.")
    kind_words = serializers.CharField(help_text="Words that mark this kind.")
    is_familiar = serializers.BooleanField(
        help_text="False: the prompt is unlike everything that was learned from, so "
        "the worker that is best over all kinds answers alone."
    )
    source = serializers.ChoiceField(  # type: ignore[assignment]
        choices=MODEL_SOURCES,
        help_text="site_default: of the workers it knows their profiles alone.",
    )
    answer_worth_usd = DollarsOut(
        source="answer_worth_micros",
        allow_null=True,
        help_text="What a right answer is worth. null: cost did not count, or the run "
        "is from before answers had a worth.",
    )
    chosen = PlanOptionOutput()
    runner_up = PlanOptionOutput(allow_null=True)
    cheaper = PlanOptionOutput(
        allow_null=True, help_text="The best plan at half the cost or less."
    )
    alone = PlanOptionOutput(many=True, help_text="Each worker on its own.")
    explored = ExploredOutput(
        allow_null=True, help_text="null: the best plan was used, as usual."
    )
    features = PromptFeaturesOutput(
        allow_null=True, help_text="null: the version was fitted without embeddings."
    )


class PresetUseOutput(Output):
    """The preset that a prompt was made with."""

    id = serializers.UUIDField(source="preset_id")
    version = serializers.IntegerField()
    is_edited = serializers.BooleanField(
        help_text="True: the text was changed by hand after the variables had been "
        "filled in."
    )


class StickinessOutput(Output):
    """Whether a plan kept the workers of the turn before, and why."""

    round = serializers.IntegerField()
    outcome = serializers.ChoiceField(choices=("kept", "changed"))
    reason = serializers.CharField(help_text="With the figures it rests on.")


class RunDetailOutput(RunOutput):
    """A run with what was asked, what came of it, and every step."""

    prompt = serializers.CharField(help_text="Empty if it has been erased.")
    answer = serializers.CharField(
        allow_null=True,
        help_text="Null while it runs, and if it was stopped. Of a failed run the best "
        "so far; of one that was refused without any text, why.",
    )
    preset = PresetUseOutput(
        allow_null=True, help_text="What the prompt was made with. Null: no preset."
    )
    steps = StepOutput(many=True)
    policy_decisions = PolicyDecisionOutput(
        many=True, help_text="Empty: the team had no rules."
    )
    approvals = RunApprovalOutput(
        many=True, help_text="Plans that people had to approve, in order."
    )
    explanations = PlanExplanationOutput(
        many=True, help_text="Of the light planner's plans; empty: it made none."
    )

    stickiness = StickinessOutput(
        many=True,
        help_text="Of plans that followed another turn of a conversation; empty: no "
        "turn before was known.",
    )

    def to_representation(self, shown: tuple[Run, RunView]) -> dict[str, Any]:
        """Return the row's fields and what the entries add to them."""
        run, view = shown
        return {
            **RunOutput(run).data,
            "waits_for": view.waits_for,
            "prompt": view.prompt,
            "answer": view.answer,
            "preset": PresetUseOutput(view.preset).data if view.preset else None,
            "steps": StepOutput(view.steps, many=True).data,
            "policy_decisions": PolicyDecisionOutput(
                view.policy_decisions, many=True
            ).data,
            "approvals": RunApprovalOutput(view.approvals, many=True).data,
            "explanations": PlanExplanationOutput(_explanations(view), many=True).data,
            "stickiness": [
                {
                    "round": round_.index,
                    "outcome": round_.stickiness,
                    "reason": round_.stickiness_reason,
                }
                for round_ in view.rounds
                if round_.stickiness
            ],
        }


OLDER = {
    "answer_worth_micros": None,
    "explored": None,
    "features": None,
    "is_familiar": True,
    "source": "fitted",
}
"""What explanations did not say before it could be otherwise."""


def _explanations(view: RunView) -> list[dict[str, Any]]:
    return [
        {"round": round_.index, **OLDER, **orjson.loads(round_.explanation)}
        for round_ in view.rounds
        if round_.explanation
    ]


class EstimateOutput(Output):
    """What a run may cost."""

    low_usd = DollarsOut(source="low_micros")
    high_usd = DollarsOut(source="high_micros")
    basis = serializers.ChoiceField(
        choices=["past runs", "prices", "unknown"],
        help_text="unknown: a price is missing, and both figures are 0.",
    )
    sample = serializers.IntegerField(help_text="Past runs it rests on.")
    usual_ms = serializers.IntegerField(
        allow_null=True,
        help_text="How long half of the latest completed runs took at most. "
        "Null: too few.",
    )
    late_ms = serializers.IntegerField(
        allow_null=True, help_text="How long nine in ten took at most."
    )
    typical_usd = DollarsOut(
        source="typical_micros", help_text="Most runs cost less than that."
    )
    most_usd = DollarsOut(
        source="most_micros",
        allow_null=True,
        help_text="With every step at its longest. Null: a price is missing.",
    )


class CancelOutput(Output):
    """What cancelling did."""

    is_stopped = serializers.BooleanField(help_text="False: the run had ended already.")
