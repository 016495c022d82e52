"""A provider's key: its name, the host it is for, and the key itself, write-only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.console.forms.nested_forms import PathForm

if TYPE_CHECKING:
    from django.utils.functional import _StrOrPromise as StrOrPromise


def _secret(*, required: bool, hint: StrOrPromise) -> forms.CharField:
    widget = forms.PasswordInput(attrs={"autocomplete": "off"})
    return forms.CharField(
        label=_("API key") if required else _("New API key"),
        required=required,
        max_length=4000,
        help_text=hint,
        widget=widget,
    )


class CredentialForm(PathForm):
    """A new key."""

    name = forms.CharField(
        label=_("Name"), max_length=100, help_text=_("What your team calls it.")
    )
    base_url = forms.CharField(
        label=_("Address"),
        max_length=500,
        help_text=_(
            "Of the provider. The API key goes to this host and port alone, over https "
            "or http as written here. To change that, add another credential."
        ),
        widget=forms.URLInput(attrs={"spellcheck": "false", "autocomplete": "off"}),
    )
    secret = _secret(required=True, hint=_("Stored encrypted and never shown again."))


class CredentialChangeForm(PathForm):
    """Another name or another secret for a key. Where it is sent stays as it is."""

    name = forms.CharField(label=_("Name"), max_length=100)
    secret = _secret(
        required=False,
        hint=_(
            "Takes the place of the stored one at once. Empty: keep the stored one."
        ),
    )

    def values(self) -> dict[str, Any]:
        """Return what changes."""
        values = super().values()
        if not values["secret"]:
            del values["secret"]
        return values
