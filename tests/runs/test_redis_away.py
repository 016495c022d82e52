"""Redis is disposable: while it is away runs go on, and sockets hear of everything."""

from __future__ import annotations

import gc

import pytest

from apps.core.redis_outage import redis_outage
from apps.runs.live import run_feed
from tests.runs.asking import frames, planned, recorded, seqs, texts, until

# Two tasks of channels_redis that find their connection lost open it at once, and one
# of the two streams is forgotten: whoever collects it is told of it, here alone.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <StreamWriter:ResourceWarning")


@pytest.fixture(autouse=True)
def _forgotten_streams(own_redis):
    yield
    gc.collect()


@pytest.fixture(autouse=True)
def _short_checks(monkeypatch):
    """Sockets look for what they did not hear of four times a second."""
    monkeypatch.setattr(run_feed, "CHECK_S", 0.25)


@pytest.fixture
def stage(own_redis, stage):
    return stage


def steps_done(found):
    return [f for f in found if f.get("action") == "step.completed"]


def test_a_socket_catches_up_with_what_was_recorded_meanwhile(
    own_redis, stage, recruit, watch
):
    run = stage.start(planned([0, *recruit("tokens-400-400"), 1]))
    socket = watch(run)
    found = until(socket, "step.completed")
    own_redis.kill()
    found += until(socket, "step.completed")
    own_redis.start()
    found += list(frames(socket))
    assert seqs(found) == recorded(run)
    assert len(steps_done(found)) == 3 and found[-1] == {"type": "end"}


def test_a_socket_opened_while_redis_is_away_hears_of_everything(
    own_redis, stage, recruit, watch
):
    run = stage.start(planned([0, *recruit("tokens-400-400")]))
    until(watch(run), "step.started")
    own_redis.kill()
    redis_outage.end()  # the socket itself finds out
    found = list(frames(watch(run)))
    assert seqs(found) == recorded(run) and found[-1] == {"type": "end"}
    assert redis_outage.is_on


def test_three_restarts_in_a_row_lose_nothing(own_redis, stage, recruit, watch):
    run = stage.start(planned([0, *recruit("tokens-400-400"), 1]))
    socket = watch(run)
    found = until(socket, "step.started")
    for _ in range(3):
        own_redis.kill()
        own_redis.start()
    found += list(frames(socket))
    assert seqs(found) == recorded(run) and found[-1] == {"type": "end"}


def test_a_redis_that_hangs_holds_up_no_run(own_redis, stage, recruit, watch):
    run = stage.start(planned([0, *recruit("tokens-400-400"), 1]))
    socket = watch(run)
    found = until(socket, "step.started")
    own_redis.pause()
    found += list(frames(socket))
    assert seqs(found) == recorded(run) and found[-1] == {"type": "end"}
    own_redis.resume()


def test_text_is_live_again_once_redis_is_back(own_redis, stage, recruit, watch):
    (slow,) = recruit("tokens-300-100")
    run = stage.start(planned([0]))
    own_redis.kill()
    list(frames(watch(run)))
    own_redis.start()
    redis_outage.end()  # five seconds later
    run = stage.start(planned([slow]))
    found = list(frames(watch(run)))
    texts(found)  # without a gap
    # What is on its way at the beginning comes from the process, the rest from Redis.
    assert any(piece["offset"] for f in found for piece in f.get("pieces", ()))
