"""The websocket of a comparison: live text in columns, and nothing more if blind."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

from apps.accounts.models import User
from apps.simulator.app import create_app
from tests.comparisons.conftest import start
from tests.conftest import Site, add_worker
from tests.patience import PATIENCE_S
from tests.runs.asking import frames, session_of
from tests.serving import serving

SLOW = ("worker/tokens-40-80", "worker/tokens-60-80")


def watching(site: Site, comparison_id: object, user: User) -> ClientConnection:
    return connect(
        f"{site.url.replace('http', 'ws', 1)}/ws/comparisons/{comparison_id}/",
        additional_headers={"Cookie": session_of(user)},
        origin=Origin(site.url),
        open_timeout=PATIENCE_S,
        max_queue=None,
    )


@pytest.fixture
def slow(site: Site) -> Iterator[Site]:
    """A site with two workers that take half a second to answer, and more."""
    with serving(create_app(), ws="none") as url:
        for model in SLOW:
            add_worker(site.cast.team, f"{url}/v1", model.split("/")[1])
        yield site


def written(found: list[dict[str, Any]]) -> dict[int, str]:
    """Return the text of each column, put together by offsets."""
    texts: dict[int, str] = {}
    for frame in found:
        for piece in frame.get("pieces", ()):
            text = texts.get(piece["column"], "")
            assert piece["offset"] == len(text)
            texts[piece["column"]] = text + piece["text"]
    return texts


@pytest.mark.parametrize("is_blind", [False, True])
def test_answers_are_streamed_in_their_columns(slow, is_blind):
    more = {"is_blind": "on"} if is_blind else {}
    made = start(slow, *SLOW, **more)
    with watching(slow, made, slow.cast.alice) as socket:
        found = list(frames(socket))
    assert found[-1] == {"type": "end"}
    assert socket.close_code == 1000
    texts = written(found)
    assert sorted(texts) == [0, 1]
    assert all(text.startswith("0 1 2 3 ") for text in texts.values())


def test_frames_of_a_blind_comparison_say_nothing_of_who_writes(slow):
    made = start(slow, *SLOW, "conductor-ultra", is_blind="on")
    with watching(slow, made, slow.cast.bob) as socket:
        found = list(frames(socket))
    keys = {
        (piece["round"], piece["step"], piece["reasoning"])
        for frame in found
        for piece in frame.get("pieces", ())
    }
    assert keys <= {(0, None, "")}
    assert {frame["type"] for frame in found} <= {
        *("pieces", "news", "caught_up", "end")
    }
    text = json.dumps(found)
    for name in ("tokens-", "sim-", "worker", "cost", "plan", "conductor"):
        assert name not in text


def test_other_team_watches_nothing(slow):
    made = start(slow, *SLOW)
    with watching(slow, made, slow.cast.mallory) as socket:
        assert list(frames(socket)) == []
    assert socket.close_code == 4404
