"""Alerts and their rules over REST."""

from __future__ import annotations

from typing import Any

import pytest

from apps.accounts.models import Scope
from apps.alerts.models import Alert
from apps.alerts.types import AlertKind
from tests.alerts.looking import change, fail, later, look
from tests.rest.conftest import fault, keyed, member


@pytest.fixture
def alert(cast: Any) -> dict[str, Any]:
    fail(cast)
    look(cast)
    (found,) = member(cast.alice).get("alerts/").json()["data"]
    return dict(found)


def test_a_key_that_reads_lists_alerts(cast, alert):
    found = keyed(cast.team, Scope.READ).get("alerts/?state=open&kind=runs").json()
    assert found == {"data": [alert], "next_cursor": None}
    assert alert["title"] == "Runs fail"
    assert alert["figures"]["percent"] == 100
    assert alert["closed_at"] is None


def test_lists_are_filtered_and_come_in_pages(cast, alert):
    caller = member(cast.alice)
    assert caller.get("alerts/?state=closed").json()["data"] == []
    assert caller.get("alerts/?kind=worker").json()["data"] == []
    fault(caller.get("alerts/?kind=planet"), 400)
    look(cast, later(hours=1))
    fail(cast)
    look(cast)
    first = caller.get("alerts/?kind=runs&limit=1").json()
    rest = caller.get(f"alerts/?kind=runs&limit=1&cursor={first['next_cursor']}").json()
    assert [each["id"] for each in rest["data"]] == [alert["id"]]
    assert rest["next_cursor"] is None


def test_an_alert_is_acknowledged_and_muted_by_people_alone(cast, alert):
    place = f"alerts/{alert['id']}/"
    key = keyed(cast.team, *Scope)
    fault(key.post(f"{place}acknowledge/"), 403)
    fault(key.post(f"{place}mute/", {"minutes": 60}), 403)
    fault(member(cast.bob).post(f"{place}acknowledge/"), 403)
    alice = member(cast.alice)
    assert alice.post(f"{place}acknowledge/").json()["acknowledged_by"] == "Alice"
    assert alice.post(f"{place}mute/", {"minutes": 60}).json()["muted_until"]
    assert alice.post(f"{place}mute/", {"minutes": 0}).json()["muted_until"] is None
    fault(alice.post(f"{place}mute/", {"minutes": -1}), 400)
    fault(alice.post(f"{place}mute/", {"minutes": "60"}), 400)
    look(cast, later(hours=1))
    fault(alice.post(f"{place}acknowledge/"), 409)


def test_rules_are_listed_with_their_defaults(cast):
    found = keyed(cast.team, Scope.READ).get("alert-rules/").json()["data"]
    assert [each["kind"] for each in found] == AlertKind.values
    assert {tuple(each["channels"]) for each in found} == {("bell",)}
    assert all(each["is_enabled"] for each in found)


def test_a_rule_is_changed_field_by_field(cast):
    alice = member(cast.alice)
    values = {"threshold": 40, "channels": ["webhook", "bell"]}
    changed = alice.patch("alert-rules/runs/", values).json()
    assert (changed["threshold"], changed["channels"]) == (40, ["bell", "webhook"])
    assert changed["least"] == 10
    assert alice.get("alert-rules/runs/").json() == changed
    assert member(cast.mallory).get("alert-rules/runs/").json()["threshold"] == 20


@pytest.mark.parametrize(
    ("kind", "values", "field"),
    [
        ("runs", {"threshold": 101}, "threshold"),
        ("runs", {"threshold": 0}, "threshold"),
        ("ledger", {"threshold": 5}, "threshold"),
        ("budget", {"window_minutes": 15}, "window_minutes"),
        ("runs", {"audience": "chosen"}, "member_ids"),
        ("runs", {"channels": ["pigeon"]}, "channels"),
        ("runs", {"colour": "red"}, "colour"),
    ],
)
def test_bad_values_are_refused_by_field(cast, kind, values, field):
    error = fault(member(cast.alice).patch(f"alert-rules/{kind}/", values), 400)
    assert field in str(error)
    assert member(cast.alice).get("alert-rules/runs/").json()["threshold"] == 20


def test_a_person_of_another_team_cannot_be_chosen(cast):
    values = {"audience": "chosen", "member_ids": [str(cast.mallory.id)]}
    fault(member(cast.alice).patch("alert-rules/runs/", values), 400)


def test_a_rule_that_does_not_exist_is_not_found(cast):
    fault(member(cast.alice).get("alert-rules/planet/"), 404)


@pytest.mark.parametrize(
    ("kind", "scope"),
    [
        ("budget", Scope.BUDGETS_READ),
        ("ledger", Scope.AUDIT_READ),
        ("checkpoint", Scope.AUDIT_READ),
    ],
)
def test_a_key_reads_alerts_about_what_its_scopes_let_it_read(cast, kind, scope):
    alert = Alert.objects.create(
        team=cast.team,
        kind=kind,
        name="Budget of Bob",
        severity="warning",
        figures={"percent": 85, "count": 1, "minutes": 5},
        opened_at=later(),
    )
    plain, wide = keyed(cast.team, Scope.READ), keyed(cast.team, Scope.READ, scope)
    for caller, count in ((plain, 0), (wide, 1), (member(cast.vera), 1)):
        assert len(caller.get("alerts/").json()["data"]) == count
        assert len(caller.get(f"alerts/?kind={kind}").json()["data"]) == count
    fault(plain.get(f"alerts/{alert.id}/"), 404)
    assert wide.get(f"alerts/{alert.id}/").status_code == 200


def test_a_key_reads_who_is_chosen_only_if_it_reads_members(cast):
    chosen = [str(cast.bob.id)]
    change(cast, AlertKind.RUNS, audience="chosen", member_ids=chosen)
    plain = keyed(cast.team, Scope.READ)
    wide = keyed(cast.team, Scope.READ, Scope.MEMBERS_READ)
    for caller, ids in ((plain, None), (wide, chosen), (member(cast.vera), chosen)):
        assert caller.get("alert-rules/runs/").json()["member_ids"] == ids
        rules = caller.get("alert-rules/").json()["data"]
        assert {each["kind"]: each["member_ids"] for each in rules}["runs"] == ids
