"""G9: a person can stop all runs of a team, and the operator those of the site."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from apps.accounts.models import Scope
from apps.audit.selectors import entry_list
from apps.core.errors import Conflict, InvalidFields
from apps.engine import events as ev
from apps.runs.coordination.suspensions import SuspensionBoard, suspensions_read
from apps.runs.errors import RunsSuspended
from apps.runs.execution.executor import get_executor
from apps.runs.models import Run, Suspension
from apps.runs.selectors import run_events
from apps.runs.services import run_start, runs_allow, runs_suspend
from apps.runs.types import SuspensionInForce
from tests.conftest import Cast, Site
from tests.factories import ACTOR, UserFactory
from tests.patience import eventually
from tests.rest.conftest import Caller, actions, fault, keyed, member
from tests.runs.starting import on_loop, order

PROMPT = "What is 6 times 7?"
REASON = "A key has leaked"
SUSPENDED = "runs_suspended"
STALLED = {"model": "worker/fault-stall", "prompt": PROMPT}


def ask(site: Site, **values: Any) -> httpx.Response:
    body = {
        "model": "conductor-mini",
        "messages": [{"role": "user", "content": PROMPT}],
        **values,
    }
    return httpx.post(
        f"{site.api_url}/chat/completions",
        json=body,
        headers={"Authorization": f"Bearer {site.key}"},
        timeout=30,
    )


def stop(caller: Caller, reason: str = REASON) -> Any:
    return caller.post("team/suspension/", {"reason": reason})


def known_here() -> None:
    """Read what is in force, as the process does every second."""
    on_loop(get_executor().lease_keeper.look_for_suspensions())


@pytest.fixture
def stalled(site: Site) -> Iterator[Run]:
    """A run whose worker never answers."""
    site.add_worker("fault-stall")
    headers = {"Authorization": f"Bearer {site.key}"}
    made = httpx.post(f"{site.url}/api/v1/runs/", json=STALLED, headers=headers)
    run_id = uuid.UUID(made.json()["id"])
    yield Run.objects.for_team(site.cast.team.id).get(id=run_id)


def ended(run: Run) -> Run:
    """Return the run once it has ended; it must end by itself."""
    rows = Run.objects.for_team(run.team_id).filter(id=run.id)
    assert eventually(lambda: rows.exclude(state="running").exists())
    run.refresh_from_db()
    return run


def test_g9_a_stopped_team_starts_no_run_anywhere(site: Site) -> None:
    assert ask(site).status_code == 200
    assert stop(member(site.cast.alice)).status_code == 200
    known_here()
    refused = ask(site)
    assert refused.status_code == 403
    assert refused.json()["error"]["code"] == "runs_suspended"
    assert f"stopped by Alice: {REASON}" in refused.json()["error"]["message"]
    headers = {"x-api-key": site.key, "anthropic-version": "2023-06-01"}
    message = {
        "model": "conductor-mini",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": PROMPT}],
    }
    told = httpx.post(f"{site.api_url}/messages", json=message, headers=headers)
    assert (told.status_code, told.json()["error"]["type"]) == (403, "permission_error")
    headers = {"Authorization": f"Bearer {site.key}"}
    body = {"model": "conductor-mini", "prompt": PROMPT}
    for more in ({}, {"background": True}):
        response = httpx.post(
            f"{site.url}/api/v1/runs/", json={**body, **more}, headers=headers
        )
        assert response.json()["error"]["code"] == "runs_suspended"
    run = Run.objects.for_team(site.cast.team.id).get()
    again = httpx.post(f"{site.url}/api/v1/runs/{run.id}/rerun/", headers=headers)
    assert again.json()["error"]["code"] == "runs_suspended"
    assert Run.objects.for_team(site.cast.team.id).count() == 1


def test_g9_runs_in_progress_are_cancelled_with_the_reason(stalled: Run) -> None:
    runs_suspend(team=stalled.team, reason=REASON, actor=ACTOR)
    run = ended(stalled)
    assert run.state == "cancelled"
    events = [recorded.event for recorded in run_events(run)]
    assert isinstance(events[-1], ev.RunCancelled)
    assert REASON in events[-1].reason
    closed = [e for e in events if isinstance(e, ev.StepAttemptFailed)]
    assert [e.fault for e in closed] == ["cancelled"]
    newest = entry_list(run.team_id, subject_id=run.id)[-1]
    assert newest.actor.display == ACTOR.display


def test_g9_runs_are_allowed_again(site: Site) -> None:
    alice = member(site.cast.alice)
    stop(alice)
    known_here()
    assert ask(site).status_code == 403
    assert alice.delete("team/suspension/").status_code == 204
    known_here()
    assert ask(site).status_code == 200
    assert [a for a in actions(site.cast.team) if a.startswith("team.")] == [
        "team.suspended",
        "team.resumed",
    ]


@pytest.fixture
def queueing(settings: Any) -> None:
    """Runs in the background are left to worker processes, of which there are none."""
    settings.BACKGROUND_RUNS = "workers"


def test_g9_a_run_that_waits_does_not_begin(queueing: None, site: Site) -> None:
    executor = get_executor()
    run_id = on_loop(executor.enqueue(order(site.cast, PROMPT)))
    runs_suspend(team=site.cast.team, reason=REASON, actor=ACTOR)
    known_here()
    on_loop(executor.claim(run_id))
    run = ended(Run.objects.for_team(site.cast.team.id).get(id=run_id))
    assert (run.state, run.error_code) == ("failed", "runs_suspended")
    assert "step.started" not in [e.event.action for e in run_events(run)]


def test_g9_a_run_that_waited_begins_as_soon_as_runs_are_allowed(
    queueing: None, site: Site
) -> None:
    executor = get_executor()
    run_id = on_loop(executor.enqueue(order(site.cast, PROMPT)))
    # What this process read last says that the team is stopped; since then it isn't.
    team_id = site.cast.team.id
    lifted = SuspensionInForce(team_id, REASON, ACTOR)
    executor.suspensions.replace({team_id: lifted})
    on_loop(executor.claim(run_id))
    run = ended(Run.objects.for_team(team_id).get(id=run_id))
    assert (run.state, run.error_code) == ("completed", "")


def test_g9_other_teams_go_on(site: Site) -> None:
    runs_suspend(team=site.cast.other_team, reason=REASON, actor=ACTOR)
    known_here()
    assert ask(site).status_code == 200


def test_g9_the_operator_stops_the_whole_site(site: Site, capsys: Any) -> None:
    call_command("runs_suspend", "--site", "--reason", REASON)
    known_here()
    refused = ask(site).json()["error"]
    assert refused["message"].startswith("all runs of this site were stopped by the")
    alice = member(site.cast.alice)
    fault(alice.delete("team/suspension/"), 409)
    told = alice.get("team/suspension/").json()
    assert (told["scope"], told["reason"]) == ("site", REASON)
    for team in (site.cast.team, site.cast.other_team):
        assert actions(team)[-1] == "team.suspended"
    call_command("runs_suspend", "--site", "--lift")
    known_here()
    assert ask(site).status_code == 200
    assert "allowed again" in capsys.readouterr().out


def test_g9_the_command_says_what_is_wrong(cast: Cast) -> None:
    with pytest.raises(CommandError, match="no team 'nobody'"):
        call_command("runs_suspend", "--team", "nobody", "--reason", REASON)
    with pytest.raises(CommandError, match="are not stopped"):
        call_command("runs_suspend", "--team", cast.team.slug, "--lift")


def test_g9_a_stop_needs_a_reason_and_stands_once(cast: Cast) -> None:
    with pytest.raises(InvalidFields):
        runs_suspend(team=cast.team, reason=" ", actor=ACTOR)
    runs_suspend(team=cast.team, reason=REASON, actor=ACTOR)
    with pytest.raises(Conflict):
        runs_suspend(team=cast.team, reason="Again", actor=ACTOR)
    runs_allow(team=cast.team, actor=ACTOR)
    with pytest.raises(Conflict):
        runs_allow(team=cast.team, actor=ACTOR)
    assert Suspension.objects.for_team(cast.team.id).count() == 1


def test_g9_only_owners_and_admins_stop_and_allow(cast: Cast) -> None:
    for person in (cast.bob, cast.vera):
        fault(stop(member(person)), 403)
    stop(member(cast.alice))
    fault(member(cast.bob).delete("team/suspension/"), 403)
    assert member(cast.vera).get("team/suspension/").json()["is_suspended"]
    assert not member(cast.mallory).get("team/suspension/").json()["is_suspended"]


def test_g9_the_pages_stop_and_allow_and_say_so(cast: Cast) -> None:
    browser = member(cast.alice).client
    page = browser.post("/team/stop/", {"reason": REASON}, follow=True)
    assert f"stopped by Alice: {REASON}" in page.content.decode()
    playground = member(cast.bob).client.get("/").content.decode()
    assert "No run can start" in playground
    assert (
        "Allow runs"
        not in member(cast.bob).client.get("/team/settings/").content.decode()
    )
    page = browser.post("/team/allow/", follow=True)
    assert "Runs are allowed again." in page.content.decode()
    assert "No run can start" not in browser.get("/").content.decode()


def test_g9_the_board_of_a_process_refuses_without_a_query(cast: Cast) -> None:
    board = SuspensionBoard()
    board.require(cast.team.id)
    runs_suspend(team=cast.team, reason=REASON, actor=ACTOR)
    board.replace(suspensions_read())
    with pytest.raises(RunsSuspended):
        board.require(cast.team.id)
    board.require(cast.other_team.id)


def test_g9_a_run_that_is_stopped_before_it_is_on_record_is_refused(site: Site) -> None:
    executor = get_executor()
    team_id = site.cast.team.id

    async def refused() -> None:
        live = await run_start(order(site.cast, PROMPT))
        # At this very moment the process learns of the stop.
        executor.suspensions.replace(
            {team_id: SuspensionInForce(team_id, REASON, ACTOR)}
        )
        executor.stop_suspended()
        await live.finished()

    with pytest.raises(RunsSuspended, match=REASON):
        on_loop(refused())
    assert not Run.objects.for_team(team_id).exists()


# --- the operator's page --------------------------------------------------------------


@pytest.fixture
def operator(client: Client) -> Client:
    person = UserFactory.create(name="Olga", is_staff=True, is_superuser=True)
    client.force_login(person)
    return client


def test_g9_the_operator_stops_the_site_on_a_page_and_allows_it_again(
    site: Site, operator: Client, stalled: Run
) -> None:
    operator.post("/admin/stop/", {"scope": "site", "reason": REASON})
    known_here()
    assert ended(stalled).state == "cancelled"
    answer = ask(site)
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, SUSPENDED)
    page = operator.get("/admin/stop/").content.decode()
    assert "the whole site" in page
    assert REASON in page
    (entry,) = recorded(site, "team.suspended")
    assert (entry.actor.display, entry.data["scope"]) == ("Olga", "site")
    assert entry.context["address"]

    operator.post("/admin/stop/", {"scope": "site", "lift": "1"})
    known_here()
    assert ask(site).status_code == 200
    assert "Nothing is stopped" in operator.get("/admin/stop/").content.decode()


def test_g9_the_operator_stops_one_team(site: Site, operator: Client) -> None:
    operator.post("/admin/stop/", {"scope": "others", "reason": REASON})
    known_here()
    assert ask(site).status_code == 200
    assert member(site.cast.mallory).get("team/suspension/").json()["is_suspended"]


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({"scope": "nobody", "reason": REASON}, "There is no such team"),
        ({"scope": "site", "reason": " "}, "eason"),
        ({"scope": "site", "lift": "1"}, "These runs are not stopped"),
    ],
)
def test_g9_the_operator_learns_what_is_wrong(
    site: Site, operator: Client, form: dict[str, str], words: str
) -> None:
    page = operator.post("/admin/stop/", form, follow=True).content.decode()
    assert words in page
    assert not Suspension.objects.across_teams().exists()


# --- the operator's part of the REST API ----------------------------------------------


SITE = "site/suspension/"


@pytest.fixture
def olga(operator: Client) -> Caller:
    """The operator, who is in no team, in a script of their session."""
    return Caller(operator)


def test_g9_the_operator_stops_the_site_over_rest_and_allows_it_again(
    site: Site, olga: Caller, stalled: Run
) -> None:
    stopped = olga.post(SITE, {"reason": REASON})
    assert stopped.status_code == 200
    told = {"scope": "site", "reason": REASON, "actor_name": "Olga"}
    assert stopped.json() == olga.get(SITE).json() == {"is_suspended": True, **told}
    known_here()
    assert ended(stalled).state == "cancelled"
    answer = ask(site)
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, SUSPENDED)
    assert REASON in answer.json()["error"]["message"]
    assert actions(site.cast.other_team)[-1] == "team.suspended"
    (entry,) = recorded(site, "team.suspended")
    assert (entry.actor.display, entry.data["scope"]) == ("Olga", "site")
    assert entry.context["address"]

    assert olga.delete(SITE).status_code == 204
    known_here()
    assert ask(site).status_code == 200
    assert not olga.get(SITE).json()["is_suspended"]
    assert actions(site.cast.other_team)[-1] == "team.resumed"


def test_g9_the_site_state_is_not_that_of_a_team(cast: Cast, olga: Caller) -> None:
    stop(member(cast.alice))
    assert not olga.get(SITE).json()["is_suspended"]
    fault(olga.delete(SITE), 409)


def test_g9_the_operator_learns_over_rest_what_is_wrong(
    cast: Cast, olga: Caller
) -> None:
    assert fault(olga.post(SITE, {"reason": " "}), 400)["param"] == "reason"
    assert fault(olga.post(SITE, {"scope": "site"}), 400)["param"]
    olga.post(SITE, {"reason": REASON})
    fault(olga.post(SITE, {"reason": "Again"}), 409)
    olga.delete(SITE)
    fault(olga.delete(SITE), 409)


def test_g9_owners_their_keys_and_plain_staff_do_not_stop_the_site(
    cast: Cast, client: Client
) -> None:
    client.force_login(UserFactory.create(is_staff=True))
    callers = [member(cast.alice), Caller(client), keyed(cast.team, *Scope)]
    for caller in callers:
        for method in ("GET", "POST", "DELETE"):
            body = {"reason": REASON} if method == "POST" else None
            error = fault(caller.call(method, SITE, body), 403)
            assert "operator" in error["message"]
    fault(Caller(Client()).post(SITE, {"reason": REASON}), 401)
    assert not Suspension.objects.across_teams().exists()
    assert "team.suspended" not in actions(cast.team)


def test_g9_a_key_beside_the_operator_s_session_is_a_key(
    cast: Cast, operator: Client
) -> None:
    key = keyed(cast.team, *Scope)
    fault(Caller(operator, key.headers).post(SITE, {"reason": REASON}), 403)


def test_g9_a_stop_of_the_site_needs_a_csrf_token(cast: Cast) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(UserFactory.create(is_staff=True, is_superuser=True))
    error = fault(Caller(client).post(SITE, {"reason": REASON}), 403)
    assert error["code"] == "csrf_failed"


def recorded(site: Site, action: str) -> list[Any]:
    return [e for e in entry_list(site.cast.team.id) if e.action == action]
