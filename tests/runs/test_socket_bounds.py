"""T5, T15: how many sockets a person may open, what a flood does, unknown addresses."""

from __future__ import annotations

import logging

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin

from apps.web.websocket_middleware import FLOODED, MAX_MESSAGES, TOO_MANY_SOCKETS
from tests.patience import eventually
from tests.runs.asking import frames, planned, until


@pytest.fixture
def live(stage, recruit, watch):
    """A run that goes on for as long as a test takes."""
    run = stage.start(planned(recruit("delay-3600000")))
    until(watch(run), "step.started")
    return run


def test_socket_beyond_the_limit_of_a_person_is_closed_with_the_reason(
    live, watch, settings, site
):
    """T5: another person's sockets are none of it, and a closed one makes room."""
    settings.SOCKETS_PER_PERSON = 2  # bob has one open
    second = watch(live)
    refused = watch(live)
    assert list(frames(refused)) == []
    assert refused.close_code == TOO_MANY_SOCKETS
    assert refused.close_reason == "too many open connections"
    until(watch(live, user=site.cast.alice), "step.started")
    second.close()

    def is_let_in() -> bool:
        return next(frames(watch(live)), None) is not None

    assert eventually(is_let_in)


def test_flood_of_messages_closes_the_socket(live, watch):
    """T5: a few are let pass, as ever."""
    socket = watch(live)
    with pytest.raises(ConnectionClosed):
        for _ in range(100 * MAX_MESSAGES):
            socket.send("x")
    list(frames(socket))
    assert socket.close_code == FLOODED
    assert socket.close_reason == f"more than {MAX_MESSAGES} messages in 10 s"


@pytest.mark.parametrize("path", ["/", "/ws/nothing/", "/ws/runs/no-id/", "/v1/models"])
def test_socket_to_an_unknown_address_is_refused_without_an_error(site, caplog, path):
    """T15: it was an anonymous 500 with a traceback in the log."""
    caplog.set_level(logging.WARNING)
    with (
        pytest.raises(InvalidStatus) as refused,
        connect(site.url.replace("http", "ws") + path, origin=Origin(site.url)),
    ):
        pass
    assert refused.value.response.status_code == 403
    assert not [each for each in caplog.records if each.exc_info]
