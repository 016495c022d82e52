"""Comparisons whose candidates answer on a running site."""

from __future__ import annotations

import html
import re
import uuid

import pytest

from apps.accounts.models import Role
from apps.accounts.principal import member_principal
from apps.budgets.services import budget_create
from apps.comparisons.models import Comparison, JudgementState
from apps.core.errors import Conflict
from apps.presets.services import preset_create
from apps.runs.models import Run
from apps.runs.selectors import run_record, run_view
from tests.comparisons.conftest import signed_in, start
from tests.conftest import Site
from tests.factories import ACTOR
from tests.governance.test_policies import in_force
from tests.patience import eventually
from tests.rest.conftest import member

THREE = ("conductor-ultra", "worker/sim-delta", "worker/sim-birch")


def ended(site: Site, comparison_id: uuid.UUID) -> Comparison:
    """Return a comparison once its runs and its judge are over."""
    alice = signed_in(site.cast.alice)

    def is_over() -> bool:
        page = alice.get(f"/comparisons/{comparison_id}/body/").content.decode()
        runs_are_over = page.count("data-over") == page.count("data-column=")
        return runs_are_over and "data-judging" not in page

    assert eventually(is_over)
    return Comparison.objects.for_team(site.cast.team.id).get(id=comparison_id)


def secrets_of(comparison: Comparison) -> list[str]:
    """Return what nobody may know of a comparison before the vote."""
    rows = comparison.answers.all()
    models = [row.model for row in rows]
    names = [model.split("/")[-1] for model in models]
    return [*(str(row.run_id) for row in rows), *models, *names, "$", "metrics"]


def test_three_candidates_answer_one_prompt(site):
    comparison = ended(site, start(site, *THREE))
    runs = [
        Run.objects.for_team(site.cast.team.id).get(id=each.run_id)
        for each in comparison.answers.all()
    ]
    assert tuple(run.model for run in runs) == THREE
    assert {run.state for run in runs} == {"completed"}
    assert {run.title for run in runs} == {"What is 17 * 23?"}
    page = signed_in(site.cast.alice).get(f"/comparisons/{comparison.id}/")
    text = page.content.decode()
    assert "No verdict yet" in text
    assert "× the cost" not in text


@pytest.mark.parametrize("part", ["", "body/", "?differences=A"])
def test_nothing_of_a_blind_comparison_leaks_before_the_vote(site, part):
    comparison = ended(site, start(site, *THREE, is_blind="on"))
    page = signed_in(site.cast.alice).get(f"/comparisons/{comparison.id}/{part}")
    main = _main(page.content.decode())
    assert "391" in main
    assert [each for each in secrets_of(comparison) if each in main] == []


def test_list_of_a_blind_comparison_names_nobody(site):
    comparison = ended(site, start(site, *THREE, is_blind="on"))
    page = signed_in(site.cast.bob).get("/comparisons/").content.decode()
    main = _main(page)
    assert "3 answers, blind" in main
    assert [each for each in secrets_of(comparison) if each in main] == []


def test_vote_reveals_to_the_voter_alone(site):
    comparison = ended(site, start(site, *THREE, is_blind="on"))
    place = f"/comparisons/{comparison.id}/"
    alice = signed_in(site.cast.alice)
    alice.post(f"{place}vote/", {"choice": "better-B"})
    page = _main(alice.get(place).content.decode())
    for name in ("conductor-ultra", "sim-delta", "sim-birch"):
        assert name in page
    assert re.search(r"B \([a-z-]+\) is better, by 1 of 1 vote\.", page)
    assert "× the time" in page
    other = _main(signed_in(site.cast.bob).get(place).content.decode())
    assert [each for each in secrets_of(comparison) if each in other] == []
    assert "is better, by" not in other


def test_candidate_that_fails_is_a_column_without_an_answer(site):
    site.add_worker("fault-500")
    models = ("worker/sim-delta", "worker/fault-500")
    comparison = ended(site, start(site, *models, is_blind="on"))
    place = f"/comparisons/{comparison.id}/"
    alice = signed_in(site.cast.alice)
    hidden = _main(alice.get(place).content.decode())
    assert "This candidate gave no answer." in hidden
    assert "fault-500" not in hidden
    alice.post(f"{place}vote/", {"choice": "none"})
    shown = _main(alice.get(place).content.decode())
    assert "None of the answers is good, by the votes." in shown
    assert "fault-500" in shown


def test_g18_budget_that_is_spent_starts_no_comparison(site):
    values = {"kind": "team", "period": "day", "limit_usd": "0.000001"}
    budget_create(team=site.cast.team, values=values, actor=ACTOR)
    answer = signed_in(site.cast.alice).post(
        "/comparisons/start/", {"prompt": "Hello", "candidate": list(THREE)}
    )
    assert answer.status_code == 429
    assert "budget" in answer.content.decode()
    assert not Comparison.objects.for_team(site.cast.team.id).exists()


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"candidate": ["worker/sim-delta"]}, "1 is chosen"),
        ({"candidate": ["worker/nobody", "worker/sim-delta"]}, "worker/nobody"),
        ({"candidate": list(THREE), "prompt": " "}, "Write a prompt."),
    ],
)
def test_bad_choice_is_explained_and_nothing_is_lost(site, fields, words):
    sent = {"prompt": "What is 2 + 2?", **fields}
    answer = signed_in(site.cast.alice).post("/comparisons/start/", sent)
    page = answer.content.decode()
    assert answer.status_code == 400
    assert words in page
    assert sent["prompt"].strip() in page
    assert not Run.objects.for_team(site.cast.team.id).exists()


def test_one_candidate_under_two_names_is_refused(site):
    pool = site.cast.team.pools.get(is_default=True).name
    for model in ("worker/sim-delta", "conductor-ultra"):
        same = model.replace("conductor-", "") if "ultra" in model else model
        fields = {"prompt": "Hello", "models": [model, f"{pool}/{same}"]}
        answer = member(site.cast.alice).post("comparisons/", fields)
        assert answer.status_code == 400
        assert "name each candidate only once" in answer.content.decode()
    assert not Run.objects.for_team(site.cast.team.id).exists()


def test_comparison_that_cannot_be_stored_stops_its_runs(site, monkeypatch):
    def fail(**_: object) -> None:
        raise Conflict("the ledger is full")

    stopped: list[str] = []

    def stop(*, reason: str, **_: object) -> bool:
        stopped.append(reason)
        return True

    monkeypatch.setattr("apps.comparisons.services.entries_append", fail)
    monkeypatch.setattr("apps.comparisons.services.run_cancel", stop)
    answer = signed_in(site.cast.alice).post(
        "/comparisons/start/", {"prompt": "Hello", "candidate": list(THREE)}
    )
    assert answer.status_code == 409
    assert stopped == ["the comparison could not be stored"] * 3
    assert not Comparison.objects.for_team(site.cast.team.id).exists()


def test_judge_reads_the_conversation_before_a_follow_up(site):
    site.add_worker("scripted")
    models = ("worker/sim-delta", "worker/sim-birch")
    before = ended(site, start(site, *models, prompt="My number is 4711."))
    run_id = str(before.answers.all()[0].run_id)
    follow = ended(site, start(site, *models, prompt="Double it.", run=run_id))
    assert follow.has_same_prompt
    alice = signed_in(site.cast.alice)
    alice.post(f"/comparisons/{follow.id}/judge/", {"judge": "worker/scripted"})
    asked = run_record(site.cast.team.id, follow.judgements.get().run_id).prompt
    assert "My number is 4711." in asked
    assert "Double it." in asked


def test_preset_is_carried_into_a_comparison(site):
    team, bob = site.cast.team, site.cast.bob
    principal = member_principal(bob, team, Role.MEMBER, {})
    values = {"name": "Greet", "prompt": "Say hello to {{name}}."}
    preset = preset_create(principal=principal, values=values)
    sent = {
        "preset": str(preset.id),
        "preset_version": "1",
        "variable-name": "Ada",
        "prompt": values["prompt"],
    }
    browser = signed_in(bob)
    page = browser.post("/comparisons/new/", sent).content.decode()
    assert "Say hello to Ada." in page
    for name in ("preset", "preset_version", "variable-name"):
        assert f'name="{name}" value="{sent[name]}"' in page
    chosen = {**sent, "prompt": "Say hello to Ada.", "candidate": list(THREE)}
    answer = browser.post("/comparisons/start/", chosen)
    comparison = ended(site, uuid.UUID(answer["Location"].split("/")[-2]))
    for each in comparison.answers.all():
        run = Run.objects.for_team(team.id).get(id=each.run_id)
        view = run_view(run)
        assert view.prompt == "Say hello to Ada."
        assert view.preset is not None
        assert view.preset.preset_id == preset.id
        assert not view.preset.is_edited


def test_viewer_starts_none(site):
    fields = {"prompt": "Hello", "candidate": list(THREE)}
    answer = signed_in(site.cast.vera).post("/comparisons/start/", fields)
    assert answer.status_code == 403


def test_recorded_answer_is_compared_with_a_new_one(site):
    first = ended(site, start(site, "worker/sim-delta", "worker/sim-birch"))
    run_id = first.answers.all()[0].run_id
    alice = signed_in(site.cast.alice)
    page = alice.get(f"/comparisons/new/?of={run_id}").content.decode()
    assert "Existing answer" in page
    fields = {"of": str(run_id), "keep": "on", "candidate": ["conductor-mini"]}
    answer = alice.post("/comparisons/start/", fields)
    made = ended(site, uuid.UUID(answer["Location"].split("/")[-2]))
    assert made.answers.all()[0].run_id == run_id
    assert [each.model for each in made.answers.all()] == [
        "worker/sim-delta",
        "conductor-mini",
    ]
    blind = alice.post("/comparisons/start/", {**fields, "is_blind": "on"})
    assert "You have seen the answer" in blind.content.decode()


def test_thumbs_rate_a_column_that_is_hidden(site):
    comparison = ended(site, start(site, *THREE, is_blind="on"))
    place = f"/comparisons/{comparison.id}/answers/B/feedback/"
    signed_in(site.cast.bob).post(place, {"rating": "up"})
    rated = comparison.answers.all()[1].run_id
    page = signed_in(site.cast.alice).get(f"/runs/{rated}/").content.decode()
    assert "1 rating" in page


JUDGED = '[[say {"reason": "It is right.", "better": "%s"}]]'


@pytest.mark.parametrize(
    ("better", "state"),
    [("same", JudgementState.TIE), ("first", JudgementState.SPLIT)],
)
def test_judge_reads_the_answers_in_both_orders(site, better, state):
    site.add_worker("scripted")
    prompt = JUDGED % better
    models = ("worker/sim-delta", "worker/sim-birch")
    comparison = ended(site, start(site, *models, prompt=prompt))
    alice = signed_in(site.cast.alice)
    place = f"/comparisons/{comparison.id}/"
    alice.post(f"{place}judge/", {"judge": "worker/scripted"})
    comparison = ended(site, comparison.id)
    judgement = comparison.judgements.get()
    assert judgement.state == state
    page = _main(alice.get(place).content.decode())
    assert page.count("It is right.") >= 2
    assert "Both calls cost $" in page
    for run_id in (judgement.run_id, judgement.reversed_run_id):
        assert Run.objects.for_team(site.cast.team.id).filter(id=run_id).exists()


def test_judge_waits_for_a_blind_vote(site):
    site.add_worker("scripted")
    models = ("worker/sim-delta", "worker/sim-birch")
    comparison = ended(site, start(site, *models, is_blind="on"))
    place = f"/comparisons/{comparison.id}/"
    alice = signed_in(site.cast.alice)
    page = alice.post(f"{place}judge/", {"judge": "worker/scripted"}, follow=True)
    assert "Vote first" in page.content.decode()
    assert not comparison.judgements.exists()


def test_without_another_worker_nobody_can_judge(site):
    models = ("worker/sim-delta", "worker/sim-birch")
    comparison = ended(site, start(site, *models))
    place = f"/comparisons/{comparison.id}/"
    alice = signed_in(site.cast.alice)
    assert "No worker can judge here" in alice.get(place).content.decode()
    page = alice.post(f"{place}judge/", {}, follow=True)
    assert "no worker that could judge" in page.content.decode()


def _main(page: str) -> str:
    """Return the part of a page that is about the comparison."""
    start = page.index("<main") if "<main" in page else 0
    return re.sub(r'name="csrfmiddlewaretoken" value="[^"]*"', "", page[start:])


def judged(site: Site, comparison: Comparison, judge: str) -> str:
    """Ask a judge, and return the page once it has answered."""
    place = f"/comparisons/{comparison.id}/"
    alice = signed_in(site.cast.alice)
    alice.post(f"{place}judge/", {"judge": f"worker/{judge}"})
    ended(site, comparison.id)
    return html.unescape(alice.get(place).content.decode())


def test_simulated_judge_judges_in_both_orders(site):
    site.add_worker("sim-atlas")
    site.add_worker("scripted")
    asked = "What is 17 * 23? [[say It is **405**.]]"
    models = ("worker/scripted", "worker/sim-birch")
    comparison = ended(site, start(site, *models, prompt=asked))
    page = judged(site, comparison, "sim-atlas")
    assert "sim-atlas finds B better, in both orders." in page
    assert "I get 391; the second answer agrees most with that." in page
    assert "I get 391; the first answer agrees most with that." in page


def test_judge_that_a_policy_stops_is_said_to_be_stopped_by_it(site):
    site.add_worker("sim-atlas")
    comparison = ended(site, start(site, *THREE[1:]))
    rule = {
        "name": "No judges",
        "conditions": {"words": ["Compare 2 answers"]},
        "effect": {"kind": "deny"},
    }
    in_force(site, rule)
    page = judged(site, comparison, "sim-atlas")
    assert comparison.judgements.get().state == JudgementState.FAILED
    assert "A policy stopped sim-atlas before it gave a judgement." in page
    assert "No judges" in page
    assert "A policy stopped the judge, so nothing here says which" in page
    assert "could be read" not in page
    assert "readable" not in page


def test_judge_whose_model_fails_is_said_to_have_failed(site):
    site.add_worker("fault-401")
    comparison = ended(site, start(site, *THREE[1:]))
    page = judged(site, comparison, "fault-401")
    assert "fault-401 failed before it gave a judgement." in page
    assert "The judge failed, so nothing here says which answer is better." in page
    assert "readable" not in page
