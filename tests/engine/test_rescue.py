"""A live answer whose call fails: nothing sent is repeated, nothing is contradicted."""

import time
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from apps.engine import events as ev
from apps.engine.conduct import conduct
from apps.engine.errors import CallFailed, CallFault
from apps.engine.limits import Limits
from apps.engine.meter import Meter
from apps.engine.plan import Plan, PlannedStep
from apps.engine.ports import (
    Call,
    CallEnd,
    CallParams,
    Delta,
    Pool,
    PoolWorker,
    Task,
)
from apps.engine.replay import replay
from apps.engine.rescue import UNMISTAKABLE, Continued, Replay
from apps.engine.testing import (
    ScriptedAnswer,
    ScriptedClient,
    ScriptedPlanner,
    calling,
    make_ports,
    run_virtual,
    spoken,
)
from apps.engine.text import strip_thinking

CUT = CallFailed(CallFault.INCOMPLETE, "the stream was cut")
DEAD = CallFailed(CallFault.UNAUTHORIZED, "wrong key")
REFUSED = CallFailed(CallFault.BAD_REQUEST, "must end with a user message")
TOOL = {"type": "function", "function": {"name": "look_up", "parameters": {}}}
TEXT = "The answer is 42. Nobody knows the question."


def pool_of(*names, prefill="", **values):
    workers = [PoolWorker(n, accepts_prefill=n in prefill, **values) for n in names]
    return Pool(tuple(workers), fallback=names[-1], substitutes=tuple(names))


def live(answer, pool, *, params=None, **limits):
    """Run a direct question to worker a, its answer sent as it comes."""
    task = Task("q", params or CallParams(), is_streamed=True)
    client = ScriptedClient(answer)
    plan = Plan((PlannedStep("q", "a"),))
    ports: Any = make_ports(planner=ScriptedPlanner(plan), client=client)
    limits = {"max_replans": 0, **limits}
    end: Any = run_virtual(conduct(task, pool, ports, Limits(**limits)))
    return end, ports


def of(ports, kind):
    return [e for e in ports.recorder.events if isinstance(e, kind)]


def by_worker(**answers):
    return lambda call, number: answers[call.worker]


def said_to(call: Call) -> str:
    """Return the beginning of the answer that a call is shown."""
    return str(call.messages[-1]["content"]) if call.is_continued else ""


def test_the_next_worker_goes_on_from_what_was_sent():
    def answer(call, number):
        if call.worker == "a":
            return spoken("The answer", " is", end=DEAD)
        return spoken(" 42.")

    end, ports = live(answer, pool_of("a", "b", prefill="b"))
    assert end.answer == ports.progress.answer == "The answer is 42."
    second = ports.client.calls[1]
    assert second.is_continued
    assert second.messages[-1] == {"role": "assistant", "content": "The answer is"}
    assert of(ports, ev.StepCompleted)[0].worker == "b"


def test_who_can_not_go_on_repeats_unheard():
    answer = by_worker(a=spoken("The answer", " is", end=DEAD), b=spoken(*TEXT))
    end, ports = live(answer, pool_of("a", "b"))
    assert end.answer == ports.progress.answer == TEXT
    assert not ports.client.calls[1].is_continued


def test_who_says_something_else_is_passed_over():
    answers = by_worker(
        a=spoken("The answer", " is", end=DEAD),
        b=spoken("The ans", "thing is unclear"),
        c=spoken("The answer is 42."),
    )
    end, ports = live(answers, pool_of("a", "c", "b"))
    assert end.answer == ports.progress.answer == "The answer is 42."
    faults = [e.fault for e in of(ports, ev.StepAttemptFailed)]
    assert faults in (["unauthorized"], ["unauthorized", "diverged"])


def test_a_diverging_answer_is_left_at_once_and_the_stream_ends_with_an_error():
    answers = by_worker(a=spoken("The", " end", end=DEAD), b=spoken("No", "t so"))
    end, ports = live(answers, pool_of("a", "b"))
    assert (end.code, ports.progress.answer) == ("stream_interrupted", "The end")
    assert ports.client.closed == 1
    assert of(ports, ev.StepFailed)[0].fault == "diverged"


def test_an_answer_that_ends_before_what_was_sent_does_not_count():
    answers = by_worker(a=spoken("The answer", " is", end=DEAD), b=spoken("The answer"))
    end, ports = live(answers, pool_of("a", "b"))
    assert (end.code, ports.progress.answer) == ("stream_interrupted", "The answer is")


def test_the_same_worker_may_go_on_after_a_cut():
    def answer(call, number):
        return spoken("One, ", "two", end=CUT) if number == 0 else spoken(", three")

    end, ports = live(answer, pool_of("a", prefill="a"))
    assert end.answer == ports.progress.answer == "One, two, three"


@pytest.mark.parametrize("is_live", [True, False])
def test_D3_a_stream_that_stalls_is_left_for_the_next_worker_at_once(is_live):
    stalled = CallFailed(CallFault.IDLE_TIMEOUT, "silent for 30 s")
    answers = by_worker(a=spoken("The answer", end=stalled), b=spoken(TEXT))
    client = ScriptedClient(
        answers, delay_s=lambda call, _: 31.0 if call.worker == "a" else 0.1
    )
    plan = Plan((PlannedStep("q", "a"),))
    ports: Any = make_ports(planner=ScriptedPlanner(plan), client=client)
    task, limits = Task("q", is_streamed=is_live), Limits(max_replans=0)
    end: Any = run_virtual(conduct(task, pool_of("a", "b"), ports, limits))
    assert [call.worker for call in client.calls] == ["a", "b"]
    assert end.answer == TEXT
    assert end.latency_ms < 32_000


def test_a_stream_without_its_end_marker_is_gone_on_with():
    def answer(call, number):
        if call.worker == "a":
            return ScriptedAnswer((Delta("One, two"),), None)
        return spoken("")  # there is nothing to add

    end, ports = live(answer, pool_of("a", "b", prefill="b"))
    assert end.answer == ports.progress.answer == "One, two"
    assert [e.fault for e in of(ports, ev.StepAttemptFailed)] == ["incomplete"] * 2


@pytest.mark.parametrize("stumbles", [DEAD, CUT])
def test_D6_a_worker_that_refuses_a_beginning_is_asked_anew_without_one(stumbles):
    def answer(call, number):
        if call.worker == "a":
            return spoken("The answer", " is", end=stumbles)
        return REFUSED if call.is_continued else spoken(TEXT)

    end, ports = live(answer, pool_of("a", "b", prefill="b"))
    assert end.answer == ports.progress.answer == TEXT
    refused, anew = ports.client.calls[-2:]
    assert anew.messages == refused.messages[:-1]
    failed = [e for e in of(ports, ev.StepAttemptFailed) if e.worker == "b"]
    assert [e.fault for e in failed] == ["prefill_refused"]


def test_D6_a_worker_that_refuses_without_a_beginning_too_is_left_for_the_next():
    def answer(call, number):
        if call.worker == "a":
            return spoken("The answer", end=DEAD)
        return REFUSED if call.worker == "b" else spoken(TEXT)

    end, ports = live(answer, pool_of("a", "c", "b", prefill="b"))
    assert end.answer == TEXT
    assert [call.worker for call in ports.client.calls] == ["a", "b", "b", "c"]


@pytest.mark.parametrize("is_live", [True, False])
def test_D6_a_beginning_of_the_callers_own_that_is_refused_is_left_out(is_live):
    asked: Any = ({"role": "user", "content": "q"},)
    begun: Any = (*asked, {"role": "assistant", "content": "The"})
    client = ScriptedClient(
        lambda call, _: REFUSED if call.messages == begun else spoken(TEXT)
    )
    plan = Plan((PlannedStep("q", "a"),))
    ports: Any = make_ports(planner=ScriptedPlanner(plan), client=client)
    task = Task("q", messages=begun, is_streamed=is_live)
    end: Any = run_virtual(conduct(task, pool_of("a"), ports, Limits(max_replans=0)))
    assert end.answer == TEXT
    assert [call.messages for call in client.calls] == [begun, asked]


@pytest.mark.parametrize("rest", ["\n\n2.", "2.", "\n2."])
def test_blanks_at_the_seam_are_not_doubled(rest):
    def answer(call, number):
        return spoken("1.\n\n", end=DEAD) if call.worker == "a" else spoken(*rest)

    end, ports = live(answer, pool_of("a", "b", prefill="b"))
    assert ports.client.calls[1].messages[-1]["content"] == "1."
    assert end.answer == ports.progress.answer == "1.\n\n2."


def test_an_answer_cut_behind_its_last_word_is_complete_with_nothing_more():
    def answer(call, number):
        return spoken(TEXT, end=DEAD) if call.worker == "a" else spoken("")

    end, ports = live(answer, pool_of("a", "b", prefill="b"))
    assert end.answer == ports.progress.answer == TEXT


def test_thinking_before_the_first_word_is_no_part_of_what_was_sent():
    answers = by_worker(
        a=spoken("<think>let me see", end=DEAD), b=spoken("<think>ah</think>It is 42.")
    )
    end, ports = live(answers, pool_of("a", "b", prefill="b"))
    assert end.answer == ports.progress.answer == "It is 42."
    assert not ports.client.calls[1].is_continued


def test_what_goes_on_is_recorded_whole():
    answers = by_worker(
        a=spoken("The answer ", end=DEAD), b=spoken(" is", "<think>6 * 7</think> 42.")
    )
    end, ports = live(answers, pool_of("a", "b", prefill="b"))
    [completed] = of(ports, ev.StepCompleted)
    assert completed.text == end.answer == "The answer is 42."
    events = ports.recorder.events[:-1]
    assert replay(events, Meter(Limits())).rounds[0].results[0].text == end.answer


def test_what_goes_on_may_not_be_longer_than_the_caller_allows():
    answers = by_worker(a=spoken("x" * 40, end=DEAD), b=spoken("y"))
    pool, params = pool_of("a", "b", prefill="b"), CallParams(max_tokens=15)
    _, ports = live(answers, pool, params=params)
    assert [c.params.max_tokens for c in ports.client.calls] == [15, 5]


def test_once_a_piece_of_a_tool_call_is_out_nobody_takes_over():
    piece = calling(("look_up", "{}")).deltas[0]
    answers = by_worker(
        a=ScriptedAnswer((Delta("Hm. "), piece), CUT), b=spoken("Hm. Never")
    )
    params = CallParams(tools=(TOOL,))
    end, ports = live(answers, pool_of("a", "b", prefill="b"), params=params)
    assert (end.code, len(ports.client.calls)) == ("stream_interrupted", 1)


def test_tool_calls_go_out_once_the_text_before_them_has_been_repeated():
    answers = by_worker(
        a=spoken("Hm. ", end=DEAD), b=calling(("look_up", '{"q": 1}'), text="Hm. ")
    )
    params = CallParams(tools=(TOOL,))
    end, ports = live(answers, pool_of("a", "b"), params=params)
    assert (end.answer, end.finish_reason) == ("Hm. ", "tool_calls")
    pieces = [p for p in ports.progress.pieces if p.tool_calls]
    assert "".join(c.arguments for p in pieces for c in p.tool_calls) == '{"q": 1}'
    assert all(p.is_answer and p.attempt == 2 for p in pieces)


def test_tool_calls_in_place_of_what_was_said_diverge():
    answers = by_worker(a=spoken("Hm. ", end=DEAD), b=calling(("look_up", "{}")))
    params = CallParams(tools=(TOOL,))
    end, ports = live(answers, pool_of("a", "b"), params=params)
    assert end.code == "stream_interrupted"
    assert not [p for p in ports.progress.pieces if p.tool_calls]


def test_unseen_delivery_asks_anew_and_tells_nothing_of_it():
    answers = by_worker(a=spoken("The answer", end=DEAD), b=spoken("Something else"))
    client = ScriptedClient(answers)
    plan = Plan((PlannedStep("q", "a"),))
    ports: Any = make_ports(planner=ScriptedPlanner(plan), client=client)
    end: Any = run_virtual(
        conduct(Task("q"), pool_of("a", "b", prefill="b"), ports, Limits())
    )
    assert (end.answer, ports.progress.answer) == ("Something else", "")


# --- for all texts, cuts and workers ---------------------------------------------

many = settings(max_examples=150, deadline=None)
words = st.sampled_from(["a", "b", " ", "\n", "<", "<thin", "<think>x y</think>"])
texts = st.lists(words, min_size=1, max_size=12).map("".join).filter(strip_thinking)


def pieces_of(draw, text):
    places = draw(st.lists(st.integers(0, len(text)), max_size=4))
    ends = [0, *sorted(places), len(text)]
    return tuple(Delta(text[start:end]) for start, end in pairwise(ends))


@st.composite
def worlds(draw):
    """Workers of one opinion or of several; each call may be cut anywhere."""
    shared = draw(texts)
    opinions = {w: draw(st.just(shared) | texts) for w in "abc"}
    prefill = "".join(w for w in "abc" if draw(st.booleans()))
    cuts = [draw(st.none() | st.integers(0, 30)) for _ in range(6)]
    pieces: dict[tuple[str, int], tuple[Delta, ...]] = {}

    def answer(call, number):
        key = (call.worker, number)
        cut = cuts["abc".index(call.worker) * 2 + min(number, 1)]
        if key not in pieces:
            whole = opinions[call.worker]
            begun, visible = said_to(call), strip_thinking(whole)
            if begun and visible.startswith(begun):
                whole = visible[len(begun) :]
            pieces[key] = pieces_of(draw, whole[:cut])
        return ScriptedAnswer(pieces[key], CUT if cut is not None else CallEnd())

    return answer, opinions, prefill, cuts


@many
@given(worlds())
def test_whatever_is_cut_what_was_sent_stands(world):
    answer, opinions, prefill, cuts = world
    end, ports = live(answer, pool_of("a", "b", "c", prefill=prefill))
    sent = ports.progress.answer
    last = ports.client.calls[-1]
    number = sum(c.worker == last.worker for c in ports.client.calls) - 1
    cut = cuts["abc".index(last.worker) * 2 + min(number, 1)]
    if end.action == "run.completed":
        assert cut is None
        assert end.answer == sent
        whole = opinions[last.worker]
        assert last.is_continued or sent == strip_thinking(whole)
    else:
        assert end.code == ("stream_interrupted" if sent else "worker_failed")


@many
@given(worlds())
def test_workers_of_one_opinion_give_one_answer_or_its_beginning(world):
    answer, opinions, prefill, cuts = world
    opinions.update(dict.fromkeys("abc", opinions["a"]))
    end, ports = live(answer, pool_of("a", "b", "c", prefill=prefill))
    visible = strip_thinking(opinions["a"])
    assert visible.startswith(ports.progress.answer)
    first_calls = cuts[::2]
    assert end.action == "run.completed" or None not in first_calls
    if end.action == "run.completed":
        assert end.answer == ports.progress.answer == visible


@many
@given(st.text("ab\n ", min_size=UNMISTAKABLE), st.text("ab\n "), st.data())
def test_who_should_go_on_and_begins_anew_is_not_heard_twice(said, rest, data):
    joint = Continued(said)
    new = [joint.feed(d.text) for d in pieces_of(data.draw, said + rest)]
    assert "".join(new) + joint.finish() == rest


def test_blanks_that_are_said_again_are_left_out_in_linear_time():
    """T1: two providers in a row could make half a megabyte of them."""
    blanks = " " * 500_000
    joint = Continued(f"said{blanks}")
    started = time.thread_time()
    assert joint.feed(f"{blanks}more") == "more"
    assert time.thread_time() - started < 1


@many
@given(texts, st.data())
def test_retold_text_is_new_exactly_where_the_old_one_ended(text, data):
    cut = data.draw(st.integers(0, len(text)))
    joint = Replay(text[:cut])
    new = [joint.feed(d.text) for d in pieces_of(data.draw, text)]
    joint.finish()
    assert "".join(new) == text[cut:]


@many
@given(texts, st.data())
def test_continued_text_goes_on_exactly_where_the_old_one_ended(text, data):
    cut = data.draw(st.integers(1, len(text)))
    said = text[:cut]
    joint = Continued(said)
    rest = text[len(said.rstrip()) :]
    assume(len(said) < UNMISTAKABLE or not rest.startswith(said))
    new = [joint.feed(d.text) for d in pieces_of(data.draw, rest)]
    assert said + "".join(new) + joint.finish() == text
