"""Comparisons over REST: started, blind until the vote, counted."""

from __future__ import annotations

import json

from apps.accounts.models import Scope
from apps.runs.selectors import run_record
from tests.comparisons.test_live import ended
from tests.conftest import Site
from tests.factories import issue_key
from tests.rest.conftest import fault, member, program

SENT = {
    "models": ["conductor-ultra", "worker/sim-delta"],
    "prompt": "What is 17 * 23?",
    "is_blind": True,
}


def test_blind_comparison_is_hidden_until_the_vote(site: Site) -> None:
    alice = member(site.cast.alice)
    made = alice.post("comparisons/", SENT)
    assert made.status_code == 201, made.content
    path = f"comparisons/{made.json()['id']}/"
    comparison = ended(site, made.json()["id"])
    hidden = alice.get(path).json()
    assert (hidden["is_over"], hidden["is_revealed"]) == (True, False)
    text = json.dumps(hidden)
    for each in comparison.answers.all():
        assert str(each.run_id) not in text
        assert each.model not in text
    assert "sim-delta" not in text
    assert "391" in hidden["answers"][0]["answer"]
    vote = {"choice": "better", "letter": "A", "reason": "Short."}
    shown = alice.post(f"{path}vote/", vote).json()
    assert shown["preferred"] == "A"
    assert shown["own_vote"]["reason"] == "Short."
    assert sorted(each["model"] for each in shown["answers"]) == SENT["models"]
    rows = alice.get("comparisons/candidates/").json()["data"]
    assert sorted((row["votes"], row["preferred"]) for row in rows) == [(1, 0), (1, 1)]


def test_bad_input_is_named(site: Site) -> None:
    alice = member(site.cast.alice)
    for body, field in (
        ({"models": ["conductor-ultra"], "prompt": "Hi"}, "models"),
        ({"models": SENT["models"]}, "prompt"),
        ({**SENT, "models": ["conductor-ultra", "conductor-ultra"]}, "models"),
    ):
        answer = alice.post("comparisons/", body)
        assert answer.status_code in {400, 422}, body
        assert field in answer.content.decode()


def test_key_without_the_scope_for_workers_is_refused(site: Site) -> None:
    key = issue_key(site.cast.team, scopes=(Scope.RUN, Scope.READ))
    answer = program(key.secret).post("comparisons/", SENT)
    assert answer.status_code == 403


def test_a_preset_makes_the_prompt_of_every_candidate(site: Site) -> None:
    alice = member(site.cast.alice)
    settings = {"model": "worker/sim-birch", "temperature": 0.5, "max_time_s": 60}
    texts = {"prompt": "What is {{sum}}?", "system": "Be brief."}
    preset = alice.post(
        "presets/", {"name": "Sum", **texts, "settings": settings}
    ).json()
    call = {"id": preset["id"], "variables": {"sum": "17 * 23"}}
    body = {"preset": call, "models": SENT["models"], "temperature": 0.25}
    made = alice.post("comparisons/", body)
    assert made.status_code == 201, made.content
    answers = list(ended(site, made.json()["id"]).answers.all())
    assert sorted(each.model for each in answers) == SENT["models"]
    for each in answers:
        record = run_record(site.cast.team.id, each.run_id)
        assert record.messages[0] == {"role": "system", "content": "Be brief."}
        assert record.prompt.endswith("What is 17 * 23?")
        assert record.params["temperature"] == 0.25
        assert record.params["narrowing"] == {"max_time_s": 60}
        run = alice.get(f"runs/{each.run_id}/").json()
        used = {"id": preset["id"], "version": 1, "is_edited": False}
        assert run["preset"] == used


def test_a_preset_of_a_comparison_is_refused_as_that_of_a_run(site: Site) -> None:
    alice, mallory = member(site.cast.alice), member(site.cast.mallory)
    preset = alice.post("presets/", {"name": "Sum", "prompt": "{{sum}}?"}).json()
    path = f"presets/{preset['id']}/"
    call = {"id": preset["id"], "variables": {"sum": "1 + 1"}}
    asked = {"preset": call, "models": SENT["models"]}
    unknown = {**call, "variables": {"sums": "1"}}
    for body, param in (
        ({**asked, "prompt": "Hi"}, "prompt"),
        ({"preset": call}, "models"),
        ({**asked, "preset": {"id": preset["id"]}}, "preset.variables"),
        ({**asked, "preset": unknown}, "preset.variables"),
    ):
        assert fault(alice.post("comparisons/", body), 400)["param"] == param
    fault(mallory.post("comparisons/", asked), 404)
    alice.patch(path, {"is_archived": True})
    fault(alice.post("comparisons/", asked), 409)
    assert alice.get("comparisons/").json()["data"] == []
