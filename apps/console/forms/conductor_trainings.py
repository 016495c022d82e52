"""The forms of conductors' trainings, and of publishing and using what they made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar
from uuid import UUID

from django import forms
from django.conf import settings
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from apps.console.forms.base import ConsoleForm
from apps.console.forms.nested_forms import amount_checked, dollars, whole_number
from apps.console.forms.trainings import BETTER_HELP, TASKS_HELP, VersionUseForm
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
        label=_("Suite"),
        help_text=_(
            "It learns on the training tasks; the held-out tasks are kept for "
            "the comparison."
        ),
    )
    base_model = forms.ChoiceField(
        label=_("Base model"),
        help_text=_(
            "The operator lists them in CONDUCTOR_BASE_MODELS. The tiny one is for "
            "trials on a CPU."
        ),
    )
    planner_number = forms.ChoiceField(
        label=_("Light planner to learn from"),
        required=False,
        help_text=_("Its near-best plans are the examples."),
    )
    tier = forms.ChoiceField(
        label=_("Tier"),
        help_text=_("The tier that it is meant for and measured in."),
        choices=(),
    )
    sft_steps = forms.IntegerField(
        label=_("Training steps on examples"),
        min_value=0,
        help_text=_("0: it does not learn from examples."),
    )
    grpo_iterations = forms.IntegerField(
        label=_("Training rounds on its own plans"),
        min_value=0,
        help_text=_(
            "Each round runs its plans on the pool, which costs money. "
            "0: it does not learn from its own plans."
        ),
    )
    held_out_tasks = whole_number(
        _("Tasks in the comparison"), required=True, hint=TASKS_HELP
    )
    max_cost_usd = dollars(
        _("Cost limit (US dollars)"), hint=_("For all runs together. Empty: no limit.")
    )
    uses_if_better = forms.BooleanField(
        label=_("Let it plan at once if it is better"),
        required=False,
        help_text=BETTER_HELP,
    )
    method = forms.ChoiceField(
        label=_("What is trained"),
        choices=[("full", _("All weights")), ("lora", _("A LoRA adapter"))],
    )
    sub_pools = forms.ChoiceField(
        label=_("Workers in its examples"),
        choices=[
            ("random", _("Some, at random and in random order")),
            ("fixed", _("All, in the order of the pool")),
        ],
    )
    training_tasks = whole_number(_("Maximum number of training tasks"), required=True)
    examples_per_task = whole_number(_("Examples per task"), required=True)
    sft_batch = whole_number(_("Examples per step"), required=True)
    grpo_questions = whole_number(_("Tasks per round"), required=True)
    grpo_group = whole_number(_("Plans per task"), required=True)
    recursion_iterations = forms.IntegerField(
        label=_("Training rounds on planning once more"),
        min_value=0,
        help_text=_(
            "Half of their prompts show a plan that ran, with its answer. "
            "0: none, and it plans once per run."
        ),
    )
    recursion_prompts = whole_number(
        _("Maximum number of prompts for that"), required=True
    )
    reward_cost_percent = forms.IntegerField(
        label=_("What cost takes from a reward, in percentage points"),
        min_value=0,
        max_value=50,
        help_text=_(
            "Per 1,000 tokens of the most expensive worker, if the answer is right. "
            "0: cost does not matter."
        ),
    )
    uses_vllm = forms.BooleanField(
        label=_("Let vLLM sample its plans"),
        required=False,
        help_text=_("On the trainer's GPU; many times faster."),
    )
    margin_percent = forms.IntegerField(
        label=_("Margin in percentage points"), min_value=0, max_value=50
    )
    parallel_runs = whole_number(_("Runs at the same time"), required=True)
    seed = forms.IntegerField(
        label=_("Seed"), min_value=0, help_text=_("Draws tasks and workers.")
    )

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
        versions = [
            (str(v.number), gettext("Version %(number)s") % {"number": v.number})
            for v in planners
        ]
        self._choices("suite", [(str(each.id), each.name) for each in suites])
        self._choices("base_model", [*models, (TINY, _("Tiny, with random weights"))])
        self._choices(
            "planner_number", [(NEWEST, _("The one in use, or the newest")), *versions]
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
        return amount_checked(self.cleaned_data["max_cost_usd"])

    def _choices(self, name: str, choices: Sequence[tuple[str, Any]]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)
        field.choices = choices


class ConductorPublishForm(ConsoleForm):
    """Where a version is served."""

    base_url = forms.CharField(
        label=_("Address of its server"),
        max_length=500,
        help_text=_("With /v1, such as http://127.0.0.1:8100/v1."),
    )
    served_name = forms.CharField(
        label=_("Name of the model on the server"), required=False, max_length=200
    )
    credential_id = forms.ChoiceField(label=_("Key"), required=False)

    def __init__(
        self, *args: Any, credentials: Sequence[Credential], **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        keys = [(str(key.id), f"{key.name} ({key.host})") for key in credentials]
        field = self.fields["credential_id"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [(NO_KEY, _("No key")), *keys]

    def values(self) -> Mapping[str, Any]:
        """Return what the service takes."""
        given = self.cleaned_data
        return {
            "base_url": given["base_url"],
            "served_name": given["served_name"] or None,
            "credential_id": given["credential_id"] or None,
        }


class ConductorUseForm(VersionUseForm):
    """Which tier a version is to plan."""

    tier = forms.ChoiceField(label=_("Tier that plans with it"))

    def __init__(self, *args: Any, tiers: Sequence[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["tier"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [(name, TierName(name).label) for name in tiers]
