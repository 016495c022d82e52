"""A stored policy that cannot be read: pages say so, and how to get out of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from apps.governance.models import PolicyVersion, SitePolicyVersion
from apps.governance.selectors import policy_newest, site_policy_newest
from apps.governance.services import site_policy_replace
from tests.conftest import Cast
from tests.console.conftest import text_of
from tests.console.models import words
from tests.console.test_policy_pages import FALCON, NEW, add, page, rules
from tests.factories import ACTOR, UserFactory
from tests.governance.test_fail_closed import UNREADABLE

SAID = "Version 2 of the policy cannot be read, so every run is denied."
SITE_SAID = "Version 2 of the site policy cannot be read, so every run is denied."
SITE_RULE = {"name": "No Falcon", "effect": {"kind": "deny"}}


@pytest.fixture
def _unreadable(alice: Client, cast: Cast) -> None:
    """Version 1 has a rule; version 2 is of another release."""
    add(alice, 0)
    PolicyVersion.objects.create(team=cast.team, version=2, document=UNREADABLE)


@pytest.fixture
def operator(cast: Cast) -> Client:
    site_policy_replace(values={"rules": [SITE_RULE]}, actor=ACTOR)
    SitePolicyVersion.objects.create(version=2, document=UNREADABLE)
    client = Client()
    client.force_login(UserFactory.create(is_staff=True, is_superuser=True))
    return client


@pytest.mark.usefixtures("_unreadable")
def test_the_page_names_the_version_and_what_follows(
    alice: Client, vera: Client
) -> None:
    shown = page(alice)
    assert SAID in shown
    assert "Restore an earlier version to get its rules back" in shown
    assert "manage.py policy_set" in shown
    assert "every run is allowed" not in shown
    assert "Add example rules" not in shown
    assert SAID in page(vera)
    assert "An owner or admin can restore an earlier version." in page(vera)


@pytest.mark.usefixtures("_unreadable")
def test_an_earlier_version_is_restored(alice: Client, cast: Cast) -> None:
    shown = page(alice, "/policy/history/")
    assert "This version cannot be read. While it is in force" in shown
    assert "Restore version 1" in shown
    alice.post("/policy/history/1/restore/")
    assert SAID not in page(alice)
    assert [rule["name"] for rule in rules(cast)] == [FALCON["name"]]
    assert "Restore version 2" not in page(alice, "/policy/history/")


@pytest.mark.usefixtures("_unreadable")
def test_a_version_that_cannot_be_read_is_not_restored(
    alice: Client, cast: Cast
) -> None:
    alice.post("/policy/history/1/restore/")
    alice.post("/policy/history/2/restore/")
    newest = policy_newest(cast.team.id)
    assert newest is not None
    assert newest.version == 3
    assert "Rules[0].effect: expected the kind to be one of" in page(alice)


@pytest.mark.usefixtures("_unreadable")
def test_a_rule_begins_a_new_policy(alice: Client, cast: Cast) -> None:
    shown = page(alice, NEW)
    assert SAID in shown
    assert "it takes the place of everything in that version" in shown
    assert add(alice, 2, name="Afresh").status_code == 302
    assert [rule["name"] for rule in rules(cast)] == ["Afresh"]
    assert SAID not in page(alice)


@pytest.mark.usefixtures("_unreadable")
@pytest.mark.parametrize(
    ("address", "values"),
    [
        ("/policy/examples/", {}),
        ("/policy/new-pattern/", {"name": "n", "pattern": "n", "version": "2"}),
    ],
)
def test_nothing_that_would_drop_its_rules_changes_it(
    alice: Client, cast: Cast, address: str, values: dict[str, Any]
) -> None:
    answer = alice.post(address, values)
    assert answer.status_code == 409
    assert "restore an earlier version first" in text_of(answer)
    newest = policy_newest(cast.team.id)
    assert newest is not None
    assert newest.version == 2


@pytest.mark.usefixtures("_unreadable")
@pytest.mark.parametrize(
    "address",
    ["/policy/rules/0/", "/policy/rules/0/move/", "/policy/patterns/n/delete/"],
)
def test_what_cannot_be_read_is_not_found(alice: Client, address: str) -> None:
    assert alice.post(address, {"version": "2"}).status_code in {404, 409}


def test_a_team_reads_that_the_site_policy_cannot_be_read(
    operator: Client, alice: Client, vera: Client
) -> None:
    shown = page(vera)
    assert SITE_SAID in shown
    assert "The operator of this site has to put a readable one in force." in shown
    assert "every run is allowed" not in shown
    assert page(alice, NEW)


def test_the_operator_s_page_shows_the_text_and_takes_another(
    operator: Client, cast: Cast
) -> None:
    shown = words(operator.get("/admin/policy/").content.decode())
    assert "Version 2 cannot be read, so every run of every team is denied." in shown
    assert "teleport" in shown, "the form has the text, to be corrected"
    text = json.dumps({"rules": [{**SITE_RULE, "name": "Other"}]})
    answer = operator.post("/admin/policy/", {"policy": text, "version": "2"})
    assert answer.status_code == 302
    newest = site_policy_newest()
    assert newest is not None
    assert newest.document["rules"][0]["name"] == "Other"
    shown = words(operator.get("/admin/policy/").content.decode())
    assert "This version cannot be read." in shown, "in the list of earlier ones"
    assert "so every run of every team is denied" not in shown


def test_the_operator_restores_an_earlier_version(operator: Client, cast: Cast) -> None:
    page = operator.get("/admin/policy/").content.decode()
    assert "Restore version 1" in page
    (_, _, text), *_ = operator.get("/admin/policy/").context["earlier"]
    operator.post("/admin/policy/", {"policy": text, "version": "2"})
    newest = site_policy_newest()
    assert newest is not None
    assert (newest.version, newest.document) == (3, {"rules": [SITE_RULE]})


def test_the_operator_cannot_save_what_cannot_be_read(
    operator: Client, cast: Cast
) -> None:
    text = json.dumps(UNREADABLE)
    answer = operator.post("/admin/policy/", {"policy": text, "version": "2"})
    assert answer.status_code == 400
    assert "expected the kind to be one of" in answer.content.decode()
