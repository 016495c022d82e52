"""Tools of the caller: who is offered them, and what becomes of calls."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.engine import events as ev
from apps.engine.codec import decode, encode
from apps.engine.conduct import conduct
from apps.engine.errors import CallFailed, CallFault
from apps.engine.limits import Limits
from apps.engine.messages import estimate_input, estimate_tools
from apps.engine.plan import Plan, PlannedStep
from apps.engine.ports import (
    CallEnd,
    CallParams,
    Delta,
    Pool,
    PoolWorker,
    Task,
    ToolCallDelta,
)
from apps.engine.testing import (
    ScriptedAnswer,
    ScriptedClient,
    ScriptedPlanner,
    calling,
    make_plan,
    make_ports,
    run_virtual,
)
from apps.engine.tool_calls import ToolCallAssembly, tool_calls_json
from apps.engine.usage import Usage

TOOLS: tuple[dict[str, Any], ...] = (
    {"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}},
)
TASK = Task("What is 6 + 7?", CallParams(tools=TOOLS), is_streamed=True)
POOL = Pool((PoolWorker("a"), PoolWorker("b"), PoolWorker("d")), "d")
DIRECT = Plan((PlannedStep(TASK.prompt, "a"),))
CALLS = calling(("add", '{"a": 6}'), ("add", '{"a": 7}'))


def run(plan=DIRECT, *, answer=CALLS, task=TASK, pool=POOL, limits=None, **ports):
    client = ScriptedClient(lambda call, number: answer)
    ports = {"planner": ScriptedPlanner(plan), "client": client, **ports}
    made = make_ports(**ports)
    return run_virtual(conduct(task, pool, made, limits or Limits())), made


def of(ports, kind):
    return [event for event in ports.recorder.events if isinstance(event, kind)]


# --- who is offered tools ------------------------------------------------------------


def test_only_the_last_step_is_offered_tools():
    _, ports = run(make_plan(("a", ()), ("b", (0,))), answer="text")
    offered = {c.worker: c.params.tools for c in ports.client.calls}
    assert offered == {"a": (), "b": TOOLS}


def test_a_plan_whose_last_worker_knows_no_tools_is_rejected_with_the_reason():
    pool = Pool((PoolWorker("a", accepts_tools=False), PoolWorker("b")), "b")
    planner = ScriptedPlanner(make_plan(("a", ())), make_plan(("a", ()), ("b", (0,))))
    end, ports = run(pool=pool, planner=planner, answer="text")
    [rejected] = of(ports, ev.PlanRejectedEvent)
    assert rejected.fault == "unsuited_worker"
    assert rejected.reason.startswith("step 0: worker 'a' calls no tools")
    assert planner.requests[1].rejections[0].reason == rejected.reason
    assert end.action == "run.completed"


def test_the_plan_of_last_resort_names_a_worker_that_knows_tools():
    blunt = [PoolWorker(name, accepts_tools=False) for name in "ad"]
    pool = Pool((*blunt, PoolWorker("b")), "d")
    end, ports = run(make_plan(("a", ())), pool=pool)
    [accepted] = of(ports, ev.PlanAccepted)
    assert (accepted.planner, accepted.workers) == ("fallback", ("b",))
    assert end.tool_calls


def test_if_nobody_knows_tools_the_run_fails_and_says_so():
    pool = Pool((PoolWorker("a", accepts_tools=False),), "a")
    end, ports = run(pool=pool)
    assert end.action == "run.failed" and "calls no tools" in end.message
    assert ports.client.calls == []


# --- what becomes of calls -----------------------------------------------------------


def test_calls_end_the_run_with_the_calls_as_its_answer():
    end, ports = run(limits=Limits(max_rounds=3))
    assert (end.action, end.answer, end.finish_reason) == (
        "run.completed",
        "",
        "tool_calls",
    )
    calls = json.loads(end.tool_calls)
    assert [c["function"]["arguments"] for c in calls] == ['{"a": 6}', '{"a": 7}']
    assert len(of(ports, ev.PlanAccepted)) == 1
    assert of(ports, ev.StepCompleted)[0].tool_calls == end.tool_calls


def test_text_before_the_calls_is_part_of_the_answer():
    end, _ = run(answer=calling(("add", "{}"), text="Let me see."))
    assert end.answer == "Let me see." and end.tool_calls


def test_calls_go_out_in_pieces_as_they_come():
    end, ports = run()
    pieces = [
        delta
        for progress in ports.progress.pieces
        if progress.is_answer
        for delta in progress.tool_calls
    ]
    assert [p.index for p in pieces] == [0, 0, 0, 1, 1, 1]
    assembly = ToolCallAssembly()
    assembly.feed(pieces)
    assert tool_calls_json(assembly.finish()) == end.tool_calls


def test_calls_survive_the_ledger_and_are_not_made_twice():
    end, ports = run()
    history = tuple(decode(encode(e)) for e in ports.recorder.events[:-1])
    again = make_ports(planner=ScriptedPlanner(DIRECT), client=ScriptedClient())
    resumed: Any = run_virtual(conduct(TASK, POOL, again, Limits(), history=history))
    assert resumed.tool_calls == end.tool_calls
    assert again.client.calls == []  # type: ignore[attr-defined]


def test_calls_nobody_offered_are_dropped():
    end, ports = run(task=Task("q"), answer=calling(("add", "{}"), text="text"))
    assert (end.answer, end.tool_calls, end.finish_reason) == ("text", "", "stop")
    assert all(not p.tool_calls for p in ports.progress.pieces)


def test_calls_nobody_offered_and_no_text_are_an_empty_answer():
    end, ports = run(task=Task("q"), limits=Limits(max_replans=0))
    assert end.action == "run.failed"
    assert {e.fault for e in of(ports, ev.StepAttemptFailed)} == {"empty"}


def test_a_call_without_a_name_is_a_bad_response():
    piece = ToolCallDelta(0, "x", arguments="{}")
    answer = ScriptedAnswer((Delta(tool_calls=(piece,)),), CallEnd())
    task = Task(TASK.prompt, TASK.params)
    end, ports = run(answer=answer, task=task, limits=Limits(max_replans=0))
    assert end.action == "run.failed"
    assert {e.fault for e in of(ports, ev.StepAttemptFailed)} == {"bad_response"}


@pytest.mark.parametrize(
    ("answer", "said", "reason"),
    [
        (CALLS, "stop", "tool_calls"),
        (CALLS, "length", "length"),
        (ScriptedAnswer((Delta("text"),)), "tool_calls", "stop"),
    ],
)
def test_the_finish_reason_agrees_with_the_calls(answer, said, reason):
    end, _ = run(answer=ScriptedAnswer(answer.deltas, CallEnd(finish_reason=said)))
    assert end.finish_reason == reason


# --- what calls cost -----------------------------------------------------------------


def test_without_the_providers_usage_calls_and_tools_are_estimated():
    answer = ScriptedAnswer(CALLS.deltas, CallFailed(CallFault.INCOMPLETE, "cut off"))
    task = Task(TASK.prompt, TASK.params)
    _, ports = run(answer=answer, task=task, limits=Limits(max_replans=0))
    usage = of(ports, ev.StepAttemptFailed)[0].usage
    sent = ports.client.calls[0].messages
    assert usage.is_estimated and usage.completion_tokens > 10
    assert usage.prompt_tokens == estimate_input(sent) + estimate_tools(TOOLS)


def test_the_room_of_tools_is_reserved():
    limits = Limits(max_tokens=40, max_replans=0)
    text = Task(TASK.prompt)
    assert run(task=text, answer="x", limits=limits)[0].action == "run.completed"
    assert run(limits=limits)[0].code == "limit_tokens"


# --- putting calls together ----------------------------------------------------------


@given(st.data())
def test_pieces_of_parallel_calls_may_come_in_any_mixture(data):
    wanted = data.draw(st.lists(st.text(max_size=8), min_size=1, max_size=4))
    waiting = {
        index: [ToolCallDelta(index, f"id{index}", f"f{index}")]
        + [ToolCallDelta(index, arguments=c) for c in text]
        for index, text in enumerate(wanted)
    }
    assembly = ToolCallAssembly()
    while waiting:
        index = data.draw(st.sampled_from(sorted(waiting)))
        assembly.feed([waiting[index].pop(0)])
        if not waiting[index]:
            del waiting[index]
    calls = assembly.finish()
    assert [c["id"] for c in calls] == [f"id{i}" for i in range(len(wanted))]
    assert [c["function"]["arguments"] for c in calls] == wanted


def test_a_provider_without_ids_gets_some():
    assembly = ToolCallAssembly()
    assembly.feed([ToolCallDelta(3, name="b"), ToolCallDelta(1, name="a")])
    calls = assembly.finish()
    assert [(c["id"], c["function"]["name"]) for c in calls] == [
        ("call_0", "a"),
        ("call_1", "b"),
    ]


def test_no_calls_are_kept_as_nothing():
    assert tool_calls_json(ToolCallAssembly().finish()) == ""


def test_usage_of_a_provider_counts_as_it_is():
    answer = ScriptedAnswer(CALLS.deltas, CallEnd(Usage(5, 7), "tool_calls"))
    assert run(answer=answer)[0].usage == Usage(5, 7)
