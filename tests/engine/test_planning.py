"""Asking for a plan until one can be used, or doing without."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from apps.engine import events as ev
from apps.engine.conduct import conduct
from apps.engine.errors import CallFailed, CallFault
from apps.engine.limits import Limits
from apps.engine.plan import Plan, PlannedStep
from apps.engine.ports import CallParams, Message, Pool, PoolWorker, Task
from apps.engine.suitability import unsuited
from apps.engine.testing import (
    ScriptedClient,
    ScriptedPlanner,
    make_plan,
    make_ports,
    run_virtual,
)

POOL = Pool((PoolWorker("a"), PoolWorker("d")), "d")
ONE = make_plan(("a", ()))


def run(planner, *, fault=None, times=0, limits=None):
    """Conduct a run whose conductor fails the first `times` calls."""

    def answer(call, number):
        if call.worker == "" and number < times:
            return CallFailed(fault, "for a test")
        return f"answer of {call.worker}"

    ports: Any = make_ports(planner=planner, client=ScriptedClient(answer))
    end = run_virtual(conduct(Task("q"), POOL, ports, limits or Limits()))
    accepted = [e for e in ports.recorder.events if isinstance(e, ev.PlanAccepted)]
    return end, [e.planner for e in accepted], ports


def test_a_conductor_that_stumbles_is_asked_again_after_a_while():
    planner = ScriptedPlanner(ONE, asks=True)
    end, planners, _ = run(planner, fault=CallFault.SERVER_ERROR, times=2)
    assert planners == ["scripted"] and end.answer == "answer of a"
    assert end.overhead_ms > 0


def test_a_conductor_that_refuses_is_not_asked_again():
    planner = ScriptedPlanner(ONE, asks=True)
    end, planners, _ = run(planner, fault=CallFault.UNAUTHORIZED, times=1)
    assert planners == ["fallback"] and end.answer == "answer of d"
    assert len(planner.requests) == 1


def test_a_conductor_that_stays_broken_is_done_without():
    planner = ScriptedPlanner(ONE, asks=True)
    end, planners, _ = run(planner, fault=CallFault.CONNECT, times=99)
    assert planners == ["fallback"] and end.answer == "answer of d"
    assert len(planner.requests) == Limits().max_plan_attempts


def test_there_is_no_answer_to_keep_in_the_first_round():
    end, planners, ports = run(ScriptedPlanner(None))
    faults = [
        e.fault for e in ports.recorder.events if isinstance(e, ev.PlanRejectedEvent)
    ]
    assert faults == ["empty_plan"] * 3
    assert planners == ["fallback"] and end.action == "run.completed"


# --- for every plan and every pool ---------------------------------------------------

NAMES = "abc"
IMAGE: Message = {
    "role": "user",
    "content": [{"type": "image_url", "image_url": {"url": "https://example.org/1"}}],
}
TOOL = {"type": "function", "function": {"name": "add"}}


@st.composite
def plans(draw):
    steps = []
    for index in range(draw(st.integers(1, 5))):
        access = draw(st.sets(st.integers(0, index - 1))) if index else set()
        worker = draw(st.sampled_from(NAMES))
        steps.append(PlannedStep(f"part {index}", worker, tuple(sorted(access))))
    return Plan(tuple(steps))


tasks = st.builds(
    lambda tools, messages: Task(
        "[image 1]", CallParams(tools=tools), messages=messages
    ),
    st.sampled_from([(), (TOOL,)]),
    st.sampled_from([(), (IMAGE,)]),
)


@st.composite
def pools(draw):
    made = [
        PoolWorker(
            name,
            accepts_images=draw(st.booleans()),
            accepts_tools=draw(st.booleans()),
            context_tokens=draw(st.none() | st.integers(50, 3000)),
        )
        for name in NAMES
    ]
    substitutes = draw(st.permutations(NAMES))[: draw(st.integers(0, 3))]
    return Pool(
        tuple(made), draw(st.sampled_from(NAMES)), substitutes=tuple(substitutes)
    )


@settings(max_examples=300, deadline=None)
@given(plans(), pools(), tasks)
def test_nobody_is_asked_what_they_cannot_do(plan, pool, task):
    ports: Any = make_ports(planner=ScriptedPlanner(plan))
    end = run_virtual(conduct(task, pool, ports, Limits(max_replans=0)))
    [accepted] = [e for e in ports.recorder.events if isinstance(e, ev.PlanAccepted)]
    last = len(accepted.workers) - 1

    def reason(name: str, index: int) -> str:
        return unsuited(task, pool.worker(name), is_last=index == last)

    started = [e for e in ports.recorder.events if isinstance(e, ev.StepStarted)]
    assert not any(reason(e.worker, e.step) for e in started)
    planned = [step.worker for step in plan.steps]
    is_good = not any(
        unsuited(task, pool.worker(name), is_last=index == len(planned) - 1)
        for index, name in enumerate(planned)
    )
    assert (accepted.planner == "scripted") == is_good
    somebody = any(not unsuited(task, w, is_last=True) for w in pool.workers)
    assert (end.action == "run.completed") == somebody
