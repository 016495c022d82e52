"""The mails of this app: plain text, sent when what they tell of has committed."""

from __future__ import annotations

from django.conf import settings
from django.core.mail import EmailMessage
from django.db import transaction
from django.template.loader import render_to_string
from django.utils import translation

from apps.accounts.digests import INVITATION_MAIL, digests_of
from apps.accounts.models import Invitation, Role
from apps.core.plain_text import plain_line


def invitation_mail_send(invitation: Invitation, *, token: str) -> None:
    """Send the link of an invitation, once the open transaction commits.

    A mail server that fails is logged, no more: the invitation stands and can be sent
    again.
    """
    inviter = invitation.invited_by
    proof = digests_of(token, purpose=INVITATION_MAIL)[0]
    context = {
        "team": plain_line(invitation.team.name),
        "role": Role(invitation.role).label,
        "inviter": plain_line(inviter.get_full_name()) if inviter else "",
        "email": invitation.email,
        "link": f"{settings.CONDUCTOR_URL}/invitations/{token}/?proof={proof}",
        "expires_at": invitation.expires_at,
    }
    mail = EmailMessage(
        subject=plain_line(_render("subject", context)),
        body=_render("body", context),
        to=[invitation.email],
    )

    def send_invitation() -> None:
        mail.send()

    transaction.on_commit(send_invitation, robust=True)


def _render(part: str, context: dict[str, object]) -> str:
    """Render a part of the invitation's mail."""
    # Not in the language of the person who invites.
    with translation.override(settings.LANGUAGE_CODE):
        return render_to_string(f"accounts/mail/invitation_{part}.txt", context)
