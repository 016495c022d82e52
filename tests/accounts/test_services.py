"""Teams, members and keys: the change, its entry, and what is refused."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from apps.accounts.models import ApiKey, Membership, Role, Team
from apps.accounts.services import (
    api_key_issue,
    api_key_revoke,
    member_add,
    member_remove,
    team_create,
)
from apps.audit.models import Entry
from apps.core.errors import InvalidInput
from apps.core.scoping import UnscopedQuery
from tests.factories import (
    ACTOR,
    MembershipFactory,
    TeamFactory,
    UserFactory,
    issue_key,
)

pytestmark = pytest.mark.django_db


def entries(team: Team) -> list[Entry]:
    return list(Entry.objects.for_team(team.id).order_by("seq"))


def actions(team: Team) -> list[str]:
    return [entry.action for entry in entries(team)]


def test_team_gets_its_first_owner():
    user = UserFactory.create()
    team = team_create(name="Blue Whales", owner=user, actor=ACTOR)
    assert team.slug == "blue-whales"
    assert Membership.objects.for_team(team.id).get().role == Role.OWNER
    assert actions(team) == ["team.created", "member.added"]


@pytest.mark.parametrize("slug", ["Upper", "with space", "a/b"])
def test_bad_slug_is_refused(slug: str):
    with pytest.raises(InvalidInput, match="slug"):
        team_create(name="x", slug=slug, actor=ACTOR)


def test_name_without_letters_needs_a_slug():
    with pytest.raises(InvalidInput, match="slug"):
        team_create(name="!!!", actor=ACTOR)


def test_slug_is_taken_once():
    TeamFactory.create(slug="taken")
    with pytest.raises(InvalidInput, match="already"):
        team_create(name="Taken", actor=ACTOR)


def test_member_is_added_once():
    team, user = TeamFactory.create(), UserFactory.create()
    member_add(team=team, user=user, role=Role.VIEWER, actor=ACTOR)
    with pytest.raises(InvalidInput, match="already"):
        member_add(team=team, user=user, role=Role.OWNER, actor=ACTOR)
    assert actions(team) == ["member.added"]


def test_member_is_removed():
    membership = MembershipFactory.create()
    team = membership.team
    member_remove(team=team, user=membership.user, actor=ACTOR)
    assert not Membership.objects.for_team(team.id).exists()
    assert actions(team) == ["member.removed"]


def test_stranger_cannot_be_removed():
    with pytest.raises(InvalidInput, match="is not in team"):
        member_remove(team=TeamFactory.create(), user=UserFactory.create(), actor=ACTOR)


def test_last_owner_stays():
    owner = MembershipFactory.create(role=Role.OWNER)
    with pytest.raises(InvalidInput, match="last owner"):
        member_remove(team=owner.team, user=owner.user, actor=ACTOR)


def test_key_lives_ninety_days():
    key = issue_key().row
    assert (key.expires_at - key.created_at).days in (89, 90)


@pytest.mark.parametrize(
    ("values", "param"),
    [
        ({"name": "  "}, "name"),
        ({"scopes": ()}, "scopes"),
        ({"scopes": ("everything",)}, "scopes"),
        ({"lifetime": timedelta()}, "lifetime"),
    ],
)
def test_bad_key_request_is_refused(values: dict[str, Any], param: str):
    team = TeamFactory.create()
    with pytest.raises(InvalidInput) as caught:
        api_key_issue(**{"team": team, "name": "n", "actor": ACTOR, **values})
    assert caught.value.param == param
    assert actions(team) == []


def test_entries_of_a_key_hold_no_secret():
    team = TeamFactory.create()
    key = issue_key(team)
    api_key_revoke(api_key=key.row, actor=ACTOR)
    recorded = repr([entry.__dict__ for entry in entries(team)])
    assert actions(team) == ["api_key.issued", "api_key.revoked"]
    assert key.row.prefix in recorded
    assert key.secret not in recorded
    assert key.secret[12:] not in recorded


def test_second_revoke_records_nothing():
    key = issue_key()
    api_key_revoke(api_key=key.row, actor=ACTOR)
    api_key_revoke(api_key=key.row, actor=ACTOR)
    assert actions(key.row.team) == ["api_key.issued", "api_key.revoked"]


def test_failed_entry_undoes_the_change(monkeypatch: pytest.MonkeyPatch):
    def refuse(**kwargs: object) -> None:
        raise RuntimeError("the ledger is away")

    team = TeamFactory.create()
    monkeypatch.setattr("apps.accounts.services.entries_append", refuse)
    with pytest.raises(RuntimeError):
        issue_key(team)
    assert not ApiKey.objects.for_team(team.id).exists()


def test_key_of_another_team_is_not_found():
    key = issue_key()
    assert (
        not ApiKey.objects.for_team(TeamFactory.create().id)
        .filter(pk=key.row.pk)
        .exists()
    )


@pytest.mark.parametrize("model", [ApiKey, Membership])
def test_query_without_a_team_is_refused(model: type[ApiKey] | type[Membership]):
    with pytest.raises(UnscopedQuery):
        list(model.objects.all())
