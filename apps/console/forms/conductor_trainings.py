"""The forms of conductors' trainings, and of publishing and using what they made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar
from uuid import UUID

from django import forms
from django.conf import settings

from apps.console.forms.base import ConsoleForm
from apps.console.forms.nested_forms import dollars, whole_number
from apps.core.money import micros_of_usd
from apps.evaluation.models import Suite
from apps.pools.models import Credential, PlannerVersion, TierName
from apps.training.conductor.settings import TINY, ConductorTrainingPlan

DEFAULTS = ConductorTrainingPlan()
NEWEST = ""
NO_KEY = ""


class ConductorTrainingForm(ConsoleForm):
    """A training of a conductor for one pool."""

    folded: ClassVar[tuple[str, ...]] = (
        "method",
        "sub_pools",
        "training_tasks",
        "examples_per_task",
        "sft_batch",
        "grpo_questions",
        "grpo_group",
        "recursion_iterations",
        "recursion_prompts",
        "reward_cost_percent",
        "uses_vllm",
        "margin_percent",
        "parallel_runs",
        "seed",
    )
    error_names: ClassVar[dict[str, str]] = {"max_cost_micros": "max_cost_usd"}

    suite = forms.ChoiceField(
        help_text="It learns on the training tasks; the held-out tasks are kept for "
        "the comparison."
    )
    base_model = forms.ChoiceField(
        label="Model to begin with",
        help_text="The operator lists models in CONDUCTOR_BASE_MODELS. The tiny one "
        "is for trials on a CPU.",
    )
    planner_number = forms.ChoiceField(
        label="Light planner to learn from",
        required=False,
        help_text="Its near-best plans are the examples.",
    )
    tier = forms.ChoiceField(
        help_text="It is measured in this tier, and meant for it.", choices=()
    )
    sft_steps = forms.IntegerField(
        label="Steps of learning from examples",
        min_value=0,
        help_text="0: it does not learn from examples.",
    )
    grpo_iterations = forms.IntegerField(
        label="Rounds of learning from its own plans",
        min_value=0,
        help_text="Each runs its plans on the pool, which costs money. "
        "0: it does not learn from its own plans.",
    )
    held_out_tasks = whole_number("Tasks of the comparison", required=True)
    max_cost_usd = dollars(
        "Cost limit, US dollars", hint="Of all runs together. Empty: no limit."
    )
    uses_if_better = forms.BooleanField(
        label="Let it plan at once, if it is better",
        required=False,
        help_text="Better: by the margin, than all others on the held-out tasks.",
    )
    method = forms.ChoiceField(
        label="What is trained",
        choices=[("full", "All weights"), ("lora", "A LoRA adapter")],
    )
    sub_pools = forms.ChoiceField(
        label="Workers of its examples",
        choices=[
            ("random", "Some by chance, in an order by chance"),
            ("fixed", "All, in the order of the pool"),
        ],
    )
    training_tasks = whole_number("Training tasks at most", required=True)
    examples_per_task = whole_number("Examples for each task", required=True)
    sft_batch = whole_number("Examples of a step", required=True)
    grpo_questions = whole_number("Tasks of a round", required=True)
    grpo_group = whole_number("Plans for each of them", required=True)
    recursion_iterations = forms.IntegerField(
        label="Rounds of learning to plan once more",
        min_value=0,
        help_text="Half of their prompts show a plan that ran, with its answer. "
        "0: none, and it plans once a run.",
    )
    recursion_prompts = whole_number("Prompts of that at most", required=True)
    reward_cost_percent = forms.IntegerField(
        label="What cost takes from a reward, in points of a hundred",
        min_value=0,
        max_value=50,
        help_text="For 1,000 tokens of the dearest worker, if the answer is right. "
        "0: cost does not matter.",
    )
    uses_vllm = forms.BooleanField(
        label="Let vLLM sample its plans",
        required=False,
        help_text="On the trainer's GPU; many times faster.",
    )
    margin_percent = forms.IntegerField(
        label="Margin, in points of a hundred", min_value=0, max_value=50
    )
    parallel_runs = whole_number("Runs at the same time", required=True)
    seed = forms.IntegerField(min_value=0, help_text="Draws tasks and workers.")

    def __init__(
        self,
        *args: Any,
        suites: Sequence[Suite],
        tiers: Sequence[str],
        planners: Sequence[PlannerVersion],
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        models = [(name, name) for name in settings.CONDUCTOR_BASE_MODELS]
        versions = [(str(v.number), f"Version {v.number}") for v in planners]
        self._choices("suite", [(str(each.id), each.name) for each in suites])
        self._choices("base_model", [*models, (TINY, "Tiny, with random weights")])
        self._choices(
            "planner_number", [(NEWEST, "The one in use, or the newest"), *versions]
        )
        self._choices("tier", [(name, TierName(name).label) for name in tiers])
        for name, value in DEFAULTS.values().items():
            if name in self.fields and value is not None:
                self.fields[name].initial = value

    @property
    def suite_id(self) -> UUID:
        """Return the suite that was chosen."""
        return UUID(self.cleaned_data["suite"])

    def values(self) -> Mapping[str, Any]:
        """Return the settings of the training."""
        given = {n: v for n, v in self.cleaned_data.items() if n in DEFAULTS.values()}
        number, most = given["planner_number"], self.cleaned_data["max_cost_usd"]
        return {
            **given,
            "planner_number": int(number) if number else None,
            "max_cost_micros": micros_of_usd(most) if most else None,
        }

    def clean_max_cost_usd(self) -> str:
        """Refuse what is no amount."""
        most: str = self.cleaned_data["max_cost_usd"]
        if most and micros_of_usd(most) is None:
            raise forms.ValidationError("Write an amount, such as 0.50.")
        return most

    def _choices(self, name: str, choices: Sequence[tuple[str, Any]]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)
        field.choices = choices


class ConductorPublishForm(ConsoleForm):
    """Where a version is served."""

    base_url = forms.CharField(
        label="Address of its server",
        max_length=500,
        help_text="With /v1, such as http://127.0.0.1:8100/v1.",
    )
    served_name = forms.CharField(
        label="What the server calls it", required=False, max_length=200
    )
    credential_id = forms.ChoiceField(label="Key", required=False)

    def __init__(
        self, *args: Any, credentials: Sequence[Credential], **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        keys = [(str(key.id), f"{key.name} ({key.host})") for key in credentials]
        field = self.fields["credential_id"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [(NO_KEY, "No key"), *keys]

    def values(self) -> Mapping[str, Any]:
        """Return what the service takes."""
        given = self.cleaned_data
        return {
            "base_url": given["base_url"],
            "served_name": given["served_name"] or None,
            "credential_id": given["credential_id"] or None,
        }


class ConductorUseForm(ConsoleForm):
    """Which tier a version is to plan, and why if the gate speaks against it."""

    tier = forms.ChoiceField(label="Tier that plans with it")
    reason = forms.CharField(
        required=False,
        max_length=500,
        help_text="Needed if it was not measured, or is not better by the margin.",
    )

    def __init__(self, *args: Any, tiers: Sequence[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["tier"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [(name, TierName(name).label) for name in tiers]
