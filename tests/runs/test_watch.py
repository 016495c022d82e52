"""The websocket of a run: exact replay from anywhere, live text, who may watch."""

from __future__ import annotations

import time
import uuid
from contextlib import ExitStack

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse
from websockets.exceptions import InvalidStatus

from apps.audit.models import Content
from apps.runs.execution.executor import get_executor
from apps.runs.live import watchers
from tests.accounts.second_factors import sign_in
from tests.conftest import membership
from tests.runs.asking import (
    frames,
    planned,
    recorded,
    seqs,
    session_of,
    texts,
    until,
    watching,
)


def closed_with(socket):
    """Return the close code after everything has been read."""
    list(frames(socket))
    return socket.close_code


@pytest.fixture
def finished(stage, watch):
    """A run of two steps that has ended."""
    run = stage.start(planned([0, 1]))
    list(frames(watch(run)))
    return run


# --- replay ---------------------------------------------------------------------------


def test_every_place_replays_exactly_what_came_after_it(finished, watch):
    known = recorded(finished)
    wrong = {}
    for after in range(known[-1] + 2):
        found = list(frames(watch(finished, after=str(after))))
        expected = [seq for seq in known if seq > after]
        if seqs(found) != expected or found[-1] != {"type": "end"}:
            wrong[after] = found
    assert wrong == {}


def test_a_finished_run_ends_with_end_and_a_normal_close(finished, watch):
    socket = watch(finished)
    found = list(frames(socket))
    assert found[-2]["action"] == "run.completed"
    assert (found[-1], socket.close_code) == ({"type": "end"}, 1000)


def test_a_senseless_place_does_no_harm(finished, watch):
    senseless = ["", "x", "-5", "1e3", "0x10", "%00", "٣", "1;2", "9" * 30, "9" * 5000]
    for after in senseless:
        socket = watch(finished, after=after)
        assert list(frames(socket))[-1] == {"type": "end"}, after
        assert socket.close_code == 1000


def test_who_joins_in_the_middle_misses_nothing_and_gets_nothing_twice(
    stage, recruit, watch
):
    run = stage.start(planned([0, *recruit("tokens-200-400"), 1]))
    first = watch(run)
    seen = until(first, "step.completed")
    late = [watch(run, after=str(after)) for after in range(seqs(seen)[-1] + 2)]
    found = [list(frames(socket)) for socket in late]
    known = recorded(run)
    assert [seqs(f) for f in found] == [
        [seq for seq in known if seq > after] for after in range(len(late))
    ]


def test_messages_are_kept_back(finished, watch):
    found = list(frames(watch(finished)))
    bodies = {name for f in found for name in f.get("bodies", ())}
    assert "messages" not in bodies and "prompt" in bodies


def test_socket_that_breaks_leaves_nothing_behind(stage, recruit, watch):
    run = stage.start(planned(recruit("delay-3600000")))
    Content.objects.for_team(run.team_id).update(sealed=b"nonsense")
    broken = watch(run)
    assert (list(frames(broken)), broken.close_code) == ([], 1011)
    assert not get_executor().broadcaster.is_watched_here(run.id)


# --- live text ------------------------------------------------------------------------


def test_pieces_add_up_to_the_recorded_text(stage, recruit, watch):
    run = stage.start(planned(recruit("tokens-300-600", "tokens-150-300"), "[[], []]"))
    found = list(frames(watch(run)))
    written = texts(found)
    for frame in found:
        if frame.get("action") == "step.completed":
            data = frame["data"]
            place = (data["round"], data["step"], data["attempt"])
            assert written[place] == frame["bodies"]["text"]


def test_late_joiner_gets_the_text_so_far(stage, recruit, watch):
    run = stage.start(planned(recruit("tokens-400-400")))
    until(watch(run), "pieces")
    found = list(frames(watch(run)))
    after_replay = found[[f["type"] for f in found].index("caught_up") + 1 :]
    (text,) = (t for place, t in texts(after_replay).items() if place[1] is not None)
    assert text == "".join(f"{n} " for n in range(400))


def test_two_thousand_tokens_of_five_steps_make_few_frames(stage, recruit, watch):
    numbers = recruit(*["tokens-400-800"] * 1, "tokens-400-801", "tokens-400-802")
    more = recruit("tokens-400-803", "tokens-400-804")
    tier = stage.site.cast.team.pools.get().tiers.get(name="ultra")
    tier.max_parallel = 5
    tier.save()
    plan = planned([*numbers, *more], "[[], [], [], [], [0, 1, 2, 3]]")
    run = stage.start(plan)
    socket = watch(run)
    until(socket, "step.started")
    started_at = time.monotonic()
    found = list(frames(socket))
    lasted_s = time.monotonic() - started_at
    pieces = [frame for frame in found if frame["type"] == "pieces"]
    assert sum(map(len, texts(found).values())) > 5000
    # What is pending goes out before an entry, so that text never follows its end.
    assert len(pieces) <= 20 * lasted_s + 1 + len(seqs(found))


# --- who may watch --------------------------------------------------------------------


def test_viewer_may_watch(finished, watch, cast):
    assert closed_with(watch(finished, cast.vera)) == 1000


def test_who_is_not_signed_in_is_told_so(finished, site):
    with watching(site.url, str(finished.id)) as socket:
        assert (list(frames(socket)), socket.close_code) == ([], 4401)


def test_other_team_sees_no_such_run(finished, watch, cast):
    socket = watch(finished, cast.mallory)
    assert (list(frames(socket)), socket.close_code) == ([], 4404)


def test_unknown_run_is_closed_like_a_foreign_one(site, watch):
    socket = watch(str(uuid.uuid4()))
    assert (list(frames(socket)), socket.close_code) == ([], 4404)


def test_foreign_origin_is_refused(finished, site, cast):
    session, origin = session_of(cast.bob), "https://evil.example"
    with pytest.raises(InvalidStatus) as caught:
        watching(site.url, str(finished.id), session=session, origin=origin)
    assert caught.value.response.status_code == 403


# --- who may go on watching (promise T14) ---------------------------------------------


@pytest.fixture
def endless(stage, recruit):
    """A run that goes on for as long as a test does."""
    return stage.start(planned(recruit("delay-3600000")))


@pytest.fixture
def opened(site, endless, monkeypatch):
    """bob's browser, and a function that opens a socket with its session."""
    monkeypatch.setattr(watchers, "CHECK_S", 0.02)
    browser = Client()
    sign_in(browser, site.cast.bob)
    with ExitStack() as sockets:

        def socket():
            cookie = browser.cookies[settings.SESSION_COOKIE_NAME].value
            session = f"{settings.SESSION_COOKIE_NAME}={cookie}"
            socket = watching(site.url, str(endless.id), session=session)
            sockets.enter_context(socket)
            until(socket, "step.started")
            return socket

        yield browser, socket


def test_t14_socket_is_closed_soon_after_who_opened_it_left_the_team(opened, cast):
    _, socket = opened
    watching_bob = socket()
    membership(cast.team, cast.bob).delete()
    assert closed_with(watching_bob) == 4404


def test_t14_socket_is_closed_soon_after_sign_out(opened, cast):
    browser, socket = opened
    first, second = socket(), socket()
    browser.post("/accounts/logout/")
    assert (closed_with(first), closed_with(second)) == (4419, 4419)


def test_t14_socket_is_closed_when_its_session_is_ended_from_elsewhere(opened, cast):
    _, socket = opened
    ended = socket()
    other = Client()
    sign_in(other, cast.bob)
    other.post(reverse("usersessions_list"))
    assert closed_with(ended) == 4419


def test_t14_socket_is_closed_soon_after_another_password(opened, cast):
    _, socket = opened
    old = socket()
    cast.bob.set_password("another long pass phrase")
    cast.bob.save()
    assert closed_with(old) == 4419


def test_t14_socket_is_closed_when_its_account_is_switched_off(opened, cast):
    _, socket = opened
    old = socket()
    cast.bob.is_active = False
    cast.bob.save()
    assert closed_with(old) == 4419


def test_t14_socket_of_another_session_stays_open(opened, watch, endless, cast):
    """Whoever else watches the same run, the same person included, goes on."""
    browser, socket = opened
    mine, others = socket(), [watch(endless), watch(endless, cast.vera)]
    browser.post("/accounts/logout/")
    assert closed_with(mine) == 4419
    alice = Client()
    alice.force_login(cast.alice)
    alice.post(f"/runs/{endless.id}/cancel/")
    assert [closed_with(each) for each in others] == [1000, 1000]


def test_t14_less_than_five_seconds_pass_between_two_looks():
    assert watchers.CHECK_S <= 4
