"""The mail about a webhook that the site had to disable."""

from __future__ import annotations

import logging

from django.conf import settings
from django.core.mail import EmailMessage
from django.db import transaction
from django.template.loader import render_to_string

from apps.accounts.models import Permission, User
from apps.accounts.selectors import roles_with
from apps.core.plain_text import plain_line
from apps.webhooks.models import Webhook

logger = logging.getLogger(__name__)


def disabled_mail_send(webhook: Webhook) -> None:
    """Write to all who manage the team's webhooks, once the transaction commits.

    A mail server that fails is logged, no more: the page says the same.
    """
    context = {
        "team": plain_line(webhook.team.name),
        "name": plain_line(webhook.name),
        "reason": webhook.disabled_reason,
        "link": f"{settings.CONDUCTOR_URL}/webhooks/{webhook.id}/",
    }
    people = User.objects.filter(
        memberships__team=webhook.team_id,
        memberships__role__in=roles_with(Permission.MANAGE_WEBHOOKS),
        is_active=True,
    )
    mails = [
        EmailMessage(
            subject=f"A webhook of {context['team']} has been disabled",
            body=render_to_string("webhooks/mail/disabled_body.txt", context),
            to=[person.email],
        )
        for person in people.order_by("email")
    ]

    def send_all() -> None:
        for mail in mails:
            try:
                mail.send()
            except OSError as exc:  # SMTP's errors among them
                logger.warning("a mail about a webhook could not be sent: %s", exc)

    transaction.on_commit(send_all, robust=True)
