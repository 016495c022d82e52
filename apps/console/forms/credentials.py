"""A provider's key: its name, the host it is for, and the key itself, write-only."""

from __future__ import annotations

from typing import Any

from django import forms

from apps.console.forms.nested_forms import PathForm


def _secret(*, required: bool, hint: str) -> forms.CharField:
    widget = forms.PasswordInput(attrs={"autocomplete": "off"})
    return forms.CharField(
        label="Key" if required else "New key",
        required=required,
        max_length=4000,
        help_text=hint,
        widget=widget,
    )


class CredentialForm(PathForm):
    """A new key."""

    name = forms.CharField(
        label="Name", max_length=100, help_text="How your team calls it."
    )
    base_url = forms.CharField(
        label="Address",
        max_length=500,
        help_text=(
            "Of the provider. The key goes to this host and port alone, over https or "
            "http as written here. To change that, store the key again."
        ),
        widget=forms.URLInput(attrs={"spellcheck": "false", "autocomplete": "off"}),
    )
    secret = _secret(required=True, hint="Stored encrypted and never shown again.")


class CredentialChangeForm(PathForm):
    """Another name or another secret for a key. Where it is sent stays as it is."""

    name = forms.CharField(label="Name", max_length=100)
    secret = _secret(
        required=False,
        hint="Takes the place of the stored one at once. Empty: keep the stored one.",
    )

    def values(self) -> dict[str, Any]:
        """Return what changes."""
        values = super().values()
        if not values["secret"]:
            del values["secret"]
        return values
