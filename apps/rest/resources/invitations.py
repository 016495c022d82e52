"""Invitations into the team. Their links go out by mail alone, never in an answer."""

from __future__ import annotations

import uuid
from typing import Any

from django.urls import reverse
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.models import Invitation, Role
from apps.accounts.rights import MANAGE_MEMBERS, READ_INVITATIONS
from apps.accounts.selectors import access_invitation, invitation_list
from apps.accounts.services import (
    invitation_create,
    invitation_resend,
    invitation_revoke,
)
from apps.rest.fields import EmailText, Input, Output, Time, Word
from apps.rest.schema import operation
from apps.rest.views import RestView

TAG = "Invitations"
EXAMPLE: dict[str, Any] = {
    "id": "0199c0de-0000-7000-8000-000000000005",
    "email": "carol@example.org",
    "role": "member",
    "state": "open",
    "invited_by": "Alice",
    "created_at": "2026-11-21T15:53:16.000000Z",
    "expires_at": "2026-11-28T15:53:16.000000Z",
}


class InvitationInput(Input):
    """Whom to invite, and as what."""

    email = EmailText(max_length=254)
    role = Word(choices=Role.choices, default=Role.MEMBER.value)


class InvitationOutput(Output):
    """An invitation."""

    id = serializers.UUIDField()
    email = serializers.CharField()
    role = serializers.ChoiceField(choices=Role.choices)
    state = serializers.SerializerMethodField()
    invited_by = serializers.SerializerMethodField(
        help_text="Null: an API key, or a person whose account was deleted."
    )
    created_at = Time()
    expires_at = Time()

    def get_state(self, invitation: Invitation) -> str:
        """Return one of open, expired, accepted and revoked."""
        if invitation.accepted_at is not None:
            return "accepted"
        if invitation.revoked_at is not None:
            return "revoked"
        return "open" if invitation.is_open(timezone.now()) else "expired"

    def get_invited_by(self, invitation: Invitation) -> str | None:
        """Return who invited."""
        sender = invitation.invited_by
        return sender.get_full_name() if sender else None


class Invitations(RestView):
    """Invitations that wait."""

    tag = TAG
    rights = {"GET": READ_INVITATIONS, "POST": MANAGE_MEMBERS}

    @operation(
        "invitation_list",
        "List invitations",
        page_of=InvitationOutput,
        example=EXAMPLE,
    )
    def get(self, request: Request) -> Response:
        """Return the invitations that wait, expired ones too, newest first."""
        return self.listed(invitation_list(self.principal.team_id), InvitationOutput)

    @operation(
        "invitation_create",
        "Invite a person",
        body=InvitationInput,
        answer=InvitationOutput,
        status=201,
        sent={"email": "carol@example.org", "role": "member"},
        example=EXAMPLE,
    )
    def post(self, request: Request) -> Response:
        """Send an invitation by mail. Its link works for seven days."""
        invitation, _ = invitation_create(
            team=self.principal.team,
            actor=self.principal.actor,
            invited_by=self.principal.user,
            acting_role=self.principal.role,
            within=self.principal.key,
            **self.read(InvitationInput),
        )
        place = reverse("rest:invitation", args=[invitation.id])
        return self.created(InvitationOutput(invitation).data, place)


class OneInvitation(RestView):
    """One invitation."""

    tag = TAG
    rights = {"GET": READ_INVITATIONS, "DELETE": MANAGE_MEMBERS}

    @operation(
        "invitation_get",
        "Read an invitation",
        answer=InvitationOutput,
        example=EXAMPLE,
    )
    def get(self, request: Request, invitation_id: uuid.UUID) -> Response:
        """Return an invitation, in whatever state."""
        found = access_invitation(self.principal.team_id, invitation_id)
        return Response(InvitationOutput(found).data)

    @operation("invitation_revoke", "Revoke an invitation", errors=(409,))
    def delete(self, request: Request, invitation_id: uuid.UUID) -> Response:
        """Make an invitation's link dead."""
        invitation_revoke(
            invitation=access_invitation(self.principal.team_id, invitation_id),
            actor=self.principal.actor,
            acting_role=self.principal.role,
        )
        return Response(status=204)


class InvitationResend(RestView):
    """Sending an invitation again."""

    tag = TAG
    rights = {"POST": MANAGE_MEMBERS}

    @operation(
        "invitation_resend",
        "Send an invitation again",
        answer=InvitationOutput,
        errors=(409,),
        example=EXAMPLE,
    )
    def post(self, request: Request, invitation_id: uuid.UUID) -> Response:
        """Send a new link, good for seven days; the old one is dead."""
        invitation, _ = invitation_resend(
            invitation=access_invitation(self.principal.team_id, invitation_id),
            actor=self.principal.actor,
            acting_role=self.principal.role,
        )
        return Response(InvitationOutput(invitation).data)
