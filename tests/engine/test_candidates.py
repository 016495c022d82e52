"""Who is asked next for a step, and who is passed over."""

import pytest

from apps.engine import events as ev
from apps.engine.candidates import Candidates, next_worker
from apps.engine.conduct import conduct
from apps.engine.errors import CallFailed, CallFault
from apps.engine.limits import Limits
from apps.engine.plan import Plan, PlannedStep
from apps.engine.ports import CallParams, Message, Pool, PoolWorker, Task
from apps.engine.replay import Tried
from apps.engine.testing import (
    ScriptedClient,
    ScriptedPlanner,
    make_plan,
    make_ports,
    run_virtual,
)
from apps.engine.usage import Price

SERVER, WRONG_KEY = CallFault.SERVER_ERROR, CallFault.UNAUTHORIZED
OPEN, SHORT, WRONG = (
    CallFault.CIRCUIT_OPEN,
    CallFault.CONTEXT_LENGTH,
    CallFault.INVALID_OUTPUT,
)
TOOL = {"type": "function", "function": {"name": "look_up", "parameters": {}}}
IMAGE: Message = {
    "role": "user",
    "content": [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
    ],
}


def asked_next(names, failures, max_attempts=3, closed=0, **contexts):
    workers = [PoolWorker(n, context_tokens=contexts.get(n)) for n in names]
    tried = [Tried(*f) for f in failures]
    worker = next_worker(workers, tried, max_attempts, closed=closed)
    return worker and worker.name


@pytest.mark.parametrize(
    ("names", "failures", "expected"),
    [
        ("ad", [], "a"),
        ("ad", [("a", SERVER)], "a"),
        ("ad", [("a", SERVER)] * 2, "d"),
        ("ad", [("a", WRONG_KEY)], "d"),
        ("ad", [("a", WRONG_KEY), ("d", SERVER)], "d"),
        ("ad", [("a", WRONG_KEY), ("d", WRONG_KEY)], None),
        ("ad", [("a", SERVER)] * 2 + [("d", SERVER)], None),
        ("abc", [("a", SERVER)], "b"),
        ("abc", [("a", SERVER), ("b", SERVER)], "c"),
        ("abc", [("a", WRONG_KEY), ("b", WRONG_KEY)], "c"),
        ("abcd", [("a", SERVER), ("b", SERVER), ("c", SERVER)], None),
        ("d", [("d", SERVER)] * 2, "d"),
        ("d", [("d", WRONG_KEY)], None),
        ("ab", [("a", SERVER), ("a", WRONG_KEY)], "b"),
        ("ab", [("a", CallFault.FIRST_BYTE_TIMEOUT), ("b", SERVER)], "b"),
        ("", [], None),
    ],
)
def test_every_candidate_gets_its_turn_and_the_rest_repeats(names, failures, expected):
    assert asked_next(names, failures) == expected


def test_attempts_left_over_go_to_whom_only_passing_faults_kept_from_answering():
    failures = [("a", SERVER), ("b", WRONG_KEY)]
    assert asked_next("ab", failures) == "a"


def test_a_worker_that_rests_costs_no_attempt():
    failures = [("a", OPEN), ("b", OPEN), ("c", SERVER), ("c", SERVER)]
    assert asked_next("abc", failures) == "c"
    assert asked_next("abc", [("a", OPEN), ("b", OPEN), ("c", OPEN)]) is None


def test_a_call_that_was_closed_for_a_quicker_one_costs_an_attempt():
    assert asked_next("ab", [("a", SERVER)], closed=1) == "b"
    assert asked_next("ab", [("a", SERVER)], closed=2) is None


def test_what_was_too_long_goes_to_a_larger_context_only():
    sizes = {"a": 8000, "b": 4000, "c": 8000, "d": 16000}
    assert asked_next("abcd", [("a", SHORT)], **sizes) == "d"
    assert asked_next("abc", [("a", SHORT)], **sizes) is None
    assert asked_next("abc", [("a", SHORT)], a=8000, b=4000) == "c"


def test_a_wrong_form_is_put_right_once_by_who_wrote_it():
    assert asked_next("abc", [("a", WRONG)]) == "a"
    assert asked_next("abc", [("a", WRONG), ("a", WRONG)]) is None
    assert asked_next("abc", [("a", WRONG), ("a", WRONG_KEY)]) == "b"
    assert asked_next("abc", [("a", SERVER), ("b", SERVER), ("c", WRONG)]) is None


# --- who is no candidate ---------------------------------------------------------


def names_of(task, *workers, steps=(("a", ()),), index=0, substitutes=(), **more):
    pool = Pool(workers, fallback="b", substitutes=substitutes)
    found = Candidates(task, pool, make_plan(*steps), index, {}, **more)
    return [w.name for w in found.workers], found


def test_the_order_is_plan_fallback_substitutes():
    workers = [PoolWorker(name) for name in "cba"]
    names, _ = names_of(Task("q"), *workers, substitutes=("b", "gone", "c"))
    assert names == ["a", "b", "c"]


def test_without_the_planned_worker_the_fallback_comes_first():
    assert names_of(Task("q"), PoolWorker("b"), PoolWorker("c"))[0] == ["b"]


def test_who_takes_no_images_is_not_asked():
    task = Task("q", messages=(IMAGE,))
    blind, seeing = PoolWorker("a"), PoolWorker("b", accepts_images=True)
    assert names_of(task, blind, seeing)[0] == ["b"]
    names, found = names_of(task, blind)
    assert (names, "'a' takes no images" in found.fault) == ([], True)


def test_who_calls_no_tools_is_not_asked_for_the_last_step():
    task = Task("q", CallParams(tools=(TOOL,)))
    workers = (PoolWorker("a", accepts_tools=False), PoolWorker("b"))
    two = (("a", ()), ("a", (0,)))
    assert names_of(task, *workers, steps=two, index=1)[0] == ["b"]
    assert names_of(task, *workers, steps=two, index=0)[0] == ["a", "b"]


def test_who_has_no_price_is_not_asked_under_a_cost_limit():
    workers = (PoolWorker("a", Price(1, 1)), PoolWorker("b"))
    assert names_of(Task("q"), *workers, needs_price=True)[0] == ["a"]


def test_who_has_too_small_a_context_is_passed_over():
    workers = (PoolWorker("a", context_tokens=500), PoolWorker("b"))
    assert names_of(Task("long " * 400), *workers)[0] == ["b"]


def test_if_every_context_is_too_small_the_largest_gets_a_cut_conversation():
    turns: list[Message] = []
    for number in range(40):
        turns.append({"role": "user", "content": f"question {number} " + "x" * 60})
        turns.append({"role": "assistant", "content": "y" * 60})
    turns.append({"role": "user", "content": "the last question"})
    task = Task("the prompt", messages=tuple(turns))
    small = PoolWorker("a", context_tokens=400)
    large = PoolWorker("b", context_tokens=800)
    pool = Pool((small, large), fallback="b")
    plan = Plan((PlannedStep("the prompt", "a"),))
    found = Candidates(task, pool, plan, 0, {})
    assert [w.name for w in found.workers] == ["b", "a"]
    sent = {w.name: found.messages(w) for w in found.workers}
    assert 1 < len(sent["a"]) < len(sent["b"]) < len(turns)
    assert sent["b"][-1] == turns[-1]


# --- through a run ---------------------------------------------------------------


def conducted(plan, pool, answer, task=None, **limits):
    ports = make_ports(planner=ScriptedPlanner(plan), client=ScriptedClient(answer))
    run = conduct(task or Task("q"), pool, ports, Limits(**limits))
    return run_virtual(run), ports


def started(ports):
    return [e.worker for e in ports.recorder.events if isinstance(e, ev.StepStarted)]


def test_a_refused_length_goes_to_a_larger_context_and_never_back():
    def answer(call, number):
        if call.worker == "c":
            return "room enough"
        return CallFailed(CallFault.CONTEXT_LENGTH, "too long")

    workers = [
        PoolWorker("a", context_tokens=8000),
        PoolWorker("b", context_tokens=8000),
        PoolWorker("c", context_tokens=32000),
    ]
    pool = Pool(tuple(workers), fallback="b", substitutes=("c",))
    end, ports = conducted(make_plan(("a", ())), pool, answer)
    assert (end.answer, started(ports)) == ("room enough", ["a", "c"])


def test_a_prompt_too_long_for_all_workers_names_each():
    def answer(call, number):
        return CallFailed(CallFault.CONTEXT_LENGTH, "too long")

    pool = Pool((PoolWorker("a", context_tokens=8000),), fallback="a")
    end, _ = conducted(make_plan(("a", ())), pool, answer, max_replans=0)
    assert end.code == "context_length_exceeded"


def test_substitutes_come_after_the_fallback():
    def answer(call, number):
        return "yes" if call.worker == "c" else CallFailed(WRONG_KEY, "no")

    pool = Pool(tuple(PoolWorker(n) for n in "abcd"), "b", substitutes=("d", "c"))
    end, ports = conducted(make_plan(("a", ())), pool, answer, max_attempts=4)
    assert (end.answer, started(ports)) == ("yes", ["a", "b", "d", "c"])


def test_an_unpriced_substitute_does_not_end_a_run_with_a_cost_limit():
    def answer(call, number):
        return "yes" if call.worker == "c" else CallFailed(WRONG_KEY, "no")

    price = Price(1_000_000, 1_000_000)
    workers = (PoolWorker("a", price), PoolWorker("b"), PoolWorker("c", price))
    pool = Pool(workers, "b", substitutes=("c",))
    plan = make_plan(("a", ()))
    end, ports = conducted(plan, pool, answer, max_cost_micros=10**9)
    assert (end.answer, started(ports)) == ("yes", ["a", "c"])


def test_a_step_without_a_suited_worker_says_why():
    task = Task("What is [image 1]?", messages=(IMAGE,))
    pool = Pool((PoolWorker("a"),), fallback="a")
    plan = make_plan(("a", ()))
    end, ports = conducted(plan, pool, "", task, max_replans=0)
    [failed] = [e for e in ports.recorder.events if isinstance(e, ev.StepFailed)]
    assert failed.fault == "unsuited_worker"
    assert "'a' takes no images" in end.message
    assert ports.client.calls == []
