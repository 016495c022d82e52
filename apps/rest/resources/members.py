"""Members of the team and their roles."""

from __future__ import annotations

import uuid
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.models import Role
from apps.accounts.rights import MANAGE_MEMBERS, READ_MEMBERS
from apps.accounts.selectors import access_member, member_list
from apps.accounts.services import member_change_role, member_remove
from apps.rest.fields import Input, Output, Time, Word
from apps.rest.schema import operation
from apps.rest.views import RestView

TAG = "Members"
EXAMPLE: dict[str, Any] = {
    "user_id": "0199c0de-0000-7000-8000-000000000004",
    "email": "bob@example.org",
    "name": "Bob",
    "role": "member",
    "joined_at": "2026-11-21T15:53:16.000000Z",
}


class MemberInput(Input):
    """What can be changed about a member."""

    role = Word(choices=Role.choices)


class MemberOutput(Output):
    """A member."""

    user_id = serializers.UUIDField()
    email = serializers.CharField(source="user.email")
    name = serializers.CharField(source="user.name")
    role = serializers.ChoiceField(choices=Role.choices)
    joined_at = Time(source="created_at")


class Members(RestView):
    """The members of the team."""

    tag = TAG
    rights = {"GET": READ_MEMBERS}

    @operation("member_list", "List members", page_of=MemberOutput, example=EXAMPLE)
    def get(self, request: Request) -> Response:
        """Return the members: owners first, then by role and name."""
        return self.listed(member_list(self.principal.team_id), MemberOutput)


class OneMember(RestView):
    """One member."""

    tag = TAG
    rights = {
        "GET": READ_MEMBERS,
        "PATCH": MANAGE_MEMBERS,
        "DELETE": MANAGE_MEMBERS,
    }

    @operation("member_get", "Read a member", answer=MemberOutput, example=EXAMPLE)
    def get(self, request: Request, user_id: uuid.UUID) -> Response:
        """Return a member."""
        return Response(
            MemberOutput(access_member(self.principal.team_id, user_id)).data
        )

    @operation(
        "member_change_role",
        "Change a member's role",
        body=MemberInput,
        answer=MemberOutput,
        errors=(409,),
        sent={"role": "admin"},
        example={**EXAMPLE, "role": "admin"},
    )
    def patch(self, request: Request, user_id: uuid.UUID) -> Response:
        """Give a member another role. Only owners make, change and unmake owners."""
        values = self.read(MemberInput)
        membership = access_member(self.principal.team_id, user_id)
        changed = member_change_role(
            team=self.principal.team,
            user=membership.user,
            role=values["role"],
            actor=self.principal.actor,
            acting_role=self.principal.role,
            within=self.principal.key,
        )
        return Response(MemberOutput(changed).data)

    @operation("member_remove", "Remove a member", errors=(409,))
    def delete(self, request: Request, user_id: uuid.UUID) -> Response:
        """Remove a member; the keys they made in the team are revoked."""
        membership = access_member(self.principal.team_id, user_id)
        member_remove(
            team=self.principal.team,
            user=membership.user,
            actor=self.principal.actor,
            acting_role=self.principal.role,
        )
        return Response(status=204)
