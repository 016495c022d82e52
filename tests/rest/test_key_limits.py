"""Promise T6: a key never loosens what binds it, its maker or its team."""

from __future__ import annotations

import datetime as dt

import pytest
from django.utils import timezone

from apps.accounts.models import ApiKey, Membership, Role, Scope
from apps.accounts.services import api_key_rotate
from apps.budgets.models import Budget
from apps.budgets.services import budget_create
from tests.factories import ACTOR, issue_key
from tests.rest.conftest import actions, fault, program


@pytest.fixture
def own(cast):
    """A key of bob's that may set budgets and rates, and manage members and keys."""
    scopes = [Scope.BUDGETS_WRITE, Scope.MEMBERS_WRITE, Scope.KEYS_WRITE]
    return issue_key(cast.team, scopes=scopes, created_by=cast.bob)


@pytest.fixture
def bot(own):
    return program(own.secret)


def budget(team, kind="team", **target):
    values = {"kind": kind, "period": "month", "limit_usd": "10.00", **target}
    return budget_create(team=team, values=values, actor=ACTOR)


@pytest.fixture(params=["team", "member", "key", "rotated"])
def binding(request, cast, own):
    """A budget that binds the key: its team's, its maker's, its own, its forebear's."""
    match request.param:
        case "member":
            return budget(cast.team, "member", user_id=str(cast.bob.id))
        case "key":
            return budget(cast.team, "key", api_key_id=str(own.row.id))
        case "rotated":
            old = issue_key(cast.team, scopes=[Scope.BUDGETS_WRITE]).row
            row = budget(cast.team, "key", api_key_id=str(old.id))
            ApiKey.objects.for_team(cast.team.id).filter(id=old.id).update(
                replaced_by=own.row
            )
            return row
    return budget(cast.team)


def test_a_key_does_not_raise_a_budget_that_binds_it(cast, bot, binding):
    before = actions(cast.team)
    place = f"budgets/{binding.id}/"
    message = fault(bot.patch(place, {"limit_usd": "10.01"}), 403)["message"]
    assert "binds this API key" in message
    assert Budget.objects.for_team(cast.team.id).get().limit_micros == 10_000_000
    assert actions(cast.team) == before


def test_a_key_does_not_lift_a_budget_that_binds_it(cast, bot, binding):
    fault(bot.delete(f"budgets/{binding.id}/"), 403)
    assert Budget.objects.for_team(cast.team.id).exists()


def test_a_key_tightens_a_budget_that_binds_it(bot, binding):
    place = f"budgets/{binding.id}/"
    assert bot.patch(place, {"limit_usd": "9.99"}).json()["limit_usd"] == "9.99"
    assert bot.patch(place, {"limit_usd": "9.99"}).status_code == 200
    fault(bot.patch(place, {"limit_usd": "10.00"}), 403)


def test_a_key_changes_budgets_that_bind_others(cast, bot):
    for row in (
        budget(cast.team, "member", user_id=str(cast.vera.id)),
        budget(cast.team, "key", api_key_id=str(cast.key.row.id)),
    ):
        place = f"budgets/{row.id}/"
        assert bot.patch(place, {"limit_usd": "20.00"}).status_code == 200
        assert bot.delete(place).status_code == 204


def test_a_person_changes_every_budget_by_role(alice, bob, binding):
    place = f"budgets/{binding.id}/"
    fault(bob.patch(place, {"limit_usd": "20.00"}), 403)
    assert alice.patch(place, {"limit_usd": "20.00"}).status_code == 200
    assert alice.delete(place).status_code == 204


RATES = ("requests_per_minute", "tokens_per_minute")


@pytest.mark.parametrize("rate", RATES)
def test_a_key_does_not_raise_its_team_s_rate(cast, alice, bot, rate):
    assert alice.patch("team/", {rate: 60}).status_code == 200
    for looser in (61, None):
        assert rate in fault(bot.patch("team/", {rate: looser}), 403)["message"]
    assert alice.get("team/").json()[rate] == 60
    assert bot.patch("team/", {rate: 59}).json()[rate] == 59
    assert alice.patch("team/", {rate: None}).status_code == 200
    assert bot.patch("team/", {rate: 100}).json()[rate] == 100


@pytest.mark.parametrize("rate", RATES)
def test_a_key_does_not_raise_its_own_rate(cast, alice, bot, own, rate):
    place = f"keys/{own.row.id}/"
    assert alice.patch(place, {rate: 60}).status_code == 200
    for looser in (61, None):
        fault(bot.patch(place, {rate: looser}), 403)
    assert bot.patch(place, {rate: 59}).status_code == 200


def test_a_key_does_not_give_itself_more_tiers_workers_or_scopes(alice, bot, own):
    place = f"keys/{own.row.id}/"
    tight = {"allowed_tiers": ["mini"], "allowed_workers": ["alpha"]}
    assert alice.patch(place, tight).status_code == 200
    for field, looser in (
        ("allowed_tiers", []),
        ("allowed_tiers", ["mini", "ultra"]),
        ("allowed_workers", []),
        ("scopes", [*own.row.scopes, "pools:write"]),
    ):
        fault(bot.patch(place, {field: looser}), 403)


# --- roles ---------------------------------------------------------------------------


def role_of(cast, user):
    return Membership.objects.for_team(cast.team.id).get(user=user).role


@pytest.mark.parametrize("role", [Role.ADMIN, Role.REVIEWER])
def test_a_key_does_not_raise_its_maker(cast, alice, bot, role):
    """Neither reaches within what a member may: a reviewer reads the ledger."""
    place = f"members/{cast.bob.id}/"
    assert "maker" in fault(bot.patch(place, {"role": role}), 403)["message"]
    assert role_of(cast, cast.bob) == Role.MEMBER
    assert bot.patch(place, {"role": Role.VIEWER}).status_code == 200
    fault(bot.patch(place, {"role": Role.MEMBER}), 403)
    assert alice.patch(place, {"role": role}).status_code == 200


def test_a_key_gives_nobody_a_role_beyond_its_maker_s(cast, bot):
    fault(bot.patch(f"members/{cast.vera.id}/", {"role": "admin"}), 403)
    assert bot.patch(f"members/{cast.vera.id}/", {"role": "member"}).status_code == 200
    sent = {"email": "bob.two@example.org", "role": "admin"}
    fault(bot.post("invitations/", sent), 403)
    assert bot.post("invitations/", {**sent, "role": "member"}).status_code == 201


def test_a_key_of_an_admin_gives_an_admin_s_role(cast):
    admin = issue_key(cast.team, scopes=[Scope.MEMBERS_WRITE], created_by=cast.alice)
    place = f"members/{cast.vera.id}/"
    assert program(admin.secret).patch(place, {"role": "admin"}).status_code == 200
    fault(program(admin.secret).patch(place, {"role": "owner"}), 403)


def test_a_key_made_at_a_terminal_gives_an_admin_s_role(cast):
    made = issue_key(cast.team, scopes=[Scope.MEMBERS_WRITE])
    place = f"members/{cast.vera.id}/"
    assert program(made.secret).patch(place, {"role": "admin"}).status_code == 200
    fault(program(made.secret).patch(place, {"role": "owner"}), 403)


def test_a_rotated_key_is_bound_as_the_one_before_it(cast, own):
    """Rotating sheds neither the budget of the key nor that of its maker."""
    row = budget(cast.team, "key", api_key_id=str(own.row.id))
    assert own.row.is_live(timezone.now())
    _, secret = api_key_rotate(api_key=own.row, actor=ACTOR)
    fault(program(secret).patch(f"budgets/{row.id}/", {"limit_usd": "11.00"}), 403)


# --- lifetimes -----------------------------------------------------------------------

DAYS_LEFT = 30
KEY_WORD = {"name": "Next", "scopes": ["keys:write"]}


@pytest.fixture
def brief(cast):
    """A key that may manage keys and lives for thirty days."""
    lifetime = dt.timedelta(days=DAYS_LEFT)
    return issue_key(cast.team, scopes=[Scope.KEYS_WRITE], lifetime=lifetime)


def end_of(team, told):
    return ApiKey.objects.for_team(team.id).get(id=told["id"]).expires_at


def test_a_key_makes_no_key_that_outlives_it(cast, alice, brief):
    before = actions(cast.team)
    sent = {**KEY_WORD, "lifetime_days": DAYS_LEFT}
    message = fault(program(brief.secret).post("keys/", sent), 403)["message"]
    assert brief.row.expires_at.date().isoformat() in message
    assert actions(cast.team) == before
    sent["lifetime_days"] = DAYS_LEFT - 1
    assert program(brief.secret).post("keys/", sent).status_code == 201
    sent["lifetime_days"] = DAYS_LEFT + 1
    assert alice.post("keys/", sent).status_code == 201


def test_a_key_that_names_no_lifetime_makes_one_that_ends_with_it(cast, brief):
    told = program(brief.secret).post("keys/", KEY_WORD).json()
    assert end_of(cast.team, told) == brief.row.expires_at


def test_a_key_that_lives_long_makes_keys_of_ninety_days(cast):
    lifetime = dt.timedelta(days=900)
    long = issue_key(cast.team, scopes=[Scope.KEYS_WRITE], lifetime=lifetime)
    told = program(long.secret).post("keys/", KEY_WORD).json()
    left = end_of(cast.team, told) - timezone.now()
    assert dt.timedelta(days=89) < left <= dt.timedelta(days=90)


@pytest.mark.parametrize("which", ["itself", "another"])
def test_a_key_rotates_to_none_that_outlives_it(cast, brief, which):
    row = brief.row
    if which == "another":
        row = issue_key(cast.team, scopes=[Scope.KEYS_WRITE]).row
    answer = program(brief.secret).post(f"keys/{row.id}/rotate/")
    assert answer.status_code == 201
    assert end_of(cast.team, answer.json()) == brief.row.expires_at


def test_a_key_rotates_a_briefer_one_to_the_same_lifetime(cast, brief):
    lifetime = dt.timedelta(days=7)
    row = issue_key(cast.team, scopes=[Scope.KEYS_WRITE], lifetime=lifetime).row
    told = program(brief.secret).post(f"keys/{row.id}/rotate/").json()
    left = end_of(cast.team, told) - timezone.now()
    assert dt.timedelta(days=6) < left <= dt.timedelta(days=7)


def test_a_person_rotates_to_the_full_lifetime(cast, alice, brief):
    told = alice.post(f"keys/{brief.row.id}/rotate/").json()
    assert end_of(cast.team, told) > brief.row.expires_at
