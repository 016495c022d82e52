"""Mails to people who can approve a plan: plain text, with a signed link to its page.

The link leads to a page behind the sign-in: nobody approves by a link alone.
"""

from __future__ import annotations

import logging
import uuid

from django.core.mail import EmailMessage
from django.template.loader import render_to_string
from django.utils import timezone

from apps.accounts.models import User
from apps.core.plain_text import plain_line
from apps.governance.approvals.links import approval_link
from apps.governance.approvals.pending import approvers_of
from apps.governance.approvals.recorded import data_class_on_record
from apps.runs.models import ApprovalState, PlanApproval

logger = logging.getLogger(__name__)


def approvers_notify(run_id: uuid.UUID) -> int:
    """Write to all who can approve the plan of a run that waits; return how many.

    Once for each plan, whatever happens to the process. A mail server that fails is
    logged, no more: the plan waits in the list all the same.
    """
    rows = PlanApproval.objects.across_teams().filter(
        run_id=run_id, state=ApprovalState.WAITING, settled_at=None, notified_at=None
    )
    if not rows.update(notified_at=timezone.now()):
        return 0
    waiting = PlanApproval.objects.across_teams().select_related("run", "team")
    approval = waiting.get(run_id=run_id, settled_at=None)
    sent = 0
    for person in approvers_of(approval):
        try:
            sent += _mail(approval, person).send()
        except OSError as exc:  # SMTP's errors among them
            logger.warning("a mail to an approver could not be sent: %s", exc)
    return sent


def _mail(approval: PlanApproval, person: User) -> EmailMessage:
    context = {
        "team": plain_line(approval.team.name),
        "requester": plain_line(approval.run.actor_name),
        "data_class": data_class_on_record(approval),
        "link": approval_link(approval, person.id),
        "expires_at": approval.expires_at,
    }
    return EmailMessage(
        subject=f"A plan of {context['team']} waits for your approval",
        body=render_to_string("governance/mail/approval_body.txt", context),
        to=[person.email],
    )
