"""Webhooks: listed, added, tested, changed, disabled, deleted; what they delivered."""

from __future__ import annotations

import uuid

from django.contrib import messages
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.cache import never_cache
from django.views.decorators.http import (
    require_GET,
    require_http_methods,
    require_POST,
)

from apps.accounts.models import Permission
from apps.console.forms.webhooks import WebhookForm
from apps.console.layout import (
    change_and_tell,
    console_page,
    posted,
    require,
    try_change,
)
from apps.core.errors import Conflict
from apps.web.team_access import TeamRequest, refusal_show, team_view
from apps.webhooks.addresses import origin_of
from apps.webhooks.event_types import BATCH, EVENT_TYPES, TEST
from apps.webhooks.models import Webhook, WebhookDelivery
from apps.webhooks.selectors import (
    access_delivery,
    access_webhook,
    delivery_list,
    webhook_list,
)
from apps.webhooks.services import (
    delivery_resend,
    secret_rotate,
    webhook_create,
    webhook_delete,
    webhook_test,
    webhook_update,
)

TAB = "webhooks"
SHOWN = 100
"""Deliveries on the page of a webhook."""
TEST_IS_SENT = gettext_noop(
    "A test is on its way; it appears among the deliveries within seconds."
)
LABELS = {
    **{name: each.label for name, each in EVENT_TYPES.items()},
    TEST.name: TEST.label,
    BATCH: gettext_noop("Ledger entries"),
}


@require_GET
@team_view
def webhook_list_page(request: TeamRequest) -> HttpResponseBase:
    """List the team's webhooks."""
    require(request, Permission.MANAGE_WEBHOOKS)
    rows = [
        {"webhook": each, "origin": origin_of(each.url), "labels": _labels(each)}
        for each in webhook_list(team_id=request.team.id)
    ]
    return console_page(request, "console/webhooks.html", {"rows": rows}, tab=TAB)


@never_cache
@require_http_methods(["GET", "POST"])
@team_view
def webhook_new(request: TeamRequest) -> HttpResponseBase:
    """Add a webhook, and show its secret once; syslog has none."""
    require(request, Permission.MANAGE_WEBHOOKS)
    form = WebhookForm(posted(request))
    if form.is_bound and form.is_valid():
        made = try_change(
            form,
            lambda: webhook_create(
                team=request.team, values=form.values, actor=request.actor
            ),
        )
        if made is not None:
            _test_if_asked(request, made[0])
        if made is not None and made[0].is_signed:
            return _secret_page(request, *made)
        if made is not None:
            messages.success(
                request, _("The webhook %(name)s is added.") % {"name": made[0].name}
            )
            return redirect("console:webhook", made[0].id)
    context = {"form": form, "back": reverse("console:webhook_list")}
    status = 422 if form.is_bound else 200
    return console_page(
        request, "console/webhook_form.html", context, tab=TAB, status=status
    )


@require_GET
@team_view
def webhook_page(request: TeamRequest, webhook_id: uuid.UUID) -> HttpResponseBase:
    """Show a webhook and its newest deliveries."""
    webhook = _webhook(request, webhook_id)
    deliveries = [
        {"delivery": each, "label": LABELS.get(each.event_type, each.event_type)}
        for each in delivery_list(webhook)[:SHOWN]
    ]
    context = {
        "webhook": webhook,
        "labels": _labels(webhook),
        "rows": deliveries,
        "shown": SHOWN,
    }
    return console_page(request, "console/webhook.html", context, tab=TAB)


@require_http_methods(["GET", "POST"])
@team_view
def webhook_edit(request: TeamRequest, webhook_id: uuid.UUID) -> HttpResponseBase:
    """Change a webhook."""
    webhook = _webhook(request, webhook_id)
    form = WebhookForm(posted(request), webhook=webhook)
    if form.is_bound and form.is_valid():
        saved = try_change(
            form,
            lambda: webhook_update(
                webhook=webhook, values=form.values, actor=request.actor
            ),
        )
        if saved is not None:
            messages.success(
                request, _("The webhook %(name)s is saved.") % {"name": saved.name}
            )
            _test_if_asked(request, saved)
            return redirect("console:webhook", webhook.id)
    back = reverse("console:webhook", args=[webhook.id])
    context = {"form": form, "webhook": webhook, "back": back}
    status = 422 if form.is_bound else 200
    return console_page(
        request, "console/webhook_form.html", context, tab=TAB, status=status
    )


@require_POST
@team_view
def webhook_switch(request: TeamRequest, webhook_id: uuid.UUID) -> HttpResponseBase:
    """Enable a webhook that is disabled, or the other way round."""
    webhook = _webhook(request, webhook_id)
    is_enabled = request.POST.get("enable") == "yes"
    values = {"is_enabled": is_enabled}
    done = (
        _("The webhook %(name)s is enabled.")
        if is_enabled
        else _("The webhook %(name)s is disabled.")
    )
    return change_and_tell(
        request,
        lambda: webhook_update(webhook=webhook, values=values, actor=request.actor),
        done % {"name": webhook.name},
        reverse("console:webhook", args=[webhook.id]),
    )


@never_cache
@require_http_methods(["GET", "POST"])
@team_view
def webhook_rotate(request: TeamRequest, webhook_id: uuid.UUID) -> HttpResponseBase:
    """Ask first, then replace the secret and show the new one once."""
    webhook = _webhook(request, webhook_id)
    if request.method == "POST":
        return _secret_page(
            request, *secret_rotate(webhook=webhook, actor=request.actor)
        )
    context = {
        "title": _("Replace the secret of “%(name)s”?") % {"name": webhook.name},
        "points": [
            _(
                "Messages are signed with both secrets for a day, so that the receiver "
                "can change over without losing any."
            ),
            _("The new secret is shown once."),
        ],
        "label": _("Replace secret"),
        "back": reverse("console:webhook", args=[webhook.id]),
        "is_harmless": True,
    }
    return console_page(request, "console/confirm.html", context, tab=TAB)


@require_POST
@team_view
def webhook_test_view(request: TeamRequest, webhook_id: uuid.UUID) -> HttpResponseBase:
    """Send a test."""
    webhook = _webhook(request, webhook_id)
    return change_and_tell(
        request,
        lambda: webhook_test(webhook=webhook, actor=request.actor),
        _(TEST_IS_SENT),
        reverse("console:webhook", args=[webhook.id]),
    )


def _test_if_asked(request: TeamRequest, webhook: Webhook) -> None:
    """Send a test if the form was saved with the button that says so."""
    if "test" not in request.POST:
        return
    try:
        webhook_test(webhook=webhook, actor=request.actor)
    except Conflict as error:
        refusal_show(request, error)
        return
    messages.info(request, _(TEST_IS_SENT))


@require_POST
@team_view
def webhook_resend(
    request: TeamRequest, webhook_id: uuid.UUID, delivery_id: uuid.UUID
) -> HttpResponseBase:
    """Send a message again."""
    webhook = _webhook(request, webhook_id)
    delivery: WebhookDelivery = access_delivery(webhook, delivery_id)
    return change_and_tell(
        request,
        lambda: delivery_resend(delivery=delivery, actor=request.actor),
        _("The message is sent again, with the same id."),
        reverse("console:webhook", args=[webhook.id]),
    )


@require_http_methods(["GET", "POST"])
@team_view
def webhook_remove(request: TeamRequest, webhook_id: uuid.UUID) -> HttpResponseBase:
    """Ask first, then delete a webhook."""
    webhook = _webhook(request, webhook_id)
    if request.method == "POST":
        return change_and_tell(
            request,
            lambda: webhook_delete(webhook=webhook, actor=request.actor),
            _("The webhook %(name)s is deleted.") % {"name": webhook.name},
            "console:webhook_list",
        )
    context = {
        "title": _("Delete the webhook “%(name)s”?") % {"name": webhook.name},
        "points": [
            _("Nothing more is sent to it, not even what waits for another attempt."),
            _(
                "Its secret and the list of its deliveries are erased. What was "
                "changed about it stays in the ledger."
            ),
        ],
        "label": _("Delete webhook"),
        "back": reverse("console:webhook", args=[webhook.id]),
    }
    return console_page(request, "console/confirm.html", context, tab=TAB)


def _webhook(request: TeamRequest, webhook_id: uuid.UUID) -> Webhook:
    require(request, Permission.MANAGE_WEBHOOKS)
    return access_webhook(team_id=request.team.id, webhook_id=webhook_id)


def _secret_page(
    request: TeamRequest, webhook: Webhook, secret: str
) -> HttpResponseBase:
    context = {"webhook": webhook, "secret": secret}
    return console_page(request, "console/webhook_secret.html", context, tab=TAB)


def _labels(webhook: Webhook) -> list[str]:
    """Return what a webhook sends, in words."""
    return [LABELS.get(name, name) for name in webhook.event_types]
