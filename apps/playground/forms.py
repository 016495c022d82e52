"""Shape of what people send: a prompt with its settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms
from django.conf import settings
from django.utils.translation import gettext, gettext_lazy

from apps.playground.choices import PoolChoice, direct_models
from apps.playground.composing.settings import SettingsForm
from apps.pools.models import TierName
from apps.web.formats import size


class RunForm(SettingsForm):
    """A prompt, its settings, and who shall work on it."""

    prompt = forms.CharField(
        strip=False, error_messages={"required": gettext_lazy("Write a prompt.")}
    )
    tier = forms.ChoiceField(choices=TierName.choices, required=False)
    pool = forms.ChoiceField(required=False)
    worker = forms.ChoiceField(required=False)
    replaces = forms.UUIDField(required=False)

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
            raise forms.ValidationError(gettext("Write a prompt."))
        length, limit = len(prompt.encode()), settings.MAX_PROMPT_BYTES
        if length > limit:
            found = size(length, rounds_up=True)
            raise forms.ValidationError(
                gettext("The prompt is too long: {length} (limit {limit}).").format(
                    length=found, limit=size(limit)
                )
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
        return first_fault(self)


def _worker_field(pools: Sequence[PoolChoice], *, required: bool) -> forms.ChoiceField:
    """Return a choice of one worker, by the model name that asks it directly."""
    return forms.ChoiceField(
        choices=[(model, model) for model in direct_models(pools)],
        required=required,
        error_messages={
            "required": gettext_lazy("Choose a worker."),
            "invalid_choice": gettext_lazy(
                "This team's pools have no worker “%(value)s”."
            ),
        },
    )


def first_fault(form: forms.Form) -> tuple[str, str]:
    """Return the first field at fault and why."""
    name, errors = next(iter(form.errors.items()))
    return name, str(errors[0])
