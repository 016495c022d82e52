"""Comparisons of a prompt that is a task of the largest measurement."""

from __future__ import annotations

import re

import pytest

from apps.runs.models import Run
from tests.comparisons.conftest import signed_in, start
from tests.comparisons.test_live import ended
from tests.evaluation.made_up import made_up_evaluation
from tests.patience import eventually

PROMPT = "What is the capital of France?"


@pytest.fixture
def alice(site):
    team = site.cast.team
    evaluation = made_up_evaluation(team)
    evaluation.settings["pool"] = team.pools.get(is_default=True).name
    evaluation.save()
    return signed_in(site.cast.alice)


def page_of(client, comparison) -> str:
    page: bytes = client.get(f"/comparisons/{comparison.id}/").content
    return page.decode()


def test_the_verifier_says_which_answers_are_right(site, alice):
    site.add_worker("echo")
    chosen = ("worker/sim-delta", "worker/echo")
    comparison = ended(site, start(site, *chosen, prompt=PROMPT))
    page = page_of(alice, comparison)
    assert "A (sim-delta) is right, B (echo) is wrong." in page
    assert "nobody has to judge" in page
    assert "Ask it to judge" not in page
    assert "The right answer is Paris." in page
    assert re.search(r"A \(sim-delta\) took .* of B \(echo\)\.", page)
    assert page.count("side__wrong") == page.count("side__better") == 1
    assert "No verdict yet" not in page


def test_a_blind_comparison_says_nothing_of_it_before_the_vote(site, alice):
    site.add_worker("echo")
    chosen = ("worker/sim-delta", "worker/echo")
    comparison = ended(site, start(site, *chosen, prompt=PROMPT, is_blind="on"))
    page = page_of(alice, comparison)
    for word in ("is right", "right answer", "side__wrong", "side__better"):
        assert word not in page


def test_the_best_single_worker_is_one_click_away(site, alice):
    fields = {"prompt": PROMPT, "model": "conductor-ultra"}
    asked = alice.post(
        "/playground/runs/", fields, headers={"Accept": "application/json"}
    )
    run_id = asked.json()["id"]
    runs = Run.objects.for_team(site.cast.team.id).filter(id=run_id)
    assert eventually(lambda: runs.filter(state="completed").exists())
    page = alice.get(f"/runs/{run_id}/").content.decode()
    assert "Compare with the best single model" in page
    sent = dict(re.findall(r'name="(of|keep|candidate)" value="([^"]+)"', page))
    assert sent == {"of": run_id, "keep": "on", "candidate": "worker/sim-delta"}
    made = alice.post("/comparisons/start/", sent)
    assert made.status_code == 302
    answers = page_of(alice, ended(site, made["Location"].split("/")[-2]))
    assert "conductor-ultra" in answers and "sim-delta" in answers


def test_the_same_answer_is_called_so_with_which_is_cheaper(site):
    site.add_worker("instant")
    site.add_worker("delay-1")
    comparison = ended(site, start(site, "worker/instant", "worker/delay-1"))
    page = page_of(signed_in(site.cast.alice), comparison)
    assert "Same answer." in page
    assert "No verdict yet" not in page
