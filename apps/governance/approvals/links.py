"""Signed links to plans that wait, one for each person who gets a mail.

A link opens nothing: it leads to a page behind the sign-in. Its signature covers the
run, the plan and the person, so the page can say that a link is not for this reader,
is about another plan by now, or was changed on its way.
"""

from __future__ import annotations

import uuid

from django.conf import settings
from django.core.signing import BadSignature, SignatureExpired, TimestampSigner
from django.utils.translation import gettext_noop as _

from apps.runs.models import PlanApproval

SALT = "conductor.approval-link"
ALTERED = _("This link is not as Conductor made it: it was changed, or is incomplete.")
LATE = _("The time of this link is over.")
OTHER_PERSON = _("This link was made for another person.")
OTHER_PLAN = _("The plan has been changed since this link was made.")


def approval_link(approval: PlanApproval, user_id: uuid.UUID) -> str:
    """Return the address that leads one person to a plan that waits."""
    token = _signer().sign_object(_signed(approval, user_id))
    page = f"{settings.CONDUCTOR_URL}/runs/{approval.run_id}/approval"
    return f"{page}/link/?link={token}"


def link_fault(token: str, approval: PlanApproval, user_id: uuid.UUID) -> str:
    """Return in a sentence why a link does not fit; empty if it does.

    It is valid for as long as the plan may wait.
    """
    lasts = approval.expires_at - approval.requested_at
    try:
        signed = _signer().unsign_object(token, max_age=lasts)
    except SignatureExpired:
        return LATE
    except BadSignature:
        return ALTERED
    run_id, digest, recipient = signed
    wanted_run, wanted_digest, reader = _signed(approval, user_id)
    if run_id != wanted_run:
        return ALTERED
    if recipient != reader:
        return OTHER_PERSON
    return "" if digest == wanted_digest else OTHER_PLAN


def _signer() -> TimestampSigner:
    return TimestampSigner(salt=SALT)


def _signed(approval: PlanApproval, user_id: uuid.UUID) -> list[str]:
    return [str(approval.run_id), approval.plan_digest, str(user_id)]
