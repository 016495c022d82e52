"""What comes in about presets, and what goes out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings as site_settings
from django.urls import reverse
from rest_framework import serializers

from apps.accounts.principal import Principal
from apps.core.data_classes import DATA_CLASSES
from apps.core.money import micros_of_usd, usd_text
from apps.engine.limits import MAX_TIME_S
from apps.presets.inputs import (
    MAX_TEMPERATURE,
    MODEL_LENGTH,
    MOST_STEPS,
    PresetContent,
    PresetSettings,
)
from apps.presets.models import (
    DESCRIPTION_LENGTH,
    PRESET_NAME_LENGTH,
    Preset,
    PresetVersion,
)
from apps.presets.selectors import (
    access_preset_version,
    content_of,
    description_of,
    may_change_preset,
)
from apps.presets.templates import TemplateVariable, template_read
from apps.rest.fields import (
    Dollars,
    Flag,
    Id,
    Input,
    Number,
    Output,
    TextField,
    Time,
    Whole,
)
from apps.rest.pagination import PageQuery

TEMPLATE_HELP = (
    "A template: `{{name}}` is a variable, `{{name|default}}` one that may be left "
    "out, and `\\{{` writes two braces."
)
SETTINGS = {"model": "conductor-ultra", "temperature": 0.2, "max_cost_usd": "0.05"}
SENT: dict[str, Any] = {
    "name": "Answer a ticket",
    "description": "A first reply to a customer.",
    "prompt": "Answer this ticket in a {{tone|friendly}} tone:\n\n{{ticket}}",
    "settings": SETTINGS,
    "is_shared": True,
}
SHOWN: dict[str, Any] = {
    "prompt": SENT["prompt"],
    "system": "",
    "settings": {
        **SETTINGS,
        "max_steps": None,
        "max_time_s": None,
        "data_class": None,
    },
    "variables": [
        {"name": "tone", "default": "friendly"},
        {"name": "ticket", "default": None},
    ],
}
EXAMPLE: dict[str, Any] = {
    "id": "0199c0de-0000-7000-8000-00000000000c",
    "name": SENT["name"],
    "description": SENT["description"],
    "owner": {"type": "user", "id": "0199…", "name": "Alice"},
    "is_shared": True,
    "is_archived": False,
    "version": 3,
    "may_change": True,
    "created_at": "2026-11-21T15:53:16.000000Z",
    "changed_at": "2026-11-22T09:10:11.000000Z",
    "url": "http://127.0.0.1:8000/presets/0199c0de-0000-7000-8000-00000000000c/",
}
VERSION_EXAMPLE: dict[str, Any] = {
    "version": 3,
    **SHOWN,
    "sha256": "3f0a9e…",
    "restores": None,
    "created_by": "Alice",
    "created_at": EXAMPLE["changed_at"],
}


# --- what comes in -------------------------------------------------------------------


class PresetSettingsInput(Input):
    """How its runs are answered, unless a request says otherwise."""

    model = TextField(
        max_length=MODEL_LENGTH,
        required=False,
        allow_blank=True,
        help_text="As runs take it. Empty: the request names one.",
    )
    temperature = Number(
        required=False, allow_null=True, min_value=0, max_value=MAX_TEMPERATURE
    )
    max_steps = Whole(
        required=False, allow_null=True, min_value=1, max_value=MOST_STEPS
    )
    max_cost_usd = Dollars(required=False, allow_null=True)
    max_time_s = Whole(
        required=False,
        allow_null=True,
        min_value=1,
        max_value=MAX_TIME_S,
        help_text="Seconds.",
    )
    data_class = serializers.ChoiceField(
        choices=DATA_CLASSES, required=False, allow_null=True
    )


class PresetChangeInput(Input):
    """What changes. Other texts or settings make a new version."""

    name = TextField(max_length=PRESET_NAME_LENGTH, required=False)
    description = TextField(
        max_length=DESCRIPTION_LENGTH, required=False, allow_blank=True
    )
    prompt = TextField(
        required=False,
        trim_whitespace=False,
        help_text=TEMPLATE_HELP,
    )
    system = TextField(
        required=False,
        allow_blank=True,
        trim_whitespace=False,
        help_text="System prompt, without variables. Empty: none.",
    )
    settings = PresetSettingsInput(
        required=False, help_text="All of them: what is left out is not set."
    )
    is_shared = Flag(required=False, help_text="True: everybody in the team sees it.")
    is_archived = Flag(
        required=False, help_text="True: it is offered nowhere, and no run can use it."
    )
    version = Whole(
        min_value=1,
        required=False,
        help_text="The newest version that you know. If there is a newer one, nothing "
        "changes, and the answer is 409.",
    )


class NewPresetInput(PresetChangeInput):
    """A preset to create."""

    name = TextField(max_length=PRESET_NAME_LENGTH)
    prompt = TextField(
        trim_whitespace=False,
        help_text=TEMPLATE_HELP,
    )
    is_archived = None  # type: ignore[assignment]
    version = None  # type: ignore[assignment]


class PresetQuery(PageQuery):
    """Which presets, and which page of them."""

    query = serializers.CharField(
        required=False,
        max_length=200,
        help_text="Words of name, description and owner; all of them must be there.",
    )
    archived = serializers.BooleanField(
        required=False, help_text="true: those that are archived. Default: the others."
    )


class PresetCallInput(Input):
    """A preset that the prompt is made with."""

    id = Id()
    version = Whole(min_value=1, required=False, help_text="Default: the newest.")
    variables = serializers.DictField(
        child=TextField(allow_blank=True, trim_whitespace=False),
        required=False,
        help_text="A text for each variable; those with a default may be left out.",
    )


def preset_values(values: dict[str, Any]) -> dict[str, Any]:
    """Return a checked input as services take it."""
    if (given := values.get("settings")) is None:
        return values
    named = dict(given)
    if (dollars := named.pop("max_cost_usd", None)) is not None:
        named["max_cost_micros"] = micros_of_usd(dollars)
    return {**values, "settings": named}


# --- what goes out -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SeenPreset:
    """A preset, as one principal sees it."""

    preset: Preset
    description: str
    may_change: bool


@dataclass(frozen=True, slots=True)
class SeenVersion:
    """A version, read."""

    row: PresetVersion
    content: PresetContent
    variables: Sequence[TemplateVariable]


def seen_preset(principal: Principal, preset: Preset) -> SeenPreset:
    """Return a preset as the principal sees it."""
    may_change = may_change_preset(principal, preset)
    return SeenPreset(preset, description_of(preset), may_change)


def seen_version(row: PresetVersion) -> SeenVersion:
    """Return a version with what it says."""
    content = content_of(row)
    return SeenVersion(row, content, template_read(content.prompt).variables)


class PresetOwnerOutput(Output):
    """Whose it is."""

    type = serializers.CharField(source="owner_type")
    id = serializers.CharField(source="owner_id")
    name = serializers.CharField(source="owner_name")


class PresetOutput(Output):
    """A preset, as lists show it."""

    id = serializers.UUIDField(source="preset.id")
    name = serializers.CharField(source="preset.name")
    description = serializers.CharField()
    owner = PresetOwnerOutput(source="preset")
    is_shared = serializers.BooleanField(source="preset.is_shared")
    is_archived = serializers.BooleanField(source="preset.is_archived")
    version = serializers.IntegerField(
        source="preset.newest", help_text="The newest one."
    )
    may_change = serializers.BooleanField(
        help_text="You may change, share, archive and delete it."
    )
    created_at = Time(source="preset.created_at")
    changed_at = Time(source="preset.changed_at")
    url = serializers.SerializerMethodField(help_text="Its page.")

    def get_url(self, seen: SeenPreset) -> str:
        """Return the address of its page."""
        path = reverse("console:preset", args=[seen.preset.id])
        return f"{site_settings.CONDUCTOR_URL}{path}"


class PresetSettingsOutput(Output):
    """How its runs are answered. Null: nothing is said about it."""

    model = serializers.CharField(help_text="Empty: the request names one.")
    temperature = serializers.FloatField(allow_null=True)
    max_steps = serializers.IntegerField(allow_null=True)
    max_cost_usd = serializers.SerializerMethodField()
    max_time_s = serializers.IntegerField(allow_null=True)
    data_class = serializers.ChoiceField(choices=DATA_CLASSES, allow_null=True)

    def get_max_cost_usd(self, given: PresetSettings) -> str | None:
        """Return the cost limit in dollars."""
        micros = given.max_cost_micros
        return None if micros is None else usd_text(micros)


class PresetVariableOutput(Output):
    """A variable of a prompt."""

    name = serializers.CharField()
    default = serializers.CharField(
        allow_null=True, help_text="Null: a value must be given."
    )


class PresetVersionOutput(Output):
    """What a preset said at one time. It never changes."""

    version = serializers.IntegerField(source="row.number")
    prompt = serializers.CharField(source="content.prompt")
    system = serializers.CharField(source="content.system")
    settings = PresetSettingsOutput(source="content.settings")
    variables = PresetVariableOutput(many=True)
    sha256 = serializers.CharField(
        source="row.digest",
        help_text="Of prompt, system prompt and settings, as the ledger has it.",
    )
    restores = serializers.IntegerField(
        source="row.restores",
        allow_null=True,
        help_text="The version whose texts it has again. Null: it has its own.",
    )
    created_by = serializers.CharField(source="row.created_by")
    created_at = Time(source="row.created_at")


class PresetDetailOutput(PresetOutput):
    """A preset with what its newest version says."""

    prompt = serializers.CharField(source="newest.content.prompt")
    system = serializers.CharField(source="newest.content.system")
    settings = PresetSettingsOutput(source="newest.content.settings")
    variables = PresetVariableOutput(many=True, source="newest.variables")


@dataclass(frozen=True, slots=True)
class WholePreset:
    """A preset with its newest version."""

    preset: Preset
    description: str
    may_change: bool
    newest: SeenVersion


def preset_document(principal: Principal, preset: Preset) -> dict[str, Any]:
    """Return a preset with what its newest version says, as answers have it."""
    seen = seen_preset(principal, preset)
    newest = seen_version(access_preset_version(preset))
    whole = WholePreset(preset, seen.description, seen.may_change, newest)
    return dict(PresetDetailOutput(whole).data)
