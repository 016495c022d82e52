"""The authenticated principal and its teams."""

from __future__ import annotations

from typing import Any, cast

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.models import Permission, Role, Team, User
from apps.accounts.principal import Principal
from apps.accounts.rights import READ_TEAM, Right
from apps.accounts.selectors import membership_list
from apps.accounts.services import member_leave
from apps.accounts.types import KeyHolder
from apps.rest.authentication import principal_of
from apps.rest.fields import Output, Time
from apps.rest.permissions import HasRight
from apps.rest.schema import operation
from apps.rest.views import RestView

TAG = "Me"
LEAVE = Right(Permission.READ_TEAM)
EXAMPLE: dict[str, Any] = {
    "type": "api_key",
    "user": None,
    "key": {
        "id": "0199c0de-0000-7000-8000-000000000002",
        "name": "Build server",
        "scopes": ["runs:create", "runs:read"],
        "expires_at": "2027-02-19T15:53:16.000000Z",
    },
    "team": {
        "id": "0199c0de-0000-7000-8000-000000000003",
        "slug": "orchestra",
        "name": "Orchestra",
    },
    "role": None,
    "teams": [],
}


class TeamNameOutput(Output):
    """A team by its names."""

    id = serializers.UUIDField()
    slug = serializers.CharField()
    name = serializers.CharField()


class MyTeamOutput(TeamNameOutput):
    """A team and one's role there."""

    role = serializers.ChoiceField(choices=Role.choices)


class MyUserOutput(Output):
    """A person."""

    id = serializers.UUIDField()
    email = serializers.CharField()
    name = serializers.CharField()


class MyKeyOutput(Output):
    """The key that asks."""

    id = serializers.UUIDField(source="key_id")
    name = serializers.CharField(source="display")
    scopes = serializers.ListField(child=serializers.CharField())
    expires_at = Time()


class MeOutput(Output):
    """The principal: a person or a key."""

    type = serializers.ChoiceField(choices=["user", "api_key"])
    user = MyUserOutput(allow_null=True)
    key = MyKeyOutput(allow_null=True)
    team = TeamNameOutput(
        allow_null=True, help_text="The one that is meant. Null: you are in none."
    )
    role = serializers.ChoiceField(
        choices=Role.choices, allow_null=True, help_text="Yours in it; null for a key."
    )
    teams = MyTeamOutput(many=True, help_text="All of yours; none for a key.")


class MayAsk(HasRight):
    """Lets in people without a team as well: they are to learn that they have none."""

    def has_permission(self, request: Request, view: Any) -> bool:
        """Let keys in by their right, and everybody who has signed in."""
        is_person = isinstance(request.user, User)
        return is_person or super().has_permission(request, view)


class Me(RestView):
    """Who is asking."""

    tag = TAG
    rights = {"GET": READ_TEAM}
    permission_classes = [MayAsk]

    @operation("me_get", "Who am I", answer=MeOutput, example=EXAMPLE)
    def get(self, request: Request) -> Response:
        """Return the principal, its team, and the person's other teams."""
        return Response(MeOutput(_me(request)).data)


class MyMembership(RestView):
    """Being a member of the team."""

    tag = TAG
    rights = {"DELETE": LEAVE}

    @operation("me_leave", "Leave the team", errors=(409,))
    def delete(self, request: Request) -> Response:
        """Leave the team, which revokes the keys you made in it.

        The last owner cannot leave.
        """
        user, team = self.principal.user, self.principal.team
        assert user is not None  # no key has this right
        member_leave(team=team, user=user, actor=self.principal.actor)
        return Response(status=204)


def _me(request: Request) -> dict[str, Any]:
    if isinstance(request.auth, KeyHolder):
        return _told(principal_of(request), _team_of(request.auth), [])
    person = cast(User, request.user)
    teams = [
        {
            "id": each.team_id,
            "slug": each.team.slug,
            "name": each.team.name,
            "role": each.role,
        }
        for each in membership_list(person)
    ]
    if teams:
        principal = principal_of(request)
        return _told(principal, principal.team, teams)
    nothing: dict[str, Any] = {"key": None, "team": None, "role": None, "teams": []}
    return {"type": "user", "user": person, **nothing}


def _team_of(key: KeyHolder) -> dict[str, Any]:
    return {"id": key.team_id, "slug": key.team_slug, "name": key.team_name}


def _told(
    principal: Principal, team: Team | dict[str, Any], teams: list[dict[str, Any]]
) -> dict[str, Any]:
    return {
        "type": "api_key" if principal.key else "user",
        "user": principal.user,
        "key": principal.key,
        "team": team,
        "role": None if principal.key else principal.role,
        "teams": teams,
    }
