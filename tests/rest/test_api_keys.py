"""API keys over REST: the secret once, rotation, revoking, no way to more rights."""

from __future__ import annotations

import pytest
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from apps.accounts.models import ApiKey, Scope
from apps.accounts.services import api_key_resolve
from apps.budgets.selectors import standings_peek, standings_read
from apps.budgets.services import budget_create
from tests.factories import ACTOR, issue_key
from tests.rest.conftest import actions, fault, keyed, program


def test_a_key_is_made_and_works(alice, cast):
    answer = alice.post("keys/", {"name": "CI", "scopes": ["members:read"]})
    assert answer.status_code == 201
    told = answer.json()
    assert told["secret"].startswith(told["prefix"])
    assert (told["state"], told["created_by"]) == ("live", "Alice")
    assert answer["Location"].endswith(f"/api/v1/keys/{told['id']}/")
    caller = program(told["secret"])
    assert caller.get("members/").status_code == 200
    fault(caller.get("runs/"), 403)
    assert actions(cast.team)[-1] == "api_key.issued"


def test_a_secret_is_told_once(alice):
    told = alice.post("keys/", {"name": "CI"}).json()
    for path in ("keys/", f"keys/{told['id']}/"):
        assert told["secret"] not in alice.get(path).content.decode()


def test_a_key_gets_what_is_usual_where_nothing_is_said(alice):
    told = alice.post("keys/", {"name": "CI"}).json()
    assert told["scopes"] == ["runs:create", "runs:read", "workers:direct"]
    made, ends = (parse_datetime(told[name]) for name in ("created_at", "expires_at"))
    assert made and ends and 89 <= (ends - made).days <= 90


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "a\nb"}, "name"),
        ({"scopes": []}, "scopes"),
        ({"scopes": ["everything"]}, "scopes[0]"),
        ({"scopes": "runs:read"}, "scopes"),
        ({"scopes": [{}]}, "scopes[0]"),
        ({"allowed_tiers": ["maxi"]}, "allowed_tiers[0]"),
        ({"allowed_workers": [""]}, "allowed_workers[0]"),
        ({"allowed_workers": ["w"] * 1000}, "allowed_workers"),
        ({"requests_per_minute": 0}, "requests_per_minute"),
        ({"tokens_per_minute": -1}, "tokens_per_minute"),
        ({"lifetime_days": 0}, "lifetime_days"),
        ({"lifetime_days": 10**6}, "lifetime_days"),
        ({"always_include_usage": "yes"}, "always_include_usage"),
        ({"delivery": "later"}, "delivery"),
        ({"delivery": ""}, "delivery"),
        ({"progress": "loud"}, "progress"),
        ({"team_id": "0199c0de-0000-7000-8000-000000000003"}, "team_id"),
        ({"secret": "cdk_mine"}, "secret"),
    ],
)
def test_a_bad_key_is_refused(alice, cast, change, field):
    before = ApiKey.objects.for_team(cast.team.id).count()
    error = fault(alice.post("keys/", {"name": "CI", **change}), 400)
    assert error["fields"].keys() == {field}
    assert ApiKey.objects.for_team(cast.team.id).count() == before


def test_a_key_is_changed(alice, cast):
    place = f"keys/{cast.key.row.id}/"
    answer = alice.patch(place, {"name": "New", "allowed_tiers": ["mini"]}).json()
    assert (answer["name"], answer["allowed_tiers"]) == ("New", ["mini"])
    assert answer["scopes"] == cast.key.row.scopes
    assert actions(cast.team)[-1] == "api_key.updated"


def test_a_key_says_how_answers_go_out(alice, cast):
    place = f"keys/{cast.key.row.id}/"
    assert alice.get(place).json()["delivery"] is None
    assert alice.patch(place, {"delivery": "verified"}).json()["delivery"] == "verified"
    holder = api_key_resolve(cast.key.secret, now=timezone.now())
    assert holder.delivery == "verified"
    assert alice.patch(place, {"delivery": None}).json()["delivery"] is None


def test_a_change_is_felt_by_the_next_request(alice, cast):
    caller = program(cast.key.secret)
    assert caller.get("runs/").status_code == 200
    alice.patch(f"keys/{cast.key.row.id}/", {"scopes": ["members:read"]})
    fault(caller.get("runs/"), 403)


def test_a_rotated_key_lives_on_for_the_overlap(alice, cast):
    place = f"keys/{cast.key.row.id}/"
    answer = alice.post(f"{place}rotate/", {"overlap_s": 3600})
    assert answer.status_code == 201
    told = answer.json()
    assert program(told["secret"]).get("runs/").status_code == 200
    assert program(cast.key.secret).get("runs/").status_code == 200
    assert alice.get(place).json()["replaced_by"] == told["id"]
    assert actions(cast.team)[-2:] == ["api_key.rotated", "api_key.issued"]
    fault(alice.post(f"{place}rotate/", {}), 409)


def test_a_key_rotated_without_overlap_ends_at_once(alice, cast):
    alice.post(f"keys/{cast.key.row.id}/rotate/", {"overlap_s": 0})
    fault(program(cast.key.secret).get("runs/"), 401)


def test_a_revoked_key_ends_at_once_and_stays_on_the_list(alice, cast):
    caller = program(cast.key.secret)
    place = f"keys/{cast.key.row.id}/"
    assert alice.post(f"{place}revoke/").json()["state"] == "revoked"
    fault(caller.get("runs/"), 401)
    assert alice.get(place).json()["revoked_at"]
    assert actions(cast.team)[-1] == "api_key.revoked"
    fault(alice.patch(place, {"name": "Again"}), 409)


def test_a_key_gives_no_scope_that_it_lacks(cast):
    caller = keyed(cast.team, Scope.KEYS_WRITE, Scope.READ)
    body = {"name": "CI", "scopes": ["runs:read"]}
    assert caller.post("keys/", body).status_code == 201
    body = {"name": "CI", "scopes": ["runs:read", "pools:write"]}
    assert "'pools:write'" in fault(caller.post("keys/", body), 403)["message"]
    place = f"keys/{issue_key(cast.team, scopes=[Scope.READ]).row.id}/"
    fault(caller.patch(place, {"scopes": ["runs:read", "pools:write"]}), 403)
    fault(caller.post(f"keys/{cast.key.row.id}/rotate/", {}), 403)


def test_a_key_made_by_a_key_ends_with_the_member_behind_it(alice, cast):
    maker = keyed(cast.team, Scope.KEYS_WRITE, Scope.READ, created_by=cast.bob)
    body = {"name": "Child", "scopes": ["runs:read"]}
    child = program(maker.post("keys/", body).json()["secret"])
    assert child.get("runs/").status_code == 200
    alice.delete(f"members/{cast.bob.id}/")
    fault(child.get("runs/"), 401)


def capped(team):
    """Return a program whose key may make keys and has a budget, and the key."""
    issued = issue_key(team, scopes=[Scope.KEYS_WRITE])
    values = {"kind": "key", "period": "day", "limit_usd": "1.00"}
    key_id = str(issued.row.id)
    budget_create(team=team, values={**values, "api_key_id": key_id}, actor=ACTOR)
    return program(issued.secret), issued.row


def test_a_key_with_a_budget_gets_hold_of_none_without(cast):
    caller, own = capped(cast.team)
    other = issue_key(cast.team, scopes=[Scope.KEYS_WRITE]).row
    sent = {"name": "free", "scopes": ["keys:write"]}
    assert "budget" in fault(caller.post("keys/", sent), 403)["message"]
    assert "budget" in fault(caller.post(f"keys/{other.id}/rotate/"), 403)["message"]
    assert caller.post(f"keys/{own.id}/rotate/").status_code == 201


def test_the_budgets_of_a_key_bind_the_next_one_at_once(cast):
    caller, own = capped(cast.team)
    standings_read(cast.team.id)
    assert caller.post(f"keys/{own.id}/rotate/").status_code == 201
    assert standings_peek(cast.team.id) is None
