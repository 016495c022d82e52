"""Where a webhook goes, what it sends, and what the receiver wants to see."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from apps.console.forms.base import ConsoleForm
from apps.webhooks.addresses import SYSLOG_SCHEME
from apps.webhooks.event_types import EVENT_TYPES
from apps.webhooks.models import MAX_NAME, MAX_URL, Webhook, WebhookKind

KEEPS = _("Empty: the stored value stays, for the same header and the same host.")


class WebhookForm(ConsoleForm):
    """A new webhook, or with `webhook` changes of one."""

    name = forms.CharField(
        label=_("Name"),
        max_length=MAX_NAME,
        help_text=_("What your team calls the receiver."),
    )
    kind = forms.ChoiceField(
        label=_("Sends"),
        choices=[(each.value, _(str(each.label))) for each in WebhookKind],
        initial=WebhookKind.EVENTS,
        widget=forms.RadioSelect,
        help_text=_(
            "Entries of the ledger are sent in batches, in order: a stream for a SIEM. "
            "They say who did what, and hold no prompts or answers. Slack and "
            "Mattermost take messages for a chat."
        ),
    )
    event_types = forms.MultipleChoiceField(
        label=_("Events"),
        choices=[(each.name, _(each.label)) for each in EVENT_TYPES.values()],
        widget=forms.CheckboxSelectMultiple,
        required=False,
    )
    url = forms.CharField(
        label="URL",
        max_length=MAX_URL,
        widget=forms.URLInput(attrs={"spellcheck": "false", "autocomplete": "off"}),
        help_text=format_lazy(
            _("Begins with https://, or for syslog with {scheme}://."),
            scheme=SYSLOG_SCHEME,
        ),
    )
    header_name = forms.CharField(
        label=_("Header"),
        max_length=100,
        required=False,
        widget=forms.TextInput(attrs={"spellcheck": "false", "autocomplete": "off"}),
        help_text=_("If the receiver requires one, such as Authorization."),
    )
    header_value = forms.CharField(
        label=_("Value of the header"),
        max_length=4_000,
        required=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text=_("Stored encrypted and never shown again."),
    )

    def __init__(self, *args: Any, webhook: Webhook | None = None, **kw: Any) -> None:
        if webhook is not None:
            names = ("name", "event_types", "url", "header_name")
            kw["initial"] = {name: getattr(webhook, name) for name in names}
        super().__init__(*args, **kw)
        if webhook is None:
            return
        del self.fields["kind"]
        if webhook.is_stream:
            del self.fields["event_types"]
        if webhook.kind == WebhookKind.SYSLOG:
            del self.fields["header_name"], self.fields["header_value"]
        if webhook.header_name:
            self.fields["header_value"].help_text = KEEPS

    @property
    def values(self) -> dict[str, Any]:
        """Return what the service takes."""
        return dict(self.cleaned_data)
