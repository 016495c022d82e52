"""Forms of workers and conductors: endpoint, price and credential."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar
from uuid import UUID

from django import forms
from django.forms.boundfield import BoundField
from django.utils.translation import gettext_lazy as _

from apps.console.ability_words import ABILITY_WORDS, ability_fields
from apps.console.forms.nested_forms import (
    PathForm,
    dollars,
    flattened,
    name_field,
    whole_number,
)
from apps.llm.types import EXTRA_PARAMS
from apps.pools.models import (
    Conductor,
    ConductorMode,
    Credential,
    MaxTokensField,
    Pool,
    Protocol,
    ReasoningEffort,
    Worker,
    WorkerKind,
)
from apps.pools.prompt_styles import PromptStyle
from apps.pools.selectors import conductor_values, worker_values

NO_KEY, NEW_KEY = "none", "new"
NEW_POOL = "new"
TAGS = {
    "tags_region": (_("Where it runs"), ("eu", "us", "on-premises")),
    "tags_kind": (_("What it is"), ("open-weight", "reasoning", "vision")),
    "tags_data": (
        _("Data it may see"),
        ("public", "internal", "confidential", "personal-data"),
    ),
}
"""Suggestions by field. Rules know workers by tags; any other may be typed."""
TAG_HINTS = {
    "tags_data": _(
        "A tag alone restricts nothing: add a rule under Policy that keeps "
        "such data to workers with it."
    )
}
"""What must be known of suggestions that look like rules."""
PARAMS = ("extra_params", "reasoning_effort", "thinking_budget_tokens", "extra_body")
_SUGGESTED = {tag for __, tags in TAGS.values() for tag in tags}
_TIMEOUTS = {
    "connect_s": _("Connect, seconds"),
    "first_byte_s": _("First byte, seconds"),
    "first_token_s": _("First token, seconds"),  # nosec B105
    "idle_s": _("Silence in between, seconds"),
    "total_s": _("The whole answer, seconds"),
}


class ProviderForm(PathForm):
    """Where models are served, and with which key."""

    not_values: ClassVar[Sequence[str]] = ("secret",)

    base_url = forms.CharField(
        label=_("Address"),
        max_length=500,
        help_text=_("Base URL including the version, such as …/v1."),
        widget=forms.URLInput(
            attrs={
                "spellcheck": "false",
                "autocomplete": "off",
                "placeholder": "https://api.example.com/v1",
            }
        ),
    )
    protocol = forms.ChoiceField(
        label=_("Protocol"),
        choices=[(value, _(str(label))) for value, label in Protocol.choices],
        help_text=_("What the server speaks. Most servers are OpenAI-compatible."),
    )
    credential_id = forms.ChoiceField(label=_("Key"))
    secret = forms.CharField(
        label=_("New key"),
        required=False,
        max_length=4000,
        help_text=_("Stored encrypted, sent to its provider only, never shown again."),
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
    )
    max_tokens_field = forms.ChoiceField(
        label=_("Name of the output limit"),
        choices=MaxTokensField.choices,
        initial=MaxTokensField.MAX_TOKENS,
        help_text=_("OpenAI's reasoning models want max_completion_tokens."),
    )

    def __init__(
        self, *args: Any, credentials: Iterable[Credential], **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        choice = self.fields["credential_id"]
        assert isinstance(choice, forms.ChoiceField)
        choice.choices = [
            (NO_KEY, _("No key needed")),
            *((str(row.id), f"{row.name} · {row.origin}") for row in credentials),
            (NEW_KEY, _("A new key…")),
        ]

    @property
    def has_new_key(self) -> bool:
        """Say whether a key was pasted that is not stored yet."""
        return self.cleaned_data.get("credential_id") == NEW_KEY

    def clean(self) -> dict[str, Any]:
        """Refuse a new key that was not pasted."""
        values = self.cleaned_data
        if values.get("credential_id") == NEW_KEY and not values.get("secret"):
            self.add_error("secret", _("Paste the key, or choose another one above."))
        return values

    def values(self) -> dict[str, Any]:
        """Return what the service takes; a new key is stored apart."""
        values = super().values()
        if values["credential_id"] == NEW_KEY:
            del values["credential_id"]
        else:
            values["credential_id"] = _key_id(values["credential_id"])
        return values


class ModelForm(ProviderForm):
    """What workers and conductors have in common."""

    model = forms.CharField(
        label=_("Model"),
        max_length=200,
        help_text=_("The name the provider knows it by."),
        widget=forms.TextInput(
            attrs={"list": "models", "autocomplete": "off", "spellcheck": "false"}
        ),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["price.input_usd"] = dollars(_("Input"))
        self.fields["price.output_usd"] = dollars(_("Output"))
        self.fields["price.cached_input_usd"] = dollars(_("Cached input"))
        for name, label in _TIMEOUTS.items():
            self.fields[f"timeouts.{name}"] = whole_number(label)
        for field in self.fields.values():
            if getattr(field.widget, "input_type", "text") not in {"checkbox", "radio"}:
                field.widget.attrs.setdefault("class", "input")

    def values(self) -> dict[str, Any]:
        """Return what the service takes; an untouched price is left as it is."""
        values = super().values()
        price = values.pop("price")
        if not self.is_bound_to_row or self._price_changed():
            said = {name: text for name, text in price.items() if text}
            values["price"] = said or None
        return values

    @property
    def is_bound_to_row(self) -> bool:
        """Say whether something that exists is being changed."""
        return bool(self.initial.get("is_saved"))

    @property
    def price_fields(self) -> list[BoundField]:
        """Return the parts of the price."""
        return self.group("price")

    @property
    def timeout_fields(self) -> list[BoundField]:
        """Return the time limits."""
        return self.group("timeouts")

    @property
    def has_fault_in_more(self) -> bool:
        """Say whether the folded part of the page must be open."""
        folded = {"max_tokens_field", "max_output_tokens"}
        return any(n in folded or n.startswith("timeouts.") for n in self.errors)

    def _price_changed(self) -> bool:
        return any(name.startswith("price.") for name in self.changed_data)


class WorkerForm(ModelForm):
    """A worker, new or old."""

    not_values: ClassVar[Sequence[str]] = ("secret", "more_tags", "pools", *TAGS)
    error_names = {"tags": "more_tags"}

    name = name_field(_("Used in plans, prices and the API."))
    kind = forms.ChoiceField(
        label=_("What it makes"),
        choices=[
            (WorkerKind.CHAT, _("Answers, for plans and prompts")),
            (WorkerKind.EMBEDDING, _("Embeddings, for /v1/embeddings only")),
        ],
        widget=forms.RadioSelect,
        initial=WorkerKind.CHAT,
    )
    description = forms.CharField(
        label=_("What it is good at"),
        required=False,
        max_length=4000,
        help_text=_("Shown to conductors that read descriptions."),
        widget=forms.Textarea(attrs={"rows": 2}),
    )
    context_tokens = whole_number(
        _("Context window, tokens"),
        hint=_("Input and output together. Empty: unknown."),
    )
    max_output_tokens = whole_number(_("Longest answer, tokens"), required=True)
    extra_params = forms.MultipleChoiceField(
        label=_("Parameters it takes from requests"),
        required=False,
        choices=[(name, name) for name in EXTRA_PARAMS],
        help_text=_(
            "Those not ticked are left out, and the answer names them. Calls to this "
            "worker by its own name pass all of them."
        ),
        widget=forms.CheckboxSelectMultiple,
    )
    reasoning_effort = forms.ChoiceField(
        label=_("Reasoning effort"),
        required=False,
        choices=[("", _("The server’s own")), *ReasoningEffort.choices],
        help_text=_("For requests that do not set one."),
    )
    thinking_budget_tokens = whole_number(
        _("Thinking budget, tokens"), hint=_("For requests that do not set one.")
    )
    extra_body = forms.CharField(
        label=_("Extra body"),
        required=False,
        max_length=8000,
        help_text=_(
            "A JSON object whose fields go into each request as they are, for "
            'example {"enable_thinking": false}. Never put a secret here: this text is '
            "shown, recorded and kept."
        ),
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false"}),
    )
    more_tags = forms.CharField(
        label=_("Other tags"),
        required=False,
        max_length=1000,
        help_text=_("Separated by commas; with a kind if you like: region:eu."),
    )
    is_enabled = forms.BooleanField(
        label=_("Enabled: plans may use it"), required=False, initial=True
    )

    def __init__(self, *args: Any, pools: Iterable[Pool] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields.update(ability_fields())
        for name, (label, tags) in TAGS.items():
            self.fields[name] = forms.MultipleChoiceField(
                label=label,
                required=False,
                choices=[(tag, tag) for tag in tags],
                widget=forms.CheckboxSelectMultiple,
                help_text=TAG_HINTS.get(name, ""),
            )
        if self.is_bound_to_row:
            return
        known = [
            (str(pool.id), _("Add it to the pool %(pool)s") % {"pool": pool.name})
            for pool in pools
        ]
        self.fields["pools"] = forms.MultipleChoiceField(
            label=_("Put it to use"),
            required=False,
            choices=known or [(NEW_POOL, _("Make a pool from it, ready for prompts"))],
            widget=forms.CheckboxSelectMultiple,
        )

    @property
    def tag_fields(self) -> list[BoundField]:
        """Return the suggested tags, by topic."""
        return [self[name] for name in TAGS]

    @property
    def ability_fields(self) -> list[BoundField]:
        """Return what it can and cannot do."""
        return [self[name] for name in ABILITY_WORDS]

    @property
    def has_fault_in_params(self) -> bool:
        """Say whether the folded part with the parameters must be open."""
        return not self.errors.keys().isdisjoint(PARAMS)

    @property
    def places(self) -> BoundField | None:
        """Return the choice of pools; None for a worker that is there already."""
        return self["pools"] if "pools" in self.fields else None

    @property
    def pool_ids(self) -> list[uuid.UUID]:
        """Return the pools that the worker is added to."""
        return [uuid.UUID(each) for each in self._chosen_pools if each != NEW_POOL]

    @property
    def starts_pool(self) -> bool:
        """Say whether a new pool is made of the worker."""
        return NEW_POOL in self._chosen_pools

    @property
    def _chosen_pools(self) -> list[str]:
        return list(self.cleaned_data.get("pools") or [])

    def values(self) -> dict[str, Any]:
        """Return what the service takes, with the tags of both fields."""
        typed = self.cleaned_data["more_tags"].replace("\n", ",").split(",")
        chosen = [tag for name in TAGS for tag in self.cleaned_data[name]]
        tags = [*chosen, *(tag.strip() for tag in typed)]
        values = super().values()
        values["tags"] = list(dict.fromkeys(tag for tag in tags if tag))
        return values


class ConductorForm(ModelForm):
    """A conductor, new or old."""

    name = name_field(_("What pools call it."))
    mode = forms.ChoiceField(
        label=_("How it writes plans"),
        choices=[
            (ConductorMode.JSON_SCHEMA, _("JSON schema, for general models")),
            (ConductorMode.LISTS, _("Three lists, as trained conductors do")),
        ],
        widget=forms.RadioSelect,
        initial=ConductorMode.JSON_SCHEMA,
    )
    prompt_style = forms.ChoiceField(
        label=_("What it reads besides the question"),
        choices=[
            (PromptStyle.FULL, _("Rules and examples")),
            (
                PromptStyle.BRIEF,
                _("Price and measured success of each worker, if it was trained here"),
            ),
        ],
        widget=forms.RadioSelect,
        initial=PromptStyle.FULL,
        required=False,
        help_text=_(
            "For three lists only. The measured success comes from the pool's "
            "light planner."
        ),
    )
    shows_descriptions = forms.BooleanField(
        label=_("Tell it what each worker is good at"),
        required=False,
        help_text=_(
            "A trained conductor knows its workers by number. A general model "
            "plans better with words."
        ),
    )
    shows_measurements = forms.BooleanField(
        label=_("Tell it what was measured for each worker"),
        required=False,
        help_text=_(
            "Calibrated workers are described by their results on a suite; the "
            "others as chosen above."
        ),
    )
    uses_prefill = forms.BooleanField(
        label=_("Start its reasoning for it"),
        required=False,
        help_text=_(
            "For three lists only. Not every server allows that; the test will show."
        ),
    )
    temperature = forms.CharField(
        label=_("Temperature"),
        required=False,
        max_length=5,
        help_text=_("0 to 2. Empty: the server's own."),
        widget=forms.TextInput(attrs={"inputmode": "decimal"}),
    )
    context_tokens = whole_number(
        _("Context window, tokens"),
        hint=_("Input and output together. Empty: unknown."),
    )
    max_output_tokens = whole_number(_("Longest plan, tokens"), required=True)

    def values(self) -> dict[str, Any]:
        """Return what the service takes."""
        values = super().values()
        values["temperature"] = values["temperature"] or None
        return values

    def clean_prompt_style(self) -> str:
        """Return the full prompt where none was chosen."""
        return self.cleaned_data["prompt_style"] or str(PromptStyle.FULL)


def worker_initial(worker: Worker) -> dict[str, Any]:
    """Return a worker as its form shows it."""
    values = flattened(worker_values(worker))
    tags = [str(tag) for tag in values["tags"]]
    return {
        **values,
        "is_saved": True,
        "credential_id": values["credential_id"] or NO_KEY,
        **{
            name: [tag for tag in tags if tag in suggested]
            for name, (__, suggested) in TAGS.items()
        },
        "more_tags": ", ".join(tag for tag in tags if tag not in _SUGGESTED),
    }


def conductor_initial(conductor: Conductor) -> dict[str, Any]:
    """Return a conductor as its form shows it."""
    values = flattened(conductor_values(conductor))
    key = values["credential_id"] or NO_KEY
    return {**values, "is_saved": True, "credential_id": key}


def _key_id(choice: str) -> UUID | None:
    return None if choice == NO_KEY else UUID(choice)
