"""The form of a preset: its name, its texts, and the settings of its runs."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, ClassVar

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from apps.console.forms.keys import DATA_CLASS_LABELS
from apps.console.forms.nested_forms import PathForm
from apps.console.forms.numbers import dollars
from apps.console.presets.model_names import model_groups, model_sent
from apps.core.money import MICROS
from apps.engine.limits import MAX_TIME_S
from apps.presets.inputs import (
    MAX_TEMPERATURE,
    MODEL_LENGTH,
    MOST_STEPS,
    PresetContent,
)
from apps.presets.models import DESCRIPTION_LENGTH, PRESET_NAME_LENGTH

if TYPE_CHECKING:
    from django.utils.functional import _StrOrPromise as StrOrPromise

SETTINGS = "settings."
MODEL, COST = f"{SETTINGS}model", f"{SETTINGS}max_cost_micros"
AS_TIER = {"placeholder": _("as the tier")}
TEMPLATE_HELP = _(
    "Write {{name}} for a variable, or {{name|default}} if it may stay as it is. "
    "\\{{ stands for two braces."
)


class PresetForm(PathForm):
    """A new preset, or changes of one."""

    not_values: ClassVar[tuple[str, ...]] = (COST,)
    name = forms.CharField(label=_("Name"), max_length=PRESET_NAME_LENGTH)
    description = forms.CharField(
        label=_("Description"),
        max_length=DESCRIPTION_LENGTH,
        required=False,
        widget=forms.TextInput(),
        help_text=_("What it is good for; shown in lists."),
    )
    prompt = forms.CharField(
        label=_("Prompt"),
        strip=False,
        widget=forms.Textarea(attrs={"rows": 8, "dir": "auto"}),
        help_text=TEMPLATE_HELP,
    )
    system = forms.CharField(
        label=_("System prompt"),
        strip=False,
        required=False,
        widget=forms.Textarea(attrs={"rows": 3, "dir": "auto"}),
    )
    is_shared = forms.BooleanField(label=_("Share with the whole team"), required=False)

    def __init__(
        self, *args: Any, team_id: uuid.UUID, is_new: bool = True, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        given = self.initial.get(MODEL, "")
        model = forms.ChoiceField(
            label=_("Model"),
            choices=_flat_blank(model_groups(team_id, given)),
            required=False,
        )
        fields = {MODEL: model, **_setting_fields()}
        for name, field in fields.items():
            field.widget.attrs.setdefault("class", "input")
            self.fields[name] = field
        last = self.fields.pop("is_shared")
        if is_new:
            self.fields["is_shared"] = last
        else:
            self.fields["version"] = forms.IntegerField(
                required=False, widget=forms.HiddenInput()
            )

    @property
    def text_fields(self) -> list[forms.BoundField]:
        """Return the fields of what it says."""
        return [self[name] for name in ("name", "description", "prompt", "system")]

    @property
    def setting_fields(self) -> list[forms.BoundField]:
        """Return the fields of how its runs are answered."""
        return [self[name] for name in self.fields if name.startswith(SETTINGS)]

    def save_after(self, version: int) -> None:
        """Let the next attempt come after a newer version than the form was made of."""
        data = QueryDict(mutable=True)
        data.update(self.data)
        data["version"] = str(version)
        self.data = data

    def values(self) -> dict[str, Any]:
        """Return what services take."""
        values = super().values()
        settings, cost = values["settings"], self.cleaned_data[COST]
        settings["max_cost_micros"] = None if cost is None else int(cost * MICROS)
        settings["data_class"] = settings["data_class"] or None
        return values


def initial_of(content: PresetContent) -> dict[str, Any]:
    """Return the initial values of the fields for what a version says."""
    settings = content.settings.model_dump()
    cost = settings["max_cost_micros"]
    settings["max_cost_micros"] = None if cost is None else _dollars(cost)
    named = {f"{SETTINGS}{name}": value for name, value in settings.items()}
    return {"prompt": content.prompt, "system": content.system, **named}


def initial_sent(team_id: uuid.UUID, sent: QueryDict) -> dict[str, Any]:
    """Return the initial values for what the composer was sent with, unchecked."""
    numbers = ("temperature", "max_steps", "max_time_s", "data_class")
    return {
        "prompt": sent.get("prompt", "").replace("\r\n", "\n"),
        "system": sent.get("system", "").replace("\r\n", "\n"),
        MODEL: model_sent(team_id, sent)[:MODEL_LENGTH],
        COST: sent.get("max_cost", "").removeprefix("$")[:16],
        **{f"{SETTINGS}{name}": sent.get(name, "")[:16] for name in numbers},
    }


def _setting_fields() -> dict[str, forms.Field]:
    names = [
        ("", _("Not stated")),
        *DATA_CLASS_LABELS.items(),
    ]
    cost = dollars(_("Cost limit (US dollars)"), required=False)
    cost.widget.attrs |= AS_TIER
    return {
        f"{SETTINGS}temperature": forms.FloatField(
            required=False,
            label=_("Temperature"),
            min_value=0,
            max_value=MAX_TEMPERATURE,
            widget=forms.NumberInput(
                {"step": "any", "placeholder": _("model default")}
            ),
        ),
        f"{SETTINGS}max_steps": _whole(_("Max steps"), MOST_STEPS),
        COST: cost,
        f"{SETTINGS}max_time_s": _whole(_("Time limit (seconds)"), MAX_TIME_S),
        f"{SETTINGS}data_class": forms.ChoiceField(
            label=_("Data class"), choices=names, required=False
        ),
    }


def _whole(label: StrOrPromise, most: int) -> forms.IntegerField:
    widget = forms.NumberInput(dict(AS_TIER))
    return forms.IntegerField(
        label=label, required=False, min_value=1, max_value=most, widget=widget
    )


def _flat_blank(groups: list[tuple[str, list[tuple[str, str]]]]) -> list[Any]:
    """Return choices of a select whose first group is no group."""
    return [*groups[0][1], *groups[1:]]


def _dollars(micros: int) -> str:
    return f"{micros / MICROS:f}".rstrip("0").rstrip(".")
