"""What cannot be determined denies a run by name, and nothing is sent."""

from __future__ import annotations

from typing import Any

import pytest

from apps.accounts.models import Scope
from apps.engine import events as ev
from apps.governance.models import PolicyVersion, SitePolicyVersion
from apps.governance.policies import gate, off_record, run_facts
from apps.governance.selectors import policies_forget
from apps.governance.sensitive_data.redaction import Redactor
from apps.runs.models import Run
from tests.conftest import Site
from tests.governance.approval_runs import ended
from tests.governance.test_data_classes import CONFIDENTIAL, IBAN, REDACT, WITH_IBAN
from tests.governance.test_off_record import OFF_RECORD
from tests.governance.test_policies import (
    DENY_FALCON,
    PROMPT,
    ask,
    decisions,
    in_force,
    last_events,
)
from tests.rest.conftest import fault, keyed, member

NOT_KNOWN = "the data class of the prompt is not known"
UNREADABLE = {"rules": [{"name": "From the future", "effect": {"kind": "teleport"}}]}


def break_down(monkeypatch: pytest.MonkeyPatch, place: object, name: str) -> None:
    """Let a function fail as no code expects."""

    def broken(*args: Any, **values: Any) -> Any:
        raise RuntimeError("for a test")

    monkeypatch.setattr(place, name, broken)


def denial(site: Site, prompt: str = WITH_IBAN) -> str:
    """Ask; return why the run is denied."""
    answer = ask(site, prompt)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (403, "policy_denied"), error
    message: str = error["message"]
    return message


def sent(site: Site) -> list[ev.Event]:
    """Return the calls of the newest run."""
    calls = (ev.PlanRequested, ev.StepStarted)
    return [event for event in last_events(site) if isinstance(event, calls)]


def make_unreadable(site: Site, *, of_site: bool) -> None:
    """Store a policy, version 2, as another release might have left it."""
    if of_site:
        SitePolicyVersion.objects.create(version=2, document=UNREADABLE)
    else:
        team = site.cast.team
        PolicyVersion.objects.create(team=team, version=2, document=UNREADABLE)
    policies_forget(None if of_site else site.cast.team.id)


@pytest.mark.parametrize("rule", [CONFIDENTIAL, REDACT])
def test_a_prompt_that_cannot_be_classified_denies_by_the_rule(
    site: Site, monkeypatch: pytest.MonkeyPatch, rule: dict[str, Any]
) -> None:
    in_force(site, rule)
    break_down(monkeypatch, run_facts, "classify")
    assert denial(site) == (
        f"Rule {rule['name']!r} could not be checked ({NOT_KNOWN}) "
        "(team policy, version 1)"
    )
    assert sent(site) == []
    (decided,) = decisions(site)
    assert (decided.outcome, decided.rules) == ("denied", (f"team: {rule['name']}",))


def test_rules_without_a_need_for_the_class_go_on(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_force(site, DENY_FALCON, {**REDACT, "conditions": {"words": ["Kestrel"]}})
    break_down(monkeypatch, run_facts, "classify")
    assert ask(site, WITH_IBAN).status_code == 200


def test_an_unclassified_prompt_is_not_recorded_if_values_are_kept_off(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_force(site, OFF_RECORD)
    break_down(monkeypatch, run_facts, "classify")
    assert "'Nothing kept' could not be checked" in denial(site)
    assert not Run.objects.for_team(site.cast.team.id).exists()


def test_values_that_cannot_be_replaced_are_not_recorded(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_force(site, OFF_RECORD)
    break_down(monkeypatch, off_record, "_redacted")
    said = denial(site)
    assert said.startswith("iban could not be kept off the record (RuntimeError): ")
    assert "'Nothing kept'" in said
    assert IBAN not in said
    assert not Run.objects.for_team(site.cast.team.id).exists()


def test_a_prompt_that_cannot_be_redacted_is_not_sent(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_force(site, REDACT)
    break_down(monkeypatch, Redactor, "redact_messages")
    said = denial(site)
    assert said.startswith("iban could not be redacted (RuntimeError): ")
    assert "'No account numbers'" in said
    assert sent(site) == []


@pytest.mark.parametrize(("of_site", "name"), [(True, "site"), (False, "team")])
def test_a_policy_that_cannot_be_read_denies_by_its_version(
    site: Site, of_site: bool, name: str
) -> None:
    make_unreadable(site, of_site=of_site)
    assert denial(site) == f"What the {name} policy, version 2 says cannot be read"
    assert not Run.objects.for_team(site.cast.team.id).exists()
    program = keyed(site.cast.team, *Scope, created_by=site.cast.bob)
    values = {"model": "conductor-mini", "prompt": "What is 6 times 7?"}
    error = fault(program.post("runs/", values), 403)
    assert error["code"] == "policy_denied"


@pytest.mark.parametrize(
    ("of_site", "path", "name"),
    [
        (False, "policy/", "policy"),
        (False, "policy/versions/2/", "policy"),
        (True, "policy/site/", "site policy"),
    ],
)
def test_rest_says_that_a_policy_cannot_be_read(
    site: Site, of_site: bool, path: str, name: str
) -> None:
    vera = member(site.cast.vera)
    if "versions" not in path:
        assert vera.get(path).json()["error"] is None
    make_unreadable(site, of_site=of_site)
    told = vera.get(path).json()
    assert told["error"] == {
        "code": "policy_unreadable",
        "message": f"Version 2 of the {name} cannot be read, so every run is denied "
        "while it is in force.",
    }
    assert (told["version"], told["rules"]) == (2, UNREADABLE["rules"])


def test_another_policy_takes_the_place_of_one_that_cannot_be_read(site: Site) -> None:
    make_unreadable(site, of_site=False)
    alice = member(site.cast.alice)
    tag = alice.get("policy/").headers["ETag"]
    answer = alice.put("policy/", {"rules": [DENY_FALCON]}, if_match=tag)
    assert answer.status_code == 200, answer.content
    assert answer.json()["error"] is None


@pytest.mark.parametrize("document", [[], {"rules": 7, "patterns": ["n"]}])
def test_a_document_of_any_shape_is_told(site: Site, document: Any) -> None:
    PolicyVersion.objects.create(team=site.cast.team, version=2, document=document)
    told = member(site.cast.vera).get("policy/").json()
    assert told["error"]["code"] == "policy_unreadable"
    assert (told["rules"], told["patterns"]) == ([], [])


def test_a_policy_that_becomes_unreadable_stops_the_run_on_record(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    admit = gate.PolicyGates.admit

    async def damaged_meanwhile(*given: Any) -> Any:
        order = await admit(*given)
        monkeypatch.setattr(gate, "policy_peek", lambda team_id: None)
        break_down(monkeypatch, gate, "policy_in_force")
        return order

    monkeypatch.setattr(gate.PolicyGates, "admit", damaged_meanwhile)
    said = denial(site)
    assert said == (
        "What the site policy says cannot be read; "
        "What the team policy says cannot be read"
    )
    (decided,) = decisions(site)
    assert (decided.stage, decided.outcome, decided.versions) == ("run", "denied", {})
    assert sent(site) == []


def test_an_unknown_role_denies_by_the_rule(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_members = {**DENY_FALCON, "conditions": {"roles": ["member"]}}
    in_force(site, of_members)
    break_down(monkeypatch, run_facts, "role_of")
    assert ask(site).status_code == 200, "keys have no role to look up"
    values = {"model": "conductor-ultra", "prompt": PROMPT}
    started = member(site.cast.bob).post("runs/", values)
    run = ended(started.json()["id"])
    assert run.error_code == "policy_denied"
    assert "'No Falcon' could not be checked (the role of the member" in (
        run.error_message
    )


def test_an_unknown_cost_denies_by_the_rule(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_force(site, {**DENY_FALCON, "conditions": {"cost_over_usd": "1000"}})
    break_down(monkeypatch, gate, "plan_price")
    assert "'No Falcon' could not be checked (the price of a worker" in denial(site)
    assert all(isinstance(event, ev.PlanRequested) for event in sent(site))


def test_any_other_fault_denies_by_policy_and_version(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_force(site, DENY_FALCON)
    break_down(monkeypatch, gate, "evaluate_all")
    assert denial(site) == (
        "The team policy, version 1 could not be checked (RuntimeError)"
    )
    assert sent(site) == []
