"""Two people, or two clicks, at the same moment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from apps.accounts.models import ApiKey, Invitation, Membership, User
from apps.accounts.services import (
    api_key_rotate,
    invitation_accept,
    invitation_create,
    member_remove,
    team_create,
)
from apps.core.errors import ConductorError
from tests.accounts.ledger import actions
from tests.factories import (
    ACTOR,
    PASSWORD,
    MembershipFactory,
    TeamFactory,
    UserFactory,
    issue_key,
)

pytestmark = pytest.mark.django_db(transaction=True)


def at_once(*deeds: Callable[[], object]) -> list[str]:
    """Do all of it in parallel; return the error of each, or an empty word."""
    barrier = Barrier(len(deeds))

    def attempt(deed: Callable[[], object]) -> str:
        try:
            barrier.wait(timeout=10)
            deed()
        except ConductorError as exc:
            return type(exc).__name__
        finally:
            connection.close()
        return ""

    with ThreadPoolExecutor(len(deeds)) as pool:
        return sorted(pool.map(attempt, deeds))


def test_two_owners_who_remove_each_other_leave_one():
    team = TeamFactory.create()
    owners = [MembershipFactory.create(team=team, role="owner").user for _ in range(2)]
    removals = [
        partial(member_remove, team=team, user=user, actor=ACTOR) for user in owners
    ]
    outcomes = at_once(*removals)
    assert outcomes == ["", "Conflict"]
    assert Membership.objects.for_team(team.id).count() == 1
    assert actions(team) == ["member.removed"]


def test_invitation_clicked_twice_is_accepted_once():
    team, user = TeamFactory.create(), UserFactory.create()
    _, token = invitation_create(
        team=team, email=user.email, role="member", actor=ACTOR
    )

    def accept() -> None:
        invitation_accept(token=token, user=user)

    assert at_once(accept, accept) == ["", "NotFound"]
    assert actions(team).count("member.added") == 1


def test_address_invited_twice_at_once_is_invited_once():
    team = TeamFactory.create()

    def invite() -> None:
        invitation_create(
            team=team, email="new@example.org", role="member", actor=ACTOR
        )

    assert at_once(invite, invite) == ["", "InvalidFields"]
    assert Invitation.objects.for_team(team.id).count() == 1
    assert actions(team) == ["invitation.created"]


def test_accounts_made_with_one_invitation_at_once_are_one():
    team, answers = TeamFactory.create(), []
    _, token = invitation_create(
        team=team, email="new@example.org", role="member", actor=ACTOR
    )
    clients = [Client(raise_request_exception=False) for _ in range(8)]
    for client in clients:
        client.get(f"/invitations/{token}/")

    def sign_up(client: Client) -> None:
        person = {"name": "New", "email": "new@example.org", "password1": PASSWORD}
        answers.append(client.post(reverse("account_signup"), person))

    at_once(*(partial(sign_up, client) for client in clients))
    assert [answer.status_code for answer in answers if answer.status_code >= 500] == []
    assert User.objects.count() == 1
    led_to = Counter(answer.headers.get("Location") for answer in answers)
    assert led_to[f"/invitations/{token}/"] == 1


def test_key_rotated_twice_at_once_is_rotated_once():
    key = issue_key().row

    def rotate() -> None:
        api_key_rotate(api_key=key, actor=ACTOR)

    assert at_once(rotate, rotate) == ["", "Conflict"]
    assert ApiKey.objects.for_team(key.team_id).count() == 2


def test_slug_asked_for_twice_at_once_is_given_once():
    def make() -> None:
        team_create(name="Blue", slug="blue", actor=ACTOR)

    assert at_once(make, make) == ["", "InvalidFields"]
