"""A run beside another one: asking a worker the same, and the difference in words."""

from __future__ import annotations

import html
import re
import uuid
from dataclasses import dataclass, replace

import pytest
from django.urls import resolve, reverse

from apps.engine.events import RunCancelled, RunCompleted, RunFailed
from apps.engine.ports import CallParams
from apps.engine.usage import Usage
from apps.playground.comparison import difference
from apps.runs import services
from apps.runs.models import Run, RunState
from apps.runs.records.run_view import RunView
from apps.runs.types import RunOrder
from tests.factories import PoolFactory
from tests.playground import stories
from tests.playground.conftest import record_run

JSON = {"Accept": "application/json"}
NEW_ID = uuid.UUID(int=9)


@pytest.fixture
def orders(monkeypatch) -> list[RunOrder]:
    """Orders that reach the run service, which answers as if they had begun."""
    taken: list[RunOrder] = []

    def submit(order: RunOrder) -> uuid.UUID:
        taken.append(order)
        return NEW_ID

    resolve("/api/v1/runs/")  # imports modules that would keep the fake
    monkeypatch.setattr(services, "run_start_blocking", submit)
    return taken


@pytest.fixture
def worker(team) -> str:
    """The model name that asks a worker of the team's pool directly."""
    return f"worker/{PoolFactory.create(team=team).fallback.name}"


@pytest.fixture
def direct(team) -> Run:
    """A finished run that asked gpt-5 alone: half the time, a quarter of the cost."""
    recording = stories.Recording().at(0, stories.created())
    recording.at(1, stories.accepted((), workers=("gpt-5",), planner="direct"))
    recording.at(2, stories.started(0, "gpt-5"))
    recording.at(3960, stories.completed(0, "gpt-5", "Take **PostgreSQL**."))
    usage = Usage(100, 375)
    end = RunCompleted("Take **PostgreSQL**.", "stop", usage, 4153, False, 3960, 2)
    return record_run(team, recording.at(3960, end).entries, model="worker/gpt-5")


def ask(run: Run) -> str:
    return reverse("playground:run_compare", args=[run.id])


def beside(left: Run, right: Run, name: str = "compare") -> str:
    return reverse(f"playground:{name}", args=[left.id, right.id])


# --- Asking one worker the same -------------------------------------------------------


def test_member_is_led_to_both_runs(bob, run, worker, orders):
    response = bob.post(ask(run), {"worker": worker})
    assert response["Location"] == f"/compare/{run.id}/{NEW_ID}/"


def test_worker_is_asked_the_same_by_the_member(bob, run, worker, orders):
    bob.post(ask(run), {"worker": worker})
    (order,) = orders
    assert (order.prompt, order.model) == (stories.PROMPT, worker)
    assert (order.team_id, order.source) == (run.team_id, "playground")
    assert order.actor.id == bob.session["_auth_user_id"]


def test_settings_of_an_api_call_are_kept_but_not_its_key(bob, team, worker, orders):
    params = '{"temperature": 0.5, "stop": ["END"]}'
    created = replace(stories.created(), params=params)
    entries = stories.Recording().at(0, created).entries
    bob.post(ask(record_run(team, entries, source="api")), {"worker": worker})
    assert orders[0].params == CallParams(temperature=0.5, stop=("END",))
    assert orders[0].api_key_id is None


def test_viewer_is_refused(vera, run, worker, orders):
    assert vera.post(ask(run), {"worker": worker}).status_code == 403
    assert orders == []


def test_run_of_another_team_is_404(mallory, run, worker, orders):
    assert mallory.post(ask(run), {"worker": worker}).status_code == 404
    assert orders == []


def test_anonymous_signs_in_first(client, run, direct):
    for response in (client.post(ask(run)), client.get(beside(run, direct))):
        assert response["Location"].startswith("/accounts/login/")


@pytest.mark.parametrize(
    ("name", "words"), [("nobody", "no worker “nobody”"), ("", "Choose a worker.")]
)
def test_unknown_worker_is_named(bob, run, worker, orders, name, words):
    response = bob.post(ask(run), {"worker": name}, headers=JSON)
    assert response.status_code == 400
    assert response.json()["error"]["param"] == "worker"
    assert words in response.json()["error"]["message"]


def test_erased_prompt_cannot_be_asked_again(bob, team, worker, orders):
    erased = record_run(team, stories.Recording().at(0, stories.created("")).entries)
    response = bob.post(ask(erased), {"worker": worker}, headers=JSON)
    assert "has been erased" in response.json()["error"]["message"]


def test_asking_needs_a_post(bob, run):
    assert bob.get(ask(run)).status_code == 405


PAGES_OF_A_RUN = ["/?run={}", "/runs/{}/", "/runs/{}/body/"]


@pytest.mark.parametrize("page", PAGES_OF_A_RUN)
def test_ended_run_offers_the_workers(bob, run, worker, page):
    assert ask(run) in bob.get(page.format(run.id)).content.decode()


@pytest.mark.parametrize("page", PAGES_OF_A_RUN)
def test_each_button_of_the_menu_starts_the_comparison(bob, run, worker, orders, page):
    shown = bob.get(page.format(run.id)).content.decode()
    values = re.findall(r'name="worker" value="([^"]*)" class="menu__item"', shown)
    assert values
    for value in values:
        response = bob.post(ask(run), {"worker": html.unescape(value)})
        assert response["Location"] == f"/compare/{run.id}/{NEW_ID}/"


def test_worker_of_another_pool_is_offered_through_its_own_pool(bob, run, worker, team):
    names = ("delta", "echo")
    other = PoolFactory.create(
        team=team, name="research", is_default=False, workers=names
    )
    page = bob.get(f"/runs/{run.id}/").content.decode()
    assert f'value="research/worker/{other.fallback.name}"' in page


def test_disabled_worker_is_not_offered(bob, run, worker, team):
    team.pools.get().workers.update(is_enabled=False)
    assert ask(run) not in bob.get(f"/runs/{run.id}/").content.decode()


@pytest.mark.parametrize("page", PAGES_OF_A_RUN)
def test_viewer_is_offered_no_comparison_on_any_page(vera, run, worker, page):
    assert ask(run) not in vera.get(page.format(run.id)).content.decode()


def test_run_that_goes_on_does_not_offer_them(bob, team, worker):
    going = record_run(team, stories.parallel(), state=RunState.RUNNING)
    assert ask(going) not in bob.get(f"/runs/{going.id}/").content.decode()


# --- The page -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["compare", "compare_body"])
def test_both_answers_are_shown(vera, run, direct, name):
    page = vera.get(beside(run, direct, name)).content.decode()
    assert "<strong>Use PostgreSQL</strong>" in page
    assert "<strong>PostgreSQL</strong>" in page


def test_difference_is_said_in_words(bob, run, direct):
    page = bob.get(beside(run, direct)).content.decode()
    assert (
        "The plan took 2.0 × the time, 4.0 × the cost and 10 × the tokens "
        "of gpt-5 alone."
    ) in page


def test_both_runs_are_linked(bob, run, direct):
    page = bob.get(beside(run, direct)).content.decode()
    for each in (run, direct):
        assert f'href="/runs/{each.id}/"' in page


@pytest.mark.parametrize("name", ["compare", "compare_body"])
def test_one_run_of_another_team_is_404(mallory, run, direct, name):
    assert mallory.get(beside(run, direct, name)).status_code == 404


def test_side_that_goes_on_is_waited_for(bob, run, team):
    going = record_run(team, stories.parallel(), model="worker/gpt-5")
    page = bob.get(beside(run, going)).content.decode()
    assert "gpt-5 alone is still running." in page
    assert "Reload this page" in page
    assert page.count("data-over") == 1


def test_unknown_cost_is_not_compared(bob, team, direct):
    unknown = record_run(team, stories.finished(unknown=True))
    page = bob.get(beside(unknown, direct)).content.decode()
    assert "The cost of the plan is unknown, so costs are not compared." in page
    assert "× the cost" not in page


def test_different_prompts_are_both_shown(bob, run, team):
    other = stories.Recording().at(0, stories.created("Something else"))
    page = bob.get(beside(run, record_run(team, other.entries))).content.decode()
    assert "Two runs with different prompts" in page
    assert "Something else" in page


def test_plans_of_two_models_are_told_apart(bob, run, team):
    mini = record_run(team, stories.finished(), model="conductor-mini")
    page = bob.get(beside(run, mini)).content.decode()
    assert "conductor-ultra took exactly 1 × the time" in page
    assert "of conductor-mini." in page


def test_two_alike_runs_are_told_apart_by_their_place(bob, run, team):
    again = record_run(team, stories.finished())
    page = bob.get(beside(run, again)).content.decode()
    assert "The first run took exactly 1 × the time" in page


# --- The difference in words ----------------------------------------------------------


@dataclass(frozen=True)
class Numbers:
    """What a run took, as the table below writes it."""

    ms: int = 1000
    micros: int | None = 1000
    tokens: int = 100
    state: str = "completed"

    def story(self) -> RunView:
        view = RunView()
        usage, cost = Usage(self.tokens, 0), (self.micros or 0, self.micros is None)
        sums = (usage, *cost, self.ms, 0)
        if self.state == "completed":
            view.add(RunCompleted("", "stop", *sums))
        elif self.state == "failed":
            view.add(RunFailed("worker_failed", "", "", *sums))
        elif self.state == "cancelled":
            view.add(RunCancelled("", *sums))
        return view


ONE = Numbers()
SAME = "exactly 1 × the cost and exactly 1 × the tokens"


@pytest.mark.parametrize(
    ("plan", "worker", "words"),
    [
        (Numbers(2300, 3100, 400), ONE,
         ["The plan took 2.3 × the time, 3.1 × the cost and 4.0 × the tokens of x."]),
        (Numbers(ms=430), ONE, [f"The plan took 0.43 × the time, {SAME} of x."]),
        (ONE, ONE, [f"The plan took exactly 1 × the time, {SAME} of x."]),
        (Numbers(ms=1020), ONE, [f"The plan took about 1 × the time, {SAME} of x."]),
        (Numbers(ms=999), ONE, [f"The plan took about 1 × the time, {SAME} of x."]),
        (Numbers(ms=12_499), ONE, [f"The plan took 12 × the time, {SAME} of x."]),
        (Numbers(ms=9_980), ONE, [f"The plan took 10 × the time, {SAME} of x."]),
        (Numbers(ms=2_345_678), ONE, [f"The plan took 2,346 × the time, {SAME} of x."]),
        (Numbers(ms=9), ONE,
         [f"The plan took less than 0.01 × the time, {SAME} of x."]),
        (Numbers(micros=0), ONE,
         ["The plan took exactly 1 × the time and exactly 1 × the tokens of x.",
          "The plan cost nothing, x $0.0010."]),
        (ONE, Numbers(micros=0),
         ["The plan took exactly 1 × the time and exactly 1 × the tokens of x.",
          "The plan cost $0.0010, x nothing."]),
        (Numbers(micros=0), Numbers(micros=0),
         ["The plan took exactly 1 × the time and exactly 1 × the tokens of x.",
          "Both cost nothing."]),
        (Numbers(micros=None), ONE,
         ["The plan took exactly 1 × the time and exactly 1 × the tokens of x.",
          "The cost of the plan is unknown, so costs are not compared."]),
        (Numbers(micros=None), Numbers(micros=None),
         ["The plan took exactly 1 × the time and exactly 1 × the tokens of x.",
          "The cost of the plan and of x is unknown, so costs are not compared."]),
        (Numbers(state="failed"), ONE,
         [f"The plan took exactly 1 × the time, {SAME} of x.",
          "The plan failed: its numbers go up to that moment."]),
        (ONE, Numbers(state="cancelled"),
         [f"The plan took exactly 1 × the time, {SAME} of x.",
          "x was stopped: its numbers go up to that moment."]),
        (ONE, Numbers(state="running"),
         ["x is still running. The difference follows at the end."]),
        (Numbers(state="running"), Numbers(state="running"),
         ["The plan and x are still running. The difference follows at the end."]),
        (Numbers(0, 0, 0), Numbers(0, 0, 0),
         ["There is nothing to compare the plan and x by.", "Both cost nothing."]),
    ],
)  # fmt: skip
def test_difference_in_words(plan, worker, words):
    found = difference(("the plan", plan.story()), ("x", worker.story()))
    assert list(found) == words


def story_with(answer: str) -> RunView:
    view = RunView()
    view.add(RunCompleted(answer, "stop", Usage(100, 0), 1000, False, 1000, 0))
    return view


@pytest.mark.parametrize(
    ("mine", "other", "said"),
    [
        ("It is  42.", "It\nis 42.", "Both gave the same answer."),
        ("It is 42.", "It is 43.", "The answers differ: 66 % of their words are"),
        ("Yes.", "No, 43.", "The answers differ: 0 % of their words are the same."),
    ],
)
def test_p17_what_it_cost_never_stands_without_whether_the_answers_agree(
    mine, other, said
):
    found = difference(("the plan", story_with(mine)), ("x", story_with(other)))
    assert found[0].startswith(said)
    assert "took" in found[1]


def test_p9_body_of_a_side_without_news_holds_only_its_figures(bob, run, direct):
    whole = bob.get(beside(run, direct, "compare_body")).content.decode()
    seqs = [int(seq) for seq in re.findall(r'data-seq="(\d+)"', whole)]
    known = bob.get(beside(run, direct, "compare_body"), {"seq": seqs[1]})
    left, right = known.content.decode().split('id="side-second"')
    assert "Use PostgreSQL" in left and "Open run" in left
    assert "PostgreSQL" not in right and "Open run" not in right
    assert 'class="metrics"' in right and "The plan took" in left
