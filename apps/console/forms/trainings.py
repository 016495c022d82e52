"""The forms of trainings, and of putting a light planner's version to use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar
from uuid import UUID

from django import forms
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from apps.console.forms.base import ConsoleForm
from apps.console.forms.nested_forms import (
    amount_checked,
    answer_worth,
    dollars,
    whole_number,
)
from apps.core.money import micros_of_usd
from apps.evaluation.models import Suite
from apps.evaluation.reports.statistics import tasks_to_find
from apps.pools.models import TierName
from apps.training.trainings.settings import TrainingPlan

DEFAULTS = TrainingPlan()
BETTER_HELP = _(
    "It is better if it is more accurate than the best of the others beyond chance, or "
    "costs half or less and is not less accurate by more than the margin."
)
POINTS_FOUND = (10, 20)
TASKS_HELP = format_lazy(
    _(
        "A difference of {small} points takes about {many} tasks to be found, one of "
        "{large} points about {few}."
    ),
    small=POINTS_FOUND[0],
    large=POINTS_FOUND[1],
    many=tasks_to_find(POINTS_FOUND[0] / 100),
    few=tasks_to_find(POINTS_FOUND[1] / 100),
)


class TrainingForm(ConsoleForm):
    """A training of one pool."""

    folded: ClassVar[tuple[str, ...]] = (
        "embeddings",
        "margin_percent",
        "answer_worth_usd",
        "parallel_runs",
        "seed",
    )
    error_names: ClassVar[dict[str, str]] = {
        "max_cost_micros": "max_cost_usd",
        "answer_worth_micros": "answer_worth_usd",
    }

    suite = forms.ChoiceField(
        label=_("Suite"),
        help_text=_(
            "Its training tasks are explored; its held-out tasks are kept for "
            "the comparison."
        ),
    )
    explore_runs = whole_number(
        _("Runs of random plans"),
        required=True,
        hint=_(
            "Each takes about 2.5 calls. With fewer than 500 runs in all, a planner "
            "seldom beats a simple rule."
        ),
    )
    near_best_runs = whole_number(
        _("Second round (checks the first)"),
        required=True,
        hint=_("Runs of plans that the first fit took for nearly the best."),
    )
    held_out_tasks = whole_number(
        _("Tasks in the comparison"), required=True, hint=TASKS_HELP
    )
    max_cost_usd = dollars(
        _("Cost limit (US dollars)"), hint=_("For all runs together. Empty: no limit.")
    )
    tiers = forms.MultipleChoiceField(
        label=_("Let it plan at once if it is better"),
        required=False,
        choices=TierName.choices,
        widget=forms.CheckboxSelectMultiple,
        help_text=BETTER_HELP,
    )
    embeddings = forms.ChoiceField(
        label=_("Embeddings"),
        required=False,
        help_text=_(
            "Whose vectors tell kinds of prompts apart. All logged prompts are "
            "sent to it, and later the prompt of each request, before its plan."
        ),
    )
    margin_percent = forms.IntegerField(
        label=_("Margin in percentage points"), min_value=0, max_value=50
    )
    answer_worth_usd = answer_worth(
        _("Empty: as much as 25 answers of the most expensive worker cost today.")
    )
    parallel_runs = whole_number(_("Runs at the same time"), required=True)
    seed = forms.IntegerField(
        label=_("Seed"), min_value=0, help_text=_("Draws tasks and plans.")
    )

    def __init__(
        self,
        *args: Any,
        suites: Sequence[Suite],
        tiers: Sequence[str],
        embedders: Sequence[str] = (),
        **kwargs: Any,
    ) -> None:
        """Offer these suites, tiers and embedding workers."""
        super().__init__(*args, **kwargs)
        if "embeddings" in self.fields and not embedders:
            del self.fields["embeddings"]
        elif "embeddings" in self.fields:
            named = [(name, name) for name in embedders]
            self._choices("embeddings", [("", _("None: parts of words")), *named])
        self._choices("suite", [(str(each.id), each.name) for each in suites])
        self._choices("tiers", [(n, TierName(n).label) for n in tiers])
        for name, value in DEFAULTS.values().items():
            if name in self.fields and name != "tiers":
                self.fields[name].initial = value

    @property
    def suite_id(self) -> UUID:
        """Return the suite that was chosen."""
        return UUID(self.cleaned_data["suite"])

    def values(self) -> Mapping[str, Any]:
        """Return the settings of the training."""
        usual = DEFAULTS.values()
        given = {n: v for n, v in self.cleaned_data.items() if n in usual}
        most = self.cleaned_data["max_cost_usd"]
        worth = self.cleaned_data["answer_worth_usd"]
        return {
            **given,
            "max_cost_micros": micros_of_usd(most) if most else None,
            "answer_worth_micros": micros_of_usd(worth) if worth else None,
        }

    def clean_max_cost_usd(self) -> str:
        """Refuse what is no amount."""
        return amount_checked(self.cleaned_data["max_cost_usd"])

    def clean_answer_worth_usd(self) -> str:
        """Refuse what is no amount."""
        return amount_checked(self.cleaned_data["answer_worth_usd"])

    def _choices(self, name: str, choices: Sequence[tuple[str, Any]]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)
        field.choices = choices


class ProbeForm(TrainingForm):
    """The training that takes a worker in which the light planner does not know.

    Kinds of prompts are found as for the version in use.
    """

    embeddings = None  # type: ignore[assignment]
    answer_worth_usd = answer_worth(_("Empty: as much as to the version in use."))
    explore_runs = whole_number(
        _("Probes of its roles"),
        required=True,
        hint=_("It answers alone, with a plan in sight, checks and plans, in turn."),
    )
    near_best_runs = whole_number(
        _("Runs of plans with it"),
        required=True,
        hint=_("What looks promising is tried again, after a first fit."),
    )

    def __init__(self, *args: Any, newcomer: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._newcomer = newcomer
        usual = TrainingPlan(newcomer=newcomer).values()
        for name in ("explore_runs", "near_best_runs"):
            self.fields[name].initial = usual[name]

    def values(self) -> Mapping[str, Any]:
        """Return the settings of the training."""
        return {**super().values(), "newcomer": self._newcomer}


class SiteDefaultForm(TrainingForm):
    """The comparison of the site's default: nothing is explored for it."""

    suite = forms.ChoiceField(
        label=_("Suite"), help_text=_("Its held-out tasks are for the comparison.")
    )
    explore_runs = near_best_runs = embeddings = None  # type: ignore[assignment]

    def values(self) -> Mapping[str, Any]:
        """Return the settings of the training."""
        return {**super().values(), "from_profiles": True}


class VersionUseForm(ConsoleForm):
    """Puts a version to use; a reason is needed if the gate speaks against it."""

    field_order = ("tiers", "tier", "reason")
    reason = forms.CharField(
        label=_("Reason"),
        max_length=500,
        error_messages={"required": _("Say why it is to be used all the same.")},
    )

    def __init__(
        self, *args: Any, gate: Mapping[str, Any] | None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        reason = self.fields["reason"]
        if gate is None:
            reason.help_text = _("The version was not measured: why is it to be used?")
        elif not gate["is_better"]:
            reason.help_text = _("The version is not better: why is it to be used?")
        else:
            reason.required = False


class PlannerUseForm(VersionUseForm):
    """Which tiers a version is to plan."""

    tiers = forms.MultipleChoiceField(
        label=_("Tiers that are to plan with it"),
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": _("Choose at least one tier.")},
    )

    def __init__(self, *args: Any, tiers: Sequence[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["tiers"]
        assert isinstance(field, forms.MultipleChoiceField)
        field.choices = [(name, TierName(name).label) for name in tiers]
