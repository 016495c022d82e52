"""Views of the list of runs that people keep."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import Team
from apps.runs import saved_views
from apps.runs.models import Run, RunState, SavedView
from tests.factories import issue_key
from tests.playground import stories
from tests.playground.conftest import record_run

URL = "/runs/views/"
REST = "/api/v1/views/"


def keep(client: Client, name: str = "Failures", **fields: Any) -> SavedView:
    client.post(f"{URL}?state=failed&sort=cost&page=2", {"name": name, **fields})
    return SavedView.objects.across_teams().get(name=name)


def test_view_opens_the_list_as_it_was(bob: Client, team: Team, run: Run) -> None:
    failed = record_run(team, stories.finished(), state=RunState.FAILED)
    bob.post("/runs/columns/", {"columns": ["cost"]})
    view = keep(bob)
    bob.post("/runs/columns/", {"columns": ["time"]})
    page = bob.get("/runs/").content.decode()
    address = f"?state=failed&amp;sort=cost&amp;view={view.id}"
    assert f'href="{address}"' in page
    opened = bob.get(f"/runs/{address.replace('&amp;', '&')}").content.decode()
    assert 'data-hide="plan state model who steps tokens time started"' in opened
    assert str(failed.id) in opened
    assert str(run.id) not in opened
    assert 'aria-current="true"' in opened


def test_own_view_is_for_oneself(bob: Client, alice: Client, run: Run) -> None:
    view = keep(bob)
    assert "Failures" not in alice.get("/runs/").content.decode()
    assert alice.get(f"{REST}{view.id}/").status_code == 404
    assert alice.post(f"{URL}{view.id}/delete/").status_code == 404


def test_shared_view_is_for_the_team(
    bob: Client, vera: Client, mallory: Client, team: Team, run: Run
) -> None:
    view = keep(bob, is_shared="on")
    assert "Failures" in vera.get("/runs/").content.decode()
    program = Client(headers={"authorization": f"Bearer {issue_key(team).secret}"})
    assert program.get(REST).json()["data"][0]["query"] == "state=failed&sort=cost"
    assert "Failures" not in mallory.get("/runs/").content.decode()
    assert mallory.get(f"{REST}{view.id}/").status_code == 404


def test_only_its_maker_deletes_a_view(bob: Client, alice: Client, run: Run) -> None:
    view = keep(bob, is_shared="on")
    assert alice.post(f"{URL}{view.id}/delete/").status_code == 403
    assert alice.delete(f"{REST}{view.id}/").status_code == 403
    assert bob.post(f"{URL}{view.id}/delete/").status_code == 302
    assert not SavedView.objects.across_teams().exists()


def test_viewer_keeps_views_and_shares_none(vera: Client, run: Run) -> None:
    assert not keep(vera).is_shared
    vera.post(URL, {"name": "Ours", "is_shared": "on"})
    assert not SavedView.objects.across_teams().filter(name="Ours")


def test_view_of_the_same_name_is_replaced(bob: Client, run: Run) -> None:
    keep(bob)
    bob.post(f"{URL}?q=zebra", {"name": "Failures"})
    assert SavedView.objects.across_teams().get().query == "q=zebra"


def test_view_is_made_read_and_deleted_over_rest(bob: Client, run: Run) -> None:
    sent = {"name": "Dear", "query": "sort=cost&view=x", "hidden": ["plan"]}
    answer = bob.post(REST, sent, content_type="application/json")
    assert answer.status_code == 201, answer.content
    told = answer.json()
    assert (told["query"], told["hidden"]) == ("sort=cost", ["plan"])
    assert bob.get(f"{REST}{told['id']}/").json() == told
    assert bob.delete(f"{REST}{told['id']}/").status_code == 204


def test_api_key_makes_no_view(team: Team) -> None:
    program = Client(headers={"authorization": f"Bearer {issue_key(team).secret}"})
    answer = program.post(REST, {"name": "x"}, content_type="application/json")
    assert answer.status_code == 403


@pytest.mark.parametrize(
    "sent", [{}, {"name": ""}, {"name": "x" * 61}, {"name": "a", "hidden": "plan"}]
)
def test_bad_input_is_refused(bob: Client, run: Run, sent: dict[str, Any]) -> None:
    answer = bob.post(REST, sent, content_type="application/json")
    assert answer.status_code == 400


def test_one_has_a_bounded_number_of_views(
    bob: Client, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saved_views, "MOST_VIEWS", 1)
    keep(bob)
    answer = bob.post(REST, {"name": "Second"}, content_type="application/json")
    assert answer.status_code == 409
