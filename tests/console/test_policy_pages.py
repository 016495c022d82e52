"""The pages of the policy: rules in words, one rule, the history."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from apps.governance.policies.examples import EXAMPLES
from apps.governance.selectors import policy_newest
from apps.pools.models import Worker
from tests.conftest import Cast
from tests.console.conftest import text_of
from tests.console.models import words
from tests.factories import WorkerFactory

NEW = "/policy/rules/new/"
FALCON: dict[str, Any] = {
    "name": "Falcon stays in the EU",
    "mode": "enforce",
    "words": "Project Falcon\nfalcon budget",
    "effect": "only_workers",
    "tags": "eu, on-premises",
    "version": "0",
}


def rules(cast: Cast) -> list[dict[str, Any]]:
    newest = policy_newest(cast.team.id)
    found: list[dict[str, Any]] = newest.document.get("rules", []) if newest else []
    return found


def page(client: Client, address: str = "/policy/") -> str:
    return words(text_of(client.get(address)))


def add(client: Client, version: int, **values: Any) -> Any:
    return client.post(NEW, {**FALCON, **values, "version": str(version)})


def test_an_empty_policy_explains_itself(alice: Client, vera: Client) -> None:
    assert "There are no rules, so every run is allowed." in page(alice)
    assert "Add a rule" in page(alice)
    assert "lets you see this page. To change the policy, ask" in page(vera)
    assert "Add a rule" not in page(vera)


def test_a_rule_is_added_and_reads_as_a_sentence(alice: Client, cast: Cast) -> None:
    WorkerFactory.create(team=cast.team, name="frank", tags=["EU"])
    WorkerFactory.create(team=cast.team, name="sam")
    assert add(alice, 0).status_code == 302
    assert rules(cast) == [
        {
            "name": "Falcon stays in the EU",
            "conditions": {"words": ["Project Falcon", "falcon budget"]},
            "effect": {"kind": "only_workers", "tags": ["eu", "on-premises"]},
        }
    ]
    shown = page(alice)
    assert (
        "If the prompt contains “Project Falcon” or “falcon budget”: use only workers "
        "tagged “eu” or “on-premises”." in shown
    )
    assert "1 of 2 workers has such a tag." in shown
    assert "Version 1, Alice" in shown


def test_a_rule_counts_the_workers_that_state_nothing(
    alice: Client, cast: Cast
) -> None:
    Worker.objects.for_team(cast.team.id).delete()
    WorkerFactory.create(team=cast.team, name="frank", tags=["region:eu"])
    WorkerFactory.create(team=cast.team, name="plain", tags=["eu"])
    add(alice, 0, effect="no_workers", tags="region:us")
    shown = page(alice)
    assert (
        "use no worker tagged “region:us”, nor one without a tag “region:…”." in shown
    )
    assert "No worker has such a tag. 1 without a tag of that kind may not be" in shown
    assert "a worker without any region:… is in doubt" in page(alice, NEW)


def test_the_form_offers_tags_of_providers(alice: Client, cast: Cast) -> None:
    url = "https://api.mistral.ai/v1"
    WorkerFactory.create(team=cast.team, name="far", tags=["eu"], base_url=url)
    assert "Tags of your workers: eu, provider:mistral." in page(alice, NEW)
    add(alice, 0, effect="no_workers", tags="provider:mistral")
    assert "1 of 1 worker has such a tag." in page(alice)


def test_a_rule_that_no_worker_meets_says_so(alice: Client, cast: Cast) -> None:
    Worker.objects.for_team(cast.team.id).delete()
    add(alice, 0, tags="moon")
    shown = page(alice)
    assert (
        "No worker has such a tag, so a run that meets the conditions is denied."
        in (shown)
    )


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"name": ""}, "Write a name for the rule."),
        ({"effect": ""}, "Choose what the rule does."),
        ({"tags": ""}, "Name at least one tag."),
        ({"effect": "limit"}, "Give at least one limit."),
        ({"hours_begin": "25:00", "hours_end": "06:00"}, "like 22:00"),
        (
            {"hours_begin": "22:00", "time_zone": "Mars/Phobos"},
            "Is not a known time zone.",
        ),
        ({"steps_over": "0"}, "greater than or equal to 1"),
    ],
)
def test_a_wrong_rule_is_refused_beside_its_field(
    alice: Client, cast: Cast, values: dict[str, str], message: str
) -> None:
    response = add(alice, 0, **values)
    assert response.status_code == 200
    shown = words(response.content.decode())
    assert "Nothing was saved." in shown
    assert message in shown
    assert rules(cast) == []


def test_two_rules_cannot_have_one_name(alice: Client, cast: Cast) -> None:
    add(alice, 0)
    shown = words(add(alice, 1).content.decode())
    assert "two rules are named" in shown.casefold()
    assert len(rules(cast)) == 1


def test_a_rule_is_edited_with_everything_it_has(alice: Client, cast: Cast) -> None:
    member = str(cast.bob.id)
    add(
        alice,
        0,
        mode="shadow",
        roles=["member"],
        member_ids=[member],
        tiers=["ultra"],
        sources=["api"],
        hours_begin="22:00",
        hours_end="06:00",
        days=["sat", "sun"],
        time_zone="Europe/Berlin",
        steps_over="3",
        cost_over_usd="0.05",
        plan_tags="us",
        effect="limit",
        max_steps="2",
        max_cost_usd="0.01",
    )
    (before,) = rules(cast)
    assert before["conditions"]["hours"] == {
        "begin": "22:00",
        "end": "06:00",
        "days": ["sat", "sun"],
        "time_zone": "Europe/Berlin",
    }
    form = alice.get("/policy/rules/0/").context["form"]
    sent = {
        n: form[n].value() for n in form.fields if form[n].value() not in (None, "")
    }
    assert alice.post("/policy/rules/0/", sent).status_code == 302
    assert rules(cast) == [before]
    alice.post("/policy/rules/0/", {**sent, "name": "Renamed"})
    assert [rule["name"] for rule in rules(cast)] == ["Renamed"]


def test_rules_are_moved_and_deleted(alice: Client, cast: Cast) -> None:
    for version, name in enumerate("ABC"):
        add(alice, version, name=name)
    alice.post("/policy/rules/2/move/", {"version": "3"})
    assert [rule["name"] for rule in rules(cast)] == ["A", "C", "B"]
    alice.post("/policy/rules/0/move/", {"version": "4", "down": ""})
    assert [rule["name"] for rule in rules(cast)] == ["C", "A", "B"]
    alice.post("/policy/rules/1/delete/", {"version": "5"})
    assert [rule["name"] for rule in rules(cast)] == ["C", "B"]
    assert "Rule “A” is deleted." in page(alice)


def test_a_change_of_an_older_version_is_refused(alice: Client, cast: Cast) -> None:
    add(alice, 0)
    shown = words(add(alice, 0, name="Second").content.decode())
    assert "The policy is at version 1 by now, not at 0." in shown
    alice.post("/policy/rules/0/delete/", {"version": "0"})
    assert "The policy is at version 1 by now, not at 0" in page(alice)
    assert len(rules(cast)) == 1


def test_a_version_is_restored_from_the_history(alice: Client, cast: Cast) -> None:
    add(alice, 0)
    alice.post("/policy/rules/0/delete/", {"version": "1"})
    shown = page(alice, "/policy/history/")
    assert "Version 2" in shown
    assert "No rules." in shown
    assert alice.post("/policy/history/1/restore/").status_code == 302
    assert [rule["name"] for rule in rules(cast)] == [FALCON["name"]]
    assert "The rules of version 1 are in force." in page(alice)


@pytest.mark.parametrize("address", [NEW, "/policy/rules/0/move/"])
def test_members_change_no_rule(alice: Client, bob: Client, cast: Cast, address: str):
    add(alice, 0)
    assert bob.post(address, {**FALCON, "name": "X", "version": "1"}).status_code == 403
    assert len(rules(cast)) == 1


def test_a_rule_that_is_not_there_is_not_found(alice: Client) -> None:
    assert alice.get("/policy/rules/7/").status_code == 404
    assert alice.post("/policy/rules/7/delete/", {"version": "0"}).status_code == 404


def test_example_rules_are_added_switched_off(alice: Client, cast: Cast) -> None:
    assert "Add example rules, switched off" in page(alice)
    alice.post("/policy/examples/")
    assert {rule["mode"] for rule in rules(cast)} == {"off"}
    assert "Example rules are added. They are off" in page(alice)
    history = alice.get("/policy/history/").content.decode()
    assert history.count('class="tag">Off<') == len(EXAMPLES)
    assert alice.post("/policy/examples/").status_code == 409
    assert len(rules(cast)) == len(EXAMPLES)
    assert "Add example rules" not in page(alice)


def test_example_rules_are_added_below_rules_that_are_there(
    alice: Client, cast: Cast
) -> None:
    alice.post(NEW, {**FALCON, "version": "0"})
    alice.post("/policy/examples/")
    names = [rule["name"] for rule in rules(cast)]
    assert names == [FALCON["name"], *(each["name"] for each in EXAMPLES)]
