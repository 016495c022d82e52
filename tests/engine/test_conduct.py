"""The engine, through `conduct`: order, parallelism, failures, limits, stopping."""

import asyncio
from typing import Any

import pytest

from apps.engine import events as ev
from apps.engine.conduct import conduct
from apps.engine.errors import CallFailed, CallFault, RunDenied
from apps.engine.gate import OpenGate
from apps.engine.limits import Limits
from apps.engine.plan import Plan, PlannedStep
from apps.engine.ports import CallParams, Pool, PoolWorker, Task
from apps.engine.testing import (
    MemoryProgress,
    MemoryRecorder,
    ScriptedClient,
    ScriptedPlanner,
    make_plan,
    make_ports,
    run_virtual,
)
from apps.engine.usage import Price

CHEAP = Price(1_000_000, 2_000_000)
POOL = Pool(
    tuple(PoolWorker(name, CHEAP, max_output_tokens=100) for name in "abcd"),
    fallback="d",
    conductor_price=CHEAP,
)
TASK = Task("What is 6 times 7?")
DIAMOND = make_plan(("a", ()), ("b", ()), ("c", (0, 1)))


def run(plan=None, task=TASK, pool=POOL, limits=None, history=(), **ports):
    if plan is not None:
        ports["planner"] = ScriptedPlanner(plan)
    made = make_ports(**ports)
    end = run_virtual(conduct(task, pool, made, limits or Limits(), history=history))
    return end, made


def actions(ports):
    return [event.action for event in ports.recorder.events]


def of(ports, kind):
    return [event for event in ports.recorder.events if isinstance(event, kind)]


def fails(fault, *, times=99, **kwargs):
    """Make an answerer whose worker a fails the first `times` calls."""

    def answer(call, number):
        if call.worker == "a" and number < times:
            return CallFailed(fault, f"{fault} for a test", **kwargs)
        return f"answer of {call.worker}"

    return answer


def test_the_last_step_answers():
    end, _ = run(DIAMOND)
    assert end.answer == "c says 0"


def test_independent_steps_run_at_the_same_time():
    end, _ = run(DIAMOND, recorder=MemoryRecorder(delay_s=0))
    assert end.latency_ms == 200


def test_a_step_reads_only_what_its_access_list_names():
    plan = make_plan(("a", ()), ("b", ()), ("c", (1,)), ("d", (0, 2)))
    _, ports = run(plan)
    sent = {c.worker: c.messages[0]["content"] for c in ports.client.calls}
    assert "b says" in sent["c"]
    assert "a says" not in sent["c"]
    assert TASK.prompt in sent["c"]


def test_a_step_the_answer_cannot_depend_on_is_not_paid_for():
    _, ports = run(make_plan(("a", ()), ("b", ()), ("c", (0,))))
    assert {c.worker for c in ports.client.calls} == {"a", "c"}
    assert [e.step for e in of(ports, ev.StepSkipped)] == [1]


def test_a_direct_question_goes_out_unchanged_in_two_commits():
    plan = Plan((PlannedStep(TASK.prompt, "a"),))
    _, ports = run(plan)
    assert ports.client.calls[0].messages == ({"role": "user", "content": TASK.prompt},)
    assert ports.recorder.commits == 2


def test_no_call_leaves_before_its_entry_is_durable():
    class Watching(ScriptedClient):
        async def stream(self, call):
            started = [
                e.worker for e in recorder.events if isinstance(e, ev.StepStarted)
            ]
            assert call.worker in started
            async for item in super().stream(call):
                yield item

    recorder = MemoryRecorder()
    end, _ = run(DIAMOND, recorder=recorder, client=Watching())
    assert end.action == "run.completed"


@pytest.mark.parametrize("commit", [0, 1, 2])
def test_a_failed_commit_means_no_call(commit):
    ports: Any = make_ports(
        planner=ScriptedPlanner(DIAMOND), recorder=MemoryRecorder(fails_at=commit)
    )
    with pytest.raises(OSError, match="disk full"):
        run_virtual(conduct(TASK, POOL, ports, Limits(max_parallel=1)))
    started = {e.worker for e in of(ports, ev.StepStarted)}
    assert {c.worker for c in ports.client.calls} <= started
    assert len(ports.client.calls) <= commit


def test_a_transient_fault_is_tried_again_on_the_same_worker():
    client = ScriptedClient(fails(CallFault.SERVER_ERROR, times=1))
    end, ports = run(make_plan(("a", ())), client=client)
    assert end.answer == "answer of a"
    assert [e.attempt for e in of(ports, ev.StepStarted)] == [1, 2]


def test_the_fallback_worker_takes_over():
    client = ScriptedClient(fails(CallFault.SERVER_ERROR))
    end, ports = run(make_plan(("a", ())), client=client)
    assert end.answer == "answer of d"
    assert [e.worker for e in of(ports, ev.StepStarted)] == ["a", "a", "d"]


@pytest.mark.parametrize(
    "fault",
    [
        CallFault.UNAUTHORIZED,
        CallFault.BAD_REQUEST,
        CallFault.NOT_FOUND,
        CallFault.QUOTA,
        CallFault.FIRST_BYTE_TIMEOUT,
        CallFault.CONTEXT_LENGTH,
    ],
)
def test_a_lasting_fault_is_never_tried_again_on_the_same_worker(fault):
    _, ports = run(make_plan(("a", ())), client=ScriptedClient(fails(fault)))
    assert [e.worker for e in of(ports, ev.StepStarted)] == ["a", "d"]


def test_retry_after_is_honoured():
    answer = fails(CallFault.RATE_LIMITED, times=1, retry_after_s=7.0)
    end, _ = run(make_plan(("a", ())), client=ScriptedClient(answer))
    assert end.latency_ms >= 7000


def test_retry_after_is_capped():
    answer = fails(CallFault.RATE_LIMITED, times=1, retry_after_s=9999.0)
    end, _ = run(make_plan(("a", ())), client=ScriptedClient(answer))
    assert 60_000 <= end.latency_ms < 62_000


def test_a_failed_step_leads_to_one_new_plan():
    def answer(call, number):
        if call.worker in "ad":
            return CallFailed(CallFault.UNAUTHORIZED, "no")
        return "fine"

    planner = ScriptedPlanner(make_plan(("a", ())), make_plan(("b", ())))
    end, _ = run(planner=planner, client=ScriptedClient(answer))
    assert end.answer == "fine"
    assert planner.requests[1].rounds[0].outcomes[0].state == "failed"


def test_without_a_new_plan_the_others_go_on_and_see_the_failure():
    def answer(call, number):
        if call.worker in "ad":
            return CallFailed(CallFault.UNAUTHORIZED, "wrong key")
        return f"fine {call.worker}"

    end, ports = run(
        DIAMOND, limits=Limits(max_replans=0), client=ScriptedClient(answer)
    )
    assert end.answer == "fine c"
    assert "wrong key" in ports.client.calls[-1].messages[0]["content"]


def test_when_nobody_answers_the_run_fails_with_the_best_text_so_far():
    def answer(call, number):
        if call.worker in "cd":
            return CallFailed(CallFault.UNAUTHORIZED, "no")
        return "half an answer"

    end, _ = run(DIAMOND, client=ScriptedClient(answer))
    assert (end.action, end.code) == ("run.failed", "worker_failed")
    assert end.answer == "half an answer"


def test_an_empty_answer_is_a_fault():
    answers = iter(["<think>hm</think> ", "42"])
    client = ScriptedClient(lambda call, number: next(answers))
    end, ports = run(make_plan(("a", ())), client=client)
    assert end.answer == "42"
    assert of(ports, ev.StepAttemptFailed)[0].fault == "empty"


# --- rounds --------------------------------------------------------------------------


def test_an_answer_may_be_kept():
    planner = ScriptedPlanner(make_plan(("a", ())), None)
    end, ports = run(planner=planner, limits=Limits(max_rounds=3))
    assert end.answer == "a says 0"
    assert actions(ports).count("plan.kept") == 1


def test_a_later_round_sees_the_plan_and_the_answer_and_replaces_it():
    planner = ScriptedPlanner(make_plan(("a", ())), make_plan(("b", ())))
    end, _ = run(planner=planner, limits=Limits(max_rounds=2))
    assert end.answer == "b says 0"
    assert planner.requests[1].rounds[0].answer == "a says 0"


def test_rounds_have_a_hard_cap():
    planner = ScriptedPlanner(make_plan(("a", ())))
    _, ports = run(planner=planner, limits=Limits(max_rounds=3))
    assert actions(ports).count("plan.accepted") == 3


def test_a_later_round_that_fails_takes_no_answer_away():
    def answer(call, number):
        return "good" if call.worker == "a" else CallFailed(CallFault.QUOTA, "broke")

    planner = ScriptedPlanner(make_plan(("a", ())), make_plan(("b", ())))
    limits = Limits(max_rounds=2, max_replans=0)
    end, _ = run(planner=planner, limits=limits, client=ScriptedClient(answer))
    assert (end.action, end.answer) == ("run.completed", "good")


# --- planning ------------------------------------------------------------------------


def test_a_rejected_plan_is_asked_for_again_with_the_reason():
    bad, good = make_plan(("nobody", ())), make_plan(("b", ()))
    planner = ScriptedPlanner(bad, good)
    end, _ = run(planner=planner)
    assert end.answer == "b says 0"
    assert "'nobody'" in planner.requests[1].rejections[0].reason


def test_after_bounded_rejections_the_fallback_worker_answers():
    end, ports = run(make_plan(("nobody", ())), limits=Limits(max_plan_attempts=3))
    assert end.answer == "d says 0"
    assert actions(ports).count("plan.rejected") == 3
    assert of(ports, ev.PlanAccepted)[0].planner == "fallback"


def test_a_dead_conductor_leads_to_the_fallback_plan():
    def answer(call, number):
        dead = CallFailed(CallFault.CONNECT, "refused")
        return dead if call.worker == "" else "still an answer"

    planner = ScriptedPlanner(DIAMOND, asks=True)
    end, ports = run(planner=planner, client=ScriptedClient(answer))
    assert end.answer == "still an answer"
    assert actions(ports).count("plan.call_failed") == 3


def test_the_conductors_own_tokens_are_in_the_sums():
    end, ports = run(planner=ScriptedPlanner(DIAMOND, asks=True))
    parts = [e.usage for e in ports.recorder.events if hasattr(e, "latency_ms")][:-1]
    assert of(ports, ev.PlanReplied)
    assert end.usage == sum(parts[1:], start=parts[0])


# --- limits --------------------------------------------------------------------------


def test_steps_beyond_the_limit_are_rejected():
    _, ports = run(DIAMOND, limits=Limits(max_steps=2))
    assert of(ports, ev.PlanRejectedEvent)[0].fault == "too_many_steps"


def test_parallel_calls_are_limited():
    wide = make_plan(*((w, ()) for w in "abcd"), ("a", (0, 1, 2, 3)))
    _, ports = run(wide, limits=Limits(max_parallel=2))
    assert ports.client.max_in_flight == 2


def test_the_call_limit_ends_the_run_by_name():
    end, ports = run(DIAMOND, limits=Limits(max_calls=2))
    assert end.code == "limit_calls"
    assert len(ports.client.calls) == 2
    assert end.answer


def test_the_token_limit_shrinks_what_models_may_write():
    _, ports = run(make_plan(("a", ())), limits=Limits(max_tokens=120))
    assert ports.client.calls[0].params.max_tokens < 100


def test_a_cost_limit_refuses_workers_without_a_price():
    pool = Pool((PoolWorker("a"), PoolWorker("d", CHEAP)), "d", CHEAP)
    limits = Limits(max_cost_micros=1_000_000)
    end, ports = run(make_plan(("a", ())), pool=pool, limits=limits)
    assert of(ports, ev.PlanRejectedEvent)[0].fault == "unpriced_worker"
    assert end.answer == "d says 0"


def test_an_unknown_price_is_unknown_and_not_zero():
    pool = Pool((PoolWorker("a"), PoolWorker("d", CHEAP)), "d", CHEAP)
    end, ports = run(make_plan(("a", ())), pool=pool)
    assert end.has_unknown_cost
    assert of(ports, ev.StepCompleted)[0].cost_micros is None


def test_the_cost_limit_ends_the_run_by_name():
    end, _ = run(DIAMOND, limits=Limits(max_cost_micros=1))
    assert end.code == "limit_cost"


def test_the_wall_time_ends_the_run_and_closes_its_calls():
    client = ScriptedClient(delay_s=lambda call, number: 100.0)
    end, ports = run(DIAMOND, limits=Limits(wall_time_s=10), client=client)
    assert end.code == "limit_wall_time"
    assert (client.closed, end.latency_ms) == (2, 10_000)
    assert [e.fault for e in of(ports, ev.StepAttemptFailed)] == ["cancelled"] * 2


# --- streaming -----------------------------------------------------------------------


def test_the_answer_streams_as_it_comes_without_thinking():
    client = ScriptedClient(lambda call, number: "<think>secret</think> The answer")
    task = Task("q", is_streamed=True)
    end, ports = run(make_plan(("a", ())), task=task, client=client)
    assert ports.progress.answer == end.answer == "The answer"


def test_nothing_of_a_failed_first_attempt_reaches_the_caller():
    client = ScriptedClient(fails(CallFault.SERVER_ERROR, times=1))
    task = Task("q", is_streamed=True)
    end, ports = run(make_plan(("a", ())), task=task, client=client)
    assert ports.progress.answer == end.answer


def test_a_stream_that_nobody_can_go_on_with_ends_with_an_error():
    class Cut(ScriptedClient):
        async def stream(self, call):
            async for item in super().stream(call):
                yield item
                raise CallFailed(CallFault.INCOMPLETE, "cut")

    task = Task("q", is_streamed=True)
    end, ports = run(make_plan(("a", ())), task=task, client=Cut())
    assert end.code == "stream_interrupted"
    assert (ports.progress.answer, len(ports.client.calls)) == ("a sa", 3)


def test_with_rounds_left_nothing_streams_that_could_change():
    planner = ScriptedPlanner(make_plan(("a", ())), None)
    task = Task("q", is_streamed=True)
    end, ports = run(planner=planner, task=task, limits=Limits(max_rounds=2))
    assert (ports.progress.answer, end.answer) == ("", "a says 0")


def test_the_callers_parameters_belong_to_the_last_step():
    task = Task("q", params=CallParams(temperature=0.5, max_tokens=9))
    _, ports = run(DIAMOND, task=task)
    assert [c.params.max_tokens for c in ports.client.calls] == [None, None, 9]


# --- stopping and policies -----------------------------------------------------------


async def cancelled_run(ports, after_s):
    task = asyncio.create_task(conduct(TASK, POOL, ports, Limits()))
    await asyncio.sleep(after_s)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return task


@pytest.mark.parametrize("after_s", [0.0, 0.0005, 0.03, 0.06, 0.1015, 0.15])
def test_a_cancelled_run_closes_its_calls_and_says_so(after_s):
    ports: Any = make_ports(
        planner=ScriptedPlanner(DIAMOND), stop_reason=lambda: "user"
    )
    task = run_virtual(cancelled_run(ports, after_s))
    assert task.cancelled()
    assert ports.client.in_flight == 0
    if ports.recorder.events:
        assert ports.recorder.events[-1].reason == "user"


def test_a_stopping_process_leaves_the_run_unended():
    ports: Any = make_ports(planner=ScriptedPlanner(DIAMOND), stop_reason=lambda: None)
    run_virtual(cancelled_run(ports, 0.05))
    assert not of(ports, ev.RunCancelled)
    assert of(ports, ev.StepStarted)


def test_a_policy_may_refuse_the_plan():
    class Strict(OpenGate):
        async def check_plan(self, number, plan):
            raise RunDenied("worker 'a' is not for this data")

    end, ports = run(DIAMOND, gate=Strict())
    assert (end.code, ports.client.calls) == ("policy_denied", [])


def test_progress_names_round_step_and_attempt():
    _, ports = run(DIAMOND, progress=MemoryProgress())
    assert {(p.round, p.step, p.attempt) for p in ports.progress.pieces} == {
        (0, 0, 1),
        (0, 1, 1),
        (0, 2, 1),
    }
