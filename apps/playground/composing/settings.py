"""The settings of a prompt: what a person sets, and what the run before it had.

They are kept nowhere but in the run, so a conversation remembers those of its last one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

import orjson
from django import forms
from django.conf import settings
from django.http import QueryDict
from django.utils.translation import gettext, gettext_lazy

from apps.core.data_classes import DATA_CLASSES
from apps.core.money import micros_of_usd, usd_text
from apps.engine.limits import MAX_TIME_S
from apps.engine.messages import system_of
from apps.engine.ports import CallParams
from apps.runs.types import RunRestrictions
from apps.web.formats import duration

MAX_TEMPERATURE = 2
MAX_STEPS = 1_000
"""More than any tier allows."""
NO_DOLLARS = gettext_lazy("Write the cost limit in dollars, for example 0.05.")


@dataclass(frozen=True, slots=True)
class ComposerSettings:
    """Settings as the fields of the composer show them; empty: not set."""

    system: str = ""
    temperature: str = ""
    max_steps: str = ""
    max_cost: str = ""
    """Dollars."""
    max_time_s: str = ""

    @property
    def count(self) -> int:
        """Return how many are set."""
        values = (self.system, self.temperature, self.max_steps)
        return sum(map(bool, (*values, self.max_cost, self.max_time_s)))

    @property
    def lines(self) -> list[str]:
        """Return those that are numbers in words."""
        named = {
            gettext("Temperature"): self.temperature,
            gettext("Max steps"): self.max_steps,
            gettext("Cost limit"): self.max_cost and f"${self.max_cost}",
            gettext("Time limit"): self.max_time_s
            and duration(int(self.max_time_s) * 1_000),
        }
        return [f"{name}: {value}" for name, value in named.items() if value]


def settings_recorded(params: Mapping[str, Any]) -> ComposerSettings:
    """Return the settings in the recorded parameters of a run."""
    narrowing = params.get("narrowing", {})
    micros = narrowing.get("max_cost_micros")
    return ComposerSettings(
        system=system_of(params.get("messages", ())),
        temperature=_text(params.get("temperature")),
        max_steps=_text(narrowing.get("max_steps")),
        max_cost="" if micros is None else usd_text(micros),
        max_time_s=_text(narrowing.get("max_time_s")),
    )


def settings_in(recorded: str) -> ComposerSettings:
    """Do the same from the JSON of a run's first entry; those erased read as none."""
    return settings_recorded(orjson.loads(recorded or "{}"))


class SettingsForm(forms.Form):
    """The settings that come with a prompt. None restricts more than the tier does."""

    system = forms.CharField(strip=False, required=False)
    temperature = forms.FloatField(
        required=False, min_value=0, max_value=MAX_TEMPERATURE
    )
    max_steps = forms.IntegerField(required=False, min_value=1, max_value=MAX_STEPS)
    max_cost = forms.CharField(required=False, max_length=16)
    max_time_s = forms.IntegerField(required=False, min_value=1, max_value=MAX_TIME_S)
    data_class = forms.ChoiceField(
        choices=[("", ""), *((name, name) for name in DATA_CLASSES)], required=False
    )

    def clean(self) -> dict[str, Any]:
        """Read the ids of attachments. Raises: ValidationError."""
        given = cast(QueryDict, self.data).getlist("attachment")
        most = settings.MAX_ATTACHMENTS
        if len(given) > most:
            raise forms.ValidationError(
                gettext("At most {number} files can be attached.").format(number=most)
            )
        try:
            self.cleaned_data["attachments"] = [UUID(each) for each in given]
        except ValueError as exc:
            raise forms.ValidationError(
                gettext("An attachment has no valid id.")
            ) from exc
        return self.cleaned_data

    def clean_system(self) -> str:
        """Return the system prompt with line ends as texts have them."""
        text: str = self.cleaned_data["system"].replace("\r\n", "\n")
        return text if text.strip() else ""

    def clean_max_cost(self) -> int | None:
        """Return the cost limit in micro-dollars. Raises: ValidationError."""
        text: str = self.cleaned_data["max_cost"]
        if not text:
            return None
        micros = micros_of_usd(text.removeprefix("$"))
        if not micros:
            raise forms.ValidationError(NO_DOLLARS)
        return micros

    @property
    def params(self) -> CallParams:
        """Return what is asked of the worker that answers."""
        return CallParams(temperature=self.cleaned_data["temperature"])

    @property
    def restrictions(self) -> RunRestrictions:
        """Return what the run may use less of than its tier says."""
        data = self.cleaned_data
        return RunRestrictions(
            max_steps=data["max_steps"],
            max_cost_micros=data["max_cost"],
            max_time_s=data["max_time_s"],
            data_class=data["data_class"] or None,
        )


def _text(value: float | None) -> str:
    return "" if value is None else f"{value:g}"
