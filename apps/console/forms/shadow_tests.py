"""What people send to start a shadow test."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any, ClassVar
from uuid import UUID

from django import forms
from django.utils import timezone
from django.utils.translation import gettext_lazy
from django.utils.translation import gettext_lazy as _

from apps.console.forms.candidates import (
    DATA_CLASS_CHOICES,
    PROMOTABLE,
    CandidateForm,
    worker_names,
)
from apps.console.forms.numbers import dollars
from apps.core.money import MICROS
from apps.evaluation.candidate_settings import MAX_DAYS
from apps.governance.models import Rating
from apps.pools.types import PoolSnapshot
from apps.runs.models import RunState, Source

FROM_NOW = "now"
BEGIN = (
    (FROM_NOW, _("From now on")),
    ("1", _("Recorded runs of the last day")),
    ("7", _("Recorded runs of the last 7 days")),
    ("30", _("Recorded runs of the last 30 days")),
)
ANY = ("", _("Any"))


class ShadowTestForm(CandidateForm):
    """Which runs are mirrored, and to what."""

    begin = forms.ChoiceField(label=_("Which runs"), choices=BEGIN)
    percent = forms.IntegerField(
        label=_("Share of the runs in percent"),
        min_value=1,
        max_value=100,
        initial=100,
        help_text=_("The ids of the runs decide."),
    )
    days = forms.IntegerField(
        label=_("Number of days"),
        min_value=1,
        max_value=MAX_DAYS,
        initial=7,
        required=False,
        help_text=_("How long runs from now on are mirrored."),
    )
    max_runs = forms.IntegerField(
        label=_("Maximum number of runs"),
        min_value=1,
        max_value=10_000,
        initial=100,
    )
    max_cost = dollars(_("Cost limit (US dollars)"), required=False)
    grader = forms.ChoiceField(
        label=_("Grader"),
        required=False,
        help_text=_(
            "Says which answer is better where the final answers differ. Must be "
            "in the candidate's pool."
        ),
    )
    source = forms.ChoiceField(
        label=_("Comes from"),
        required=False,
        choices=[
            ANY,
            *(
                (each.value, gettext_lazy(str(each.label)))
                for each in (Source.PLAYGROUND, Source.API)
            ),
        ],
    )
    key = forms.ChoiceField(label=_("API key"), required=False)
    member = forms.ChoiceField(label=_("Member"), required=False)
    words = forms.CharField(
        label=_("Words in the title"),
        required=False,
        max_length=200,
        help_text=_("The title is the beginning of the prompt."),
    )
    state = forms.ChoiceField(
        label=_("Ended as"),
        required=False,
        choices=[
            ANY,
            *(
                (each.value, gettext_lazy(str(each.label)))
                for each in (RunState.COMPLETED, RunState.FAILED)
            ),
        ],
    )
    cost_from = dollars(_("Cost from, in US dollars"), required=False)
    cost_to = dollars(_("Cost up to, in US dollars"), required=False)
    feedback = forms.ChoiceField(
        label=_("Rated"),
        required=False,
        choices=[ANY, (Rating.UP.value, _("Good")), (Rating.DOWN.value, _("Bad"))],
        help_text=_("By anybody. Only recorded runs have it."),
    )
    data_class = forms.ChoiceField(
        label=_("Data class"),
        required=False,
        choices=[ANY, *DATA_CLASS_CHOICES],
        help_text=_("As the policy found it. Of a team without rules no run has one."),
    )
    error_names: ClassVar[dict[str, str]] = {
        **CandidateForm.error_names,
        "max_cost_micros": "max_cost",
        "since": "begin",
    }
    folded: ClassVar[tuple[str, ...]] = (
        "source",
        "key",
        "member",
        "words",
        "state",
        "cost_from",
        "cost_to",
        "feedback",
        "data_class",
    )

    def __init__(
        self,
        *args: Any,
        pools: Mapping[str, PoolSnapshot],
        members: Iterable[tuple[UUID, str]] = (),
        keys: Iterable[tuple[UUID, str]] = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, pools=pools, **kwargs)
        original, candidate = self.fields["original"], self.fields["candidate"]
        original.label = _("Runs of")
        original.help_text = _("Callers go on getting the answers of this tier.")
        aside = _("Answers the same requests in the background; no caller notices.")
        candidate.help_text = f"{aside} {PROMOTABLE}"
        self.fields["max_cost"].help_text = _(
            "No run of the candidate begins that could exceed it. Every worker needs a "
            "price then. Empty: the budgets of the team are the limit."
        )
        for name, known in (("member", members), ("key", keys)):
            self.offer(name, [ANY, *((str(each), label) for each, label in known)])
        graders = [(name, name) for name in worker_names(pools)]
        self.offer("grader", [("", _("None")), *graders])

    def values(self) -> dict[str, Any]:
        """Return the settings of the test."""
        given = self.cleaned_data
        cost = given["max_cost"]
        found = {
            **self.candidate_values(),
            "percent": given["percent"],
            "days": given["days"],
            "max_runs": given["max_runs"],
            "max_cost_micros": cost and int(cost * MICROS),
            "grader": given["grader"] or None,
            "sources": (given["source"],) if given["source"] else None,
            "filters": _filters(given) or None,
        }
        if given["begin"] != FROM_NOW:
            days = int(given["begin"])
            since = timezone.now() - timedelta(days=days)
            found |= {"since": since.isoformat(), "days": days}
        return {name: value for name, value in found.items() if value is not None}


def _filters(given: Mapping[str, Any]) -> dict[str, Any]:
    cost_from, cost_to = given["cost_from"], given["cost_to"]
    found = {
        "api_key_id": given["key"],
        "user_id": given["member"],
        "query": given["words"],
        "state": given["state"],
        "min_cost_micros": cost_from and int(cost_from * MICROS),
        "max_cost_micros": cost_to and int(cost_to * MICROS),
        "feedback": given["feedback"],
        "data_classes": [given["data_class"]] if given["data_class"] else None,
    }
    return {name: value for name, value in found.items() if value}
