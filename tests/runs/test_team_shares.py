"""T13: one team at the limit of live runs leaves places to the others."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from apps.core.errors import Overloaded
from apps.runs.errors import TeamRunsExceeded
from apps.runs.execution.team_shares import TeamShares
from tests.conftest import Site, add_worker, make_pool
from tests.factories import issue_key
from tests.operations.silent import Silent, silent_provider

ANN, BEN, CAL = (uuid.uuid4() for _ in range(3))
ANSWER_S = 30


@pytest.fixture(autouse=True)
def _ten_runs(settings: Any) -> None:
    settings.MAX_LIVE_RUNS = 10
    settings.TEAM_RUNS_PERCENT = 80


@pytest.fixture
def silent() -> Iterator[Silent]:
    with silent_provider() as provider:
        yield provider


def begin(shares: TeamShares, team_id: uuid.UUID, count: int) -> int:
    """Begin runs until one is refused; return how many began."""
    for begun in range(count):
        try:
            shares.require(team_id)
        except (Overloaded, TeamRunsExceeded):
            return begun
        shares.add(team_id)
    return count


def test_team_alone_gets_all_but_the_reserve():
    shares = TeamShares()
    assert begin(shares, ANN, 20) == 8
    with pytest.raises(TeamRunsExceeded, match="your team has 8 live runs"):
        shares.require(ANN)


def test_second_team_gets_the_reserve_of_a_full_process():
    shares = TeamShares()
    begin(shares, ANN, 20)
    assert begin(shares, BEN, 20) == 2
    with pytest.raises(Overloaded):
        shares.require(CAL)


def test_places_that_become_free_go_to_teams_below_their_share():
    shares = TeamShares()
    begin(shares, ANN, 20)
    begin(shares, BEN, 20)
    shares.remove(ANN)
    assert begin(shares, ANN, 1) == 0
    assert begin(shares, CAL, 1) == 1
    shares.remove(ANN)
    assert begin(shares, ANN, 1) == 0
    assert begin(shares, BEN, 1) == 0  # has two of ten, which is a quarter, rounded
    assert begin(shares, CAL, 1) == 1


def test_teams_below_the_reserve_are_served_as_they_come():
    shares = TeamShares()
    begun = [begin(shares, team, 2) for team in (ANN, BEN, CAL)]
    assert begun == [2, 2, 2]


def test_process_of_one_run_keeps_no_place_back(settings):
    settings.MAX_LIVE_RUNS = 1
    assert begin(TeamShares(), ANN, 2) == 1


def test_flood_of_one_team_leaves_room_for_another(
    site: Site, silent: Silent, settings: Any
):
    """T13: through the API, with the reason and when to come back."""
    settings.MAX_LIVE_RUNS = 5
    other = site.cast.other_team
    make_pool(other, site.simulator_url)
    add_worker(site.cast.team, silent.base_url, "silent")

    def ask(key: str, model: str) -> httpx.Response:
        return httpx.post(
            f"{site.api_url}/chat/completions",
            headers={"Authorization": f"Bearer {key}"},
            json={"model": model, "messages": [{"role": "user", "content": "Hello"}]},
            timeout=ANSWER_S,
        )

    with ThreadPoolExecutor(4) as flood:
        for _ in range(4):
            flood.submit(ask, site.key, "worker/silent")
        silent.wait_for(4)
        refused = ask(site.key, "worker/silent")
        assert refused.status_code == 429
        assert refused.headers["retry-after"] == "2"
        assert refused.json()["error"]["code"] == "too_many_live_runs"
        answered = ask(issue_key(other).secret, "worker/sim-delta")
        assert answered.status_code == 200
        silent.answer()
