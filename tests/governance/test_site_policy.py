"""The site policy: set by the operator, met by every run, read by every team."""

from __future__ import annotations

import json
import time
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from apps.accounts.models import Scope
from apps.audit.selectors import entry_list
from apps.core.ttl_cache import CACHE_SECONDS
from apps.governance.models import SitePolicyVersion
from apps.governance.selectors import site_policy_newest
from apps.governance.services import site_policy_replace
from tests.conftest import Cast, Site
from tests.factories import ACTOR, UserFactory
from tests.governance.test_policies import (
    DENY_FALCON,
    PROMPT,
    ask,
    decisions,
    in_force,
    last_events,
    only,
    put,
    tag,
)
from tests.rest.conftest import actions, fault, keyed, member

ALLOW_ALL = {"name": "Anything goes", "effect": {"kind": "allow"}}
NO_FALCON = {**DENY_FALCON, "name": "No Falcon anywhere"}


def site_rules(*rules: dict[str, Any]) -> None:
    site_policy_replace(values={"rules": list(rules)}, actor=ACTOR)


@pytest.fixture
def operator(client: Client) -> Client:
    person = UserFactory.create(name="Olga", is_staff=True, is_superuser=True)
    client.force_login(person)
    return client


def save(operator: Client, *rules: dict[str, Any], version: int = 0) -> Any:
    form = {"policy": json.dumps({"rules": rules}), "version": str(version)}
    return operator.post("/admin/policy/", form)


# --- runs -----------------------------------------------------------------------------


def test_a_site_rule_binds_a_team_without_rules(site: Site) -> None:
    site_rules(NO_FALCON)
    error = ask(site).json()["error"]
    assert error["code"] == "policy_denied"
    assert "'No Falcon anywhere'" in error["message"]
    assert "(site policy, version 1)" in error["message"]
    (decision,) = decisions(site)
    assert decision.rules == ("site: No Falcon anywhere",)
    assert decision.versions == {"site": 1}
    assert ask(site, "What does a kestrel cost?").status_code == 200


def test_an_allow_of_the_team_lifts_no_site_rule(site: Site) -> None:
    site_rules(NO_FALCON)
    in_force(site, ALLOW_ALL)
    assert ask(site).json()["error"]["code"] == "policy_denied"
    (decision,) = decisions(site)
    assert decision.rules == ("site: No Falcon anywhere", "team: Anything goes")
    assert decision.versions == {"site": 1, "team": 1}


def test_an_allow_of_the_site_skips_no_rule_of_the_team(site: Site) -> None:
    site_rules(ALLOW_ALL, NO_FALCON)
    assert ask(site).status_code == 200
    in_force(site, DENY_FALCON)
    error = ask(site).json()["error"]
    assert error["message"].endswith("(team policy, version 1)")


def test_both_policies_take_workers_away(site: Site) -> None:
    tag(site, "sim-delta", "eu", "cheap")
    tag(site, "sim-birch", "eu")
    site_rules(only("eu"))
    in_force(site, only("cheap"))
    assert ask(site).status_code == 200
    decision = decisions(site)[0]
    assert decision.refused_workers == ("sim-birch",)
    assert decision.rules == ("site: Tagged only", "team: Tagged only")
    tag(site, "sim-delta", "cheap")
    assert ask(site).json()["error"]["code"] == "policy_denied"


def test_without_site_rules_a_run_records_no_site_policy(site: Site) -> None:
    site_rules(NO_FALCON)
    site_rules()
    assert ask(site).status_code == 200
    assert decisions(site) == []
    in_force(site, {**DENY_FALCON, "mode": "shadow"})
    assert ask(site).status_code == 200
    assert decisions(site)[0].versions == {"team": 1}


def test_a_change_by_another_process_is_obeyed_within_seconds(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ask(site).status_code == 200
    forgotten: list[Any] = []
    services = "apps.governance.services.policies.policies_forget"
    monkeypatch.setattr(services, forgotten.append)
    site_rules(NO_FALCON)
    assert forgotten == [None]
    assert ask(site).status_code == 200  # this process has read it a moment ago
    cache = "apps.governance.selectors._policies._clock"
    monkeypatch.setattr(cache, lambda: time.monotonic() + CACHE_SECONDS)
    assert ask(site).status_code == 403


def test_a_site_rule_redacts_and_its_decision_says_so(site: Site) -> None:
    site_rules({"name": "No mail", "effect": {"kind": "redact", "kinds": ["email"]}})
    assert ask(site, "Write to carol@example.org").status_code == 200
    decision = decisions(site)[0]
    assert (decision.redacts, decision.findings) == (("email",), {"email": 1})
    sent = [e for e in last_events(site) if e.action == "plan.accepted"]
    assert "carol@example.org" not in repr(sent)


# --- the ledger, the command ----------------------------------------------------------


def test_each_change_is_on_record_in_every_chain(cast: Cast) -> None:
    site_rules(NO_FALCON)
    site_rules(NO_FALCON)  # equal rules are no change
    site_rules(NO_FALCON, only("eu"))
    for team in (cast.team, cast.other_team):
        found = [e for e in entry_list(team.id) if e.action == "site_policy.updated"]
        assert [entry.data["version"] for entry in found] == [1, 2]
        assert found[1].data["before"] == {"rules": [NO_FALCON]}
        assert found[1].data["after"] == {"rules": [NO_FALCON, only("eu")]}


def test_g10_a_change_without_its_entry_does_not_happen(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(**values: Any) -> None:
        raise OSError("no entry")

    monkeypatch.setattr("apps.governance.services.policies.entries_append", fail)
    with pytest.raises(OSError, match="no entry"):
        site_rules(NO_FALCON)
    assert site_policy_newest() is None


def test_the_command_sets_and_shows_the_rules(cast: Cast, tmp_path: Path) -> None:
    file = tmp_path / "policy.json"
    file.write_text(json.dumps({"rules": [NO_FALCON]}))
    told, shown = StringIO(), StringIO()
    call_command("site_policy_set", str(file), "--if-version", "0", stdout=told)
    assert told.getvalue() == "site policy, version 1\n"
    call_command("site_policy_show", stdout=shown, stderr=StringIO())
    assert json.loads(shown.getvalue()) == {"rules": [NO_FALCON]}
    assert actions(cast.team)[-1] == "site_policy.updated"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"rules": [', "not valid JSON"),
        ('{"rules": [], "rules": []}', "a name twice"),
        ("[]", "must be a JSON object"),
        ("[" * 100_000, "not valid JSON"),
        ('{"rules": [{"name": "R", "effect": {"kind": "deny"}, "mode": NaN}]}', "NaN"),
        ('{"rules": [], "version": 3}', "there is no such field"),
        ('{"rules": [{"name": "R", "effect": {"kind": "explode"}}]}', "the kind to be"),
        ("x" * 1_000_001, "1,000,000 characters"),
    ],
)
def test_the_command_says_what_is_wrong(
    cast: Cast, tmp_path: Path, text: str, words: str
) -> None:
    file = tmp_path / "policy.json"
    file.write_text(text)
    with pytest.raises(CommandError, match=words):
        call_command("site_policy_set", str(file))
    with pytest.raises(CommandError, match="cannot read"):
        call_command("site_policy_set", str(tmp_path / "nothing.json"))
    assert site_policy_newest() is None


def test_the_command_refuses_a_version_that_has_passed(
    cast: Cast, tmp_path: Path
) -> None:
    site_rules(NO_FALCON)
    file = tmp_path / "policy.json"
    file.write_text('{"rules": []}')
    with pytest.raises(CommandError, match="at version 1 by now, not at 0"):
        call_command("site_policy_set", str(file), "--if-version", "0")


@pytest.mark.parametrize("name", ["member_ids", "key_ids"])
def test_g15_a_site_rule_names_no_member_and_no_key(cast: Cast, name: str) -> None:
    rule = {**DENY_FALCON, "conditions": {name: [str(cast.alice.id)]}}
    with pytest.raises(Exception, match="names members or API keys of a team"):
        site_rules(rule)
    assert put(member(cast.alice), rule).status_code == 200  # a rule of a team may


# --- the operator's page --------------------------------------------------------------


def test_the_operator_sets_rules_on_a_page(cast: Cast, operator: Client) -> None:
    assert "The site has no rules." in operator.get("/admin/policy/").content.decode()
    assert save(operator, NO_FALCON).status_code == 302
    page = operator.get("/admin/policy/").content.decode()
    assert "If the prompt contains “Project Falcon”: deny it." in page
    assert "Version 1, <bdi>Olga</bdi>" in page
    save(operator, version=1)
    page = operator.get("/admin/policy/").content.decode()
    assert "Earlier versions" in page
    entry = entry_list(cast.team.id)[-1]
    assert (entry.action, entry.actor.display) == ("site_policy.updated", "Olga")
    assert entry.context["address"]


def test_what_is_refused_stays_in_the_form(cast: Cast, operator: Client) -> None:
    wrong = operator.post("/admin/policy/", {"policy": '{"rulez": 1}', "version": "0"})
    assert wrong.status_code == 400
    page = wrong.content.decode()
    assert "there is no such field" in page
    assert "&quot;rulez&quot;: 1" in page
    assert save(operator, NO_FALCON).status_code == 302
    late = save(operator, version=0)
    assert late.status_code == 412
    assert "at version 1 by now" in late.content.decode()
    assert SitePolicyVersion.objects.count() == 1


def test_staff_who_are_no_superusers_stay_out(cast: Cast, client: Client) -> None:
    client.force_login(UserFactory.create(is_staff=True))
    assert client.get("/admin/policy/").status_code == 403
    assert save(client, NO_FALCON).status_code == 403
    assert site_policy_newest() is None


# --- the teams ------------------------------------------------------------------------


def test_every_member_reads_the_site_policy(cast: Cast) -> None:
    alice = member(cast.alice)
    never: dict[str, Any] = {"version": 0, "updated_at": None, "rules": []}
    never |= {"patterns": [], "error": None}
    assert alice.get("policy/site/").json() == never
    assert "Rules of the site" not in alice.client.get("/policy/").content.decode()
    site_rules(NO_FALCON)
    for person in (cast.alice, cast.vera, cast.mallory):
        found = member(person).get("policy/site/").json()
        assert (found["version"], found["rules"]) == (1, [NO_FALCON])
        page = member(person).client.get("/policy/").content.decode()
        assert "Rules of the site" in page
        assert "so every run is allowed" not in page
        assert "If the prompt contains “Project Falcon”: deny it." in page
    assert keyed(cast.team, Scope.AUDIT_READ).get("policy/site/").status_code == 200
    fault(keyed(cast.team, Scope.RUN).get("policy/site/"), 403)
    fault(alice.put("policy/site/", {"rules": []}, if_match="*"), 405)


def test_the_record_of_the_run_names_the_site_policy(site: Site) -> None:
    site_rules(NO_FALCON)
    ask(site, PROMPT)
    alice = member(site.cast.alice)
    (run,) = alice.get("runs/").json()["data"]
    page = alice.client.get(f"/runs/{run['id']}/").content.decode()
    assert "site policy, version 1" in page
