"""Teams and keys at a terminal."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from apps.accounts.models import ApiKey, Membership, Team
from apps.accounts.services import api_key_resolve
from tests.factories import TeamFactory, UserFactory

pytestmark = pytest.mark.django_db


def run(*arguments: str) -> tuple[str, str]:
    out, err = StringIO(), StringIO()
    call_command(*arguments, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def test_team_is_created_with_its_owner():
    user = UserFactory.create(email="ann@example.org")
    out, _ = run("team_create", "Blue Whales", "--owner", "Ann@example.org")
    team = Team.objects.get(slug="blue-whales")
    assert str(team.id) in out
    assert Membership.objects.for_team(team.id).get().user == user


def test_team_of_an_unknown_owner_is_not_created():
    with pytest.raises(CommandError, match="no user"):
        run("team_create", "Blue Whales", "--owner", "nobody@example.org")
    assert not Team.objects.exists()


def test_second_team_of_a_slug_is_refused():
    TeamFactory.create(slug="blue")
    with pytest.raises(CommandError, match="already"):
        run("team_create", "Blue", "--slug", "blue")


def test_key_alone_goes_to_standard_output():
    team = TeamFactory.create(slug="blue")
    out, err = run("api_key_issue", "--team", "blue", "--name", "ci", "--days", "7")
    assert api_key_resolve(out.strip(), now=timezone.now()).team_id == team.id
    assert out.strip() not in err


def test_key_gets_only_the_scopes_asked_for():
    team = TeamFactory.create(slug="blue")
    run("api_key_issue", "--team", "blue", "--name", "ci", "--scope", "runs:read")
    assert ApiKey.objects.for_team(team.id).get().scopes == ["runs:read"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--team", "nowhere", "--name", "n"), "no team"),
        (("--team", "blue", "--name", " "), "needs a name"),
        (("--team", "blue", "--name", "n", "--days", "0"), "live for some time"),
    ],
)
def test_bad_key_request_is_refused(arguments: tuple[str, ...], complaint: str):
    TeamFactory.create(slug="blue")
    with pytest.raises(CommandError, match=complaint):
        run("api_key_issue", *arguments)
