"""Shape of what people send: a prompt with its settings, the filters of the list."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django import forms
from django.conf import settings
from django.utils import timezone

from apps.core.data_classes import DATA_CLASSES
from apps.playground.choices import PoolChoice, direct_models
from apps.pools.models import TierName
from apps.runs.models import NOT_BY_CALLERS, RunState, Source
from apps.runs.types import RunFilters
from apps.web.formats import size

BY_CALLERS = "callers"
PERIODS = {
    "hour": ("Last hour", timedelta(hours=1)),
    "day": ("Last 24 hours", timedelta(days=1)),
    "week": ("Last 7 days", timedelta(days=7)),
    "month": ("Last 30 days", timedelta(days=30)),
}


PERIOD_CHOICES = [
    ("", "Any time"),
    *((key, word) for key, (word, _) in PERIODS.items()),
]


class RunForm(forms.Form):
    """A prompt, and who shall work on it."""

    prompt = forms.CharField(
        strip=False, error_messages={"required": "Write a prompt."}
    )
    tier = forms.ChoiceField(choices=TierName.choices, required=False)
    pool = forms.ChoiceField(required=False)
    worker = forms.ChoiceField(required=False)
    data_class = forms.ChoiceField(
        choices=[("", ""), *((name, name) for name in DATA_CLASSES)], required=False
    )

    def __init__(self, data: Any, pools: Sequence[PoolChoice]) -> None:
        super().__init__(data)
        self._pools = list(pools)
        names = [pool.name for pool in pools]
        self.fields["pool"] = forms.ChoiceField(
            choices=[(name, name) for name in names], required=False
        )
        self.fields["worker"] = _worker_field(pools, required=False)

    def clean_prompt(self) -> str:
        """Refuse blank prompts and ones longer than the site allows."""
        prompt: str = self.cleaned_data["prompt"].replace("\r\n", "\n")
        if not prompt.strip():
            raise forms.ValidationError("Write a prompt.")
        length, limit = len(prompt.encode()), settings.MAX_PROMPT_BYTES
        if length > limit:
            found = size(length, rounds_up=True)
            raise forms.ValidationError(
                f"The prompt is too long: {found} (limit {size(limit)})."
            )
        return prompt

    @property
    def model(self) -> str:
        """Return the chosen model in the words of the API."""
        data = self.cleaned_data
        if data.get("worker"):
            return str(data["worker"])
        tier = data.get("tier") or TierName.ULTRA.value
        chosen = [pool for pool in self._pools if pool.name == data.get("pool")]
        return chosen[0].model(tier) if chosen else f"conductor-{tier}"

    @property
    def fault(self) -> tuple[str, str]:
        """Return the first field at fault and why."""
        return _first_fault(self)


class CompareForm(forms.Form):
    """Which worker shall be asked the same as a run was."""

    worker = forms.ChoiceField()

    def __init__(self, data: Any, pools: Sequence[PoolChoice]) -> None:
        super().__init__(data)
        self.fields["worker"] = _worker_field(pools, required=True)

    @property
    def fault(self) -> tuple[str, str]:
        """Return the field at fault and why."""
        return _first_fault(self)


def _worker_field(pools: Sequence[PoolChoice], *, required: bool) -> forms.ChoiceField:
    """Return a choice of one worker, by the model name that asks it directly."""
    return forms.ChoiceField(
        choices=[(model, model) for model in direct_models(pools)],
        required=required,
        error_messages={
            "required": "Choose a worker.",
            "invalid_choice": "This team's pools have no worker “%(value)s”.",
        },
    )


def _first_fault(form: forms.Form) -> tuple[str, str]:
    name, errors = next(iter(form.errors.items()))
    return name, str(errors[0])


def _day_of(text: str) -> date | None:
    """Return the day a text names; None if it names none of the last centuries."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day if date(1970, 1, 2) < day < date(9000, 1, 1) else None


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def _sources(chosen: str) -> tuple[str, ...]:
    """Return the sources of a choice; empty: all."""
    if chosen == BY_CALLERS:
        return tuple(each for each in Source.values if each not in NOT_BY_CALLERS)
    return (chosen,) if chosen else ()


class RunFilterForm(forms.Form):
    """The filters of the list of runs; all live in the address."""

    q = forms.CharField(required=False, max_length=200)
    state = forms.ChoiceField(
        choices=[("", "Any state"), *RunState.choices], required=False
    )
    model = forms.CharField(required=False, max_length=200)
    source = forms.ChoiceField(
        choices=[
            ("", "Any source"),
            (BY_CALLERS, "People and API clients"),
            *Source.choices,
        ],
        required=False,
    )
    who = forms.CharField(required=False, max_length=200)
    period = forms.ChoiceField(choices=PERIOD_CHOICES, required=False)
    """A day, as `2030-01-31`, is offered if it is in the address."""

    def __init__(self, data: Any, models: Sequence[str]) -> None:
        super().__init__(data)
        self._models = models
        self._day = _day_of(data.get("period", ""))
        if self._day is not None:
            period = self.fields["period"]
            assert isinstance(period, forms.ChoiceField)
            label = f"{self._day:%-d %b %Y} (UTC)"
            period.choices = [*PERIOD_CHOICES, (self._day.isoformat(), label)]

    @property
    def model_options(self) -> list[str]:
        """Return the models to choose from; the chosen one even if it is old."""
        return sorted({*self._models, self.cleaned_data.get("model", "")} - {""})

    @property
    def is_active(self) -> bool:
        """Say whether any filter is set."""
        return any(self.cleaned_data.values())

    @property
    def has_other_filters(self) -> bool:
        """Say whether any filter is set beside the search."""
        return any(value for name, value in self.cleaned_data.items() if name != "q")

    @property
    def is_search(self) -> bool:
        """Say whether something is looked for in the newest runs only."""
        return any(
            self.cleaned_data.get(name) for name in ("q", "model", "source", "who")
        )

    @property
    def filters(self) -> RunFilters:
        """Return the filters; one that makes no sense is ignored."""
        data = self.cleaned_data
        period = PERIODS.get(data.get("period", ""))
        begin = _midnight(self._day) if self._day else None
        return RunFilters(
            state=data.get("state", ""),
            model=data.get("model", ""),
            actor=data.get("who", ""),
            query=data.get("q", ""),
            sources=_sources(data.get("source", "")),
            since=timezone.now() - period[1] if period else begin,
            until=begin + timedelta(days=1) if begin else None,
        )
