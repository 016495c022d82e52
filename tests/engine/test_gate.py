"""What the policies decide binds every plan, fallback, rival and later round."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from apps.engine import events as ev
from apps.engine.conduct import conduct
from apps.engine.errors import CallFailed, CallFault, PlanFault
from apps.engine.limits import Limits
from apps.engine.messages import text_of
from apps.engine.plan import Plan, PlannedStep
from apps.engine.ports import Message, Messages, Pool, PoolWorker, ReusedAnswer, Task
from apps.engine.testing import (
    ScriptedClient,
    ScriptedPlanner,
    make_plan,
    make_ports,
    run_virtual,
)
from apps.engine.usage import Price

CHEAP = Price(1_000_000, 2_000_000)
POOL = Pool(
    tuple(PoolWorker(name, CHEAP, max_output_tokens=100) for name in "abc"),
    fallback="b",
    substitutes=("c",),
)
TASK = Task("What is 6 times 7?")
DIRECT = make_plan(("a", ()))
REASON = "the rule 'EU only' (team, version 3)"
Decide = Callable[..., ev.PolicyDecided | None]


def decided(stage: str, refused: Sequence[str] = (), **values: Any) -> ev.PolicyDecided:
    given: dict[str, Any] = {
        "round": None,
        "step": None,
        "outcome": "restricted",
        "versions": {"team": 3},
        "rules": ("team: EU only",),
        "shadow_rules": (),
        "refused_workers": tuple(refused),
        "limits": {},
        "reason": REASON,
        **values,
    }
    return ev.PolicyDecided(stage, **given)


class ScriptedGate:
    """Decides as it is told, and keeps what it was asked."""

    def __init__(self, **decisions: Decide) -> None:
        self._decisions = decisions
        self.asked: list[str] = []
        self.texts: set[str] = set()

    def _decide(self, stage: str, *facts: Any) -> ev.PolicyDecided | None:
        self.asked.append(stage)
        decide = self._decisions.get(stage)
        return decide(*facts) if decide else None

    def add_texts(self, texts: Iterable[str]) -> None:
        self.texts.update(texts)

    async def check_run(self) -> ev.PolicyDecided | None:
        return self._decide("run")

    def redact_messages(self, messages: Messages, kinds: tuple[str, ...]) -> Messages:
        return tuple(
            Message(role=each["role"], content=text_of(each).replace("7", "[N]"))
            for each in messages
        )

    def redact(self, task: Task, kinds: tuple[str, ...]) -> Task:
        self.asked.append(f"redact {' '.join(kinds)}")
        return replace(task, prompt=task.prompt.replace("7", "[N]"))

    def restore(self, text: str, *, in_json: bool = False) -> str:
        return text.replace("[N]", "7")

    async def check_plan(self, number: int, plan: Plan) -> ev.PolicyDecided | None:
        return self._decide("plan", number, plan)

    async def preview_plan(self, number: int, plan: Plan) -> ev.PolicyDecided | None:
        return await self.check_plan(number, plan)

    async def check_step(
        self, number: int, plan: Plan, index: int
    ) -> ev.PolicyDecided | None:
        return self._decide("step", number, index)


def run(
    gate: ScriptedGate,
    *plans: Plan,
    faults: str = "",
    fault: CallFault = CallFault.SERVER_ERROR,
    limits: Limits | None = None,
) -> tuple[Any, Any]:
    """Conduct with these plans; the workers in `faults` fail."""

    def answer(call: Any, number: int) -> Any:
        if call.worker in faults:
            return CallFailed(fault, "for a test")
        return f"answer of {call.worker}"

    ports: Any = make_ports(
        planner=ScriptedPlanner(*(plans or (DIRECT,))),
        client=ScriptedClient(
            answer, lambda call, number: 10.0 if call.worker == "a" else 0.1
        ),
        gate=gate,
    )
    return run_virtual(conduct(TASK, POOL, ports, limits or Limits())), ports


def called(ports: Any) -> list[str]:
    return [call.worker for call in ports.client.calls]


def of(ports: Any, kind: type) -> list[Any]:
    return [event for event in ports.recorder.events if isinstance(event, kind)]


def test_without_a_decision_nothing_is_recorded():
    gate = ScriptedGate()
    end, ports = run(gate)
    assert (end.answer, of(ports, ev.PolicyDecided)) == ("answer of a", [])
    assert gate.asked == ["run", "plan", "step"]


def test_a_denied_run_makes_no_call_and_names_the_rule():
    denied = decided("run", outcome="denied")
    end, ports = run(ScriptedGate(run=lambda: denied))
    assert (end.code, end.message, called(ports)) == ("policy_denied", REASON, [])
    assert of(ports, ev.PolicyDecided) == [denied]


def test_a_refused_worker_is_in_no_plan():
    gate = ScriptedGate(run=lambda: decided("run", "a"))
    end, ports = run(gate, DIRECT, make_plan(("c", ())))
    (rejected,) = of(ports, ev.PlanRejectedEvent)
    assert (rejected.fault, end.answer) == ("unknown_worker", "answer of c")


def test_a_run_without_any_worker_left_is_denied():
    end, ports = run(ScriptedGate(run=lambda: decided("run", "abc")))
    assert (end.code, called(ports)) == ("policy_denied", [])
    assert REASON in end.message


def test_a_plan_that_uses_a_refused_worker_is_rejected_with_the_reason():
    gate = ScriptedGate(
        plan=lambda number, plan: decided("plan", "a") if len(plan.steps) > 1 else None
    )
    end, ports = run(gate, make_plan(("b", ()), ("a", (0,))), make_plan(("b", ())))
    (rejected,) = of(ports, ev.PlanRejectedEvent)
    assert rejected.fault == PlanFault.POLICY_DENIED
    assert "'a'" in rejected.reason
    assert REASON in rejected.reason
    assert end.answer == "answer of b"


def test_a_plan_with_too_many_steps_is_rejected():
    gate = ScriptedGate(
        plan=lambda number, plan: decided("plan", limits={"max_steps": 1})
    )
    end, ports = run(gate, make_plan(("b", ()), ("a", (0,))), make_plan(("b", ())))
    assert [e.fault for e in of(ports, ev.PlanRejectedEvent)] == ["policy_denied"]
    assert end.answer == "answer of b"


def test_the_fallback_plan_uses_a_worker_that_is_left():
    gate = ScriptedGate(plan=lambda number, plan: decided("plan", "ab"))
    end, ports = run(gate, DIRECT)
    assert of(ports, ev.PlanAccepted)[-1].workers == ("c",)
    assert (end.answer, called(ports)) == ("answer of c", ["c"])


@pytest.mark.parametrize("refused", ["b", "bc"])
def test_a_fallback_never_reaches_a_refused_worker(refused):
    gate = ScriptedGate(step=lambda number, index: decided("step", refused))
    end, ports = run(gate, faults="a", fault=CallFault.UNAUTHORIZED)
    assert not set(called(ports)) & set(refused)
    if refused == "b":
        assert end.answer == "answer of c"
        return
    assert end.code == "policy_denied"
    assert "'b'" in end.message
    assert REASON in end.message


def test_a_rival_is_never_a_refused_worker():
    slow = POOL.workers[0]

    pool = replace(POOL, workers=(replace(slow, hedge_after_s=1.0), *POOL.workers[1:]))
    checks: list[int] = []

    def decide(number: int, index: int) -> ev.PolicyDecided | None:
        checks.append(index)
        return decided("step", "b") if len(checks) > 1 else None

    ports: Any = make_ports(
        planner=ScriptedPlanner(DIRECT),
        client=ScriptedClient(delay_s=lambda call, number: 10.0),
        gate=ScriptedGate(step=decide),
    )
    run_virtual(conduct(TASK, pool, ports, Limits(is_hedged=True)))
    assert called(ports) == ["a"]  # its rival would have been b
    assert len(checks) == 2


def test_a_lower_limit_binds_the_calls():
    gate = ScriptedGate(run=lambda: decided("run", limits={"max_calls": 1}))
    end, ports = run(gate, make_plan(("b", ()), ("c", (0,))))
    assert (end.code, called(ports)) == ("limit_calls", ["b"])


def test_a_limit_is_never_raised():
    gate = ScriptedGate(run=lambda: decided("run", limits={"max_calls": 99}))
    end, _ = run(gate, make_plan(("b", ()), ("c", (0,))), limits=Limits(max_calls=1))
    assert end.code == "limit_calls"


def test_a_resumed_run_is_checked_again():
    gate = ScriptedGate()
    _, ports = run(gate, make_plan(("b", ()), ("c", (0,))))
    events = ports.recorder.events
    cut = next(i for i, e in enumerate(events) if isinstance(e, ev.StepCompleted))
    later = ScriptedGate(run=lambda: decided("run", "c"))
    again: Any = make_ports(planner=ScriptedPlanner(DIRECT), gate=later)
    end = run_virtual(
        conduct(TASK, POOL, again, Limits(), history=tuple(events[: cut + 1]))
    )
    assert "c" not in called(again)
    assert later.asked[0] == "run"
    assert isinstance(end, ev.RunCompleted)


# --- redaction ------------------------------------------------------------------------


@pytest.mark.parametrize("restores", [True, False])
def test_models_see_the_redacted_task_and_the_answer_is_restored(restores):
    redacts = decided("run", redacts=("iban",), restores=restores)
    gate = ScriptedGate(run=lambda: redacts)
    planner = ScriptedPlanner(DIRECT, asks=True)
    ports: Any = make_ports(
        planner=planner,
        client=ScriptedClient(lambda call, number: str(call.messages[-1]["content"])),
        gate=gate,
    )
    end: Any = run_virtual(conduct(TASK, POOL, ports, Limits()))
    assert planner.requests[0].task.prompt == "What is 6 times [N]?"
    assert all("7" not in str(call.messages) for call in ports.client.calls)
    assert ("7" in end.answer, "[N]" in end.answer) == (restores, not restores)


def test_what_was_redacted_is_not_redacted_again_at_each_step():
    redacts = decided("run", redacts=("iban",), restores=True)
    gate = ScriptedGate(run=lambda: redacts, step=lambda *facts: redacts)
    run(gate)
    assert [each for each in gate.asked if each.startswith("redact")] == ["redact iban"]


def test_an_answer_that_has_to_be_restored_is_not_streamed_as_it_comes():
    task = replace(TASK, is_streamed=True)
    for restores in (True, False):
        redacts = decided("run", redacts=("iban",), restores=restores)
        ports: Any = make_ports(gate=ScriptedGate(run=lambda made=redacts: made))
        run_virtual(conduct(task, POOL, ports, Limits()))
        spoken = [each for each in ports.progress.pieces if each.is_answer]
        assert bool(spoken) == (not restores)


# --- texts ----------------------------------------------------------------------------

WRITTEN = ("subtask-of-a", "subtask-of-b", "answer-of-b", "reused-answer")


def sent_texts(ports: Any) -> list[tuple[str, str]]:
    """Return who was sent what, in order."""
    return [
        (call.worker, "".join(text_of(message) for message in call.messages))
        for call in ports.client.calls
    ]


@pytest.mark.parametrize("stage", ["run", "plan", "step"])
def test_every_text_that_a_model_is_sent_was_named_to_the_gate_before(stage):
    """`stage`: the gate redacts from there on."""
    known: set[str] = set()

    class Witness(ScriptedGate):
        def add_texts(self, texts: Iterable[str]) -> None:
            known.update(texts)

    def answer(call: Any, number: int) -> Any:
        seen = "".join(text_of(message) for message in call.messages)
        for text in WRITTEN:
            assert text not in seen or text in known, f"{text} came unseen"
        if (call.worker, number) == ("a", 0):
            return CallFailed(CallFault.SERVER_ERROR, "for a test")
        return f"answer-of-{call.worker}"

    steps = (
        PlannedStep("subtask-of-a", "a"),
        PlannedStep("subtask-of-b", "b", (0,)),
        PlannedStep("last-subtask", "c", (0, 1)),
    )
    ports: Any = make_ports(
        planner=ScriptedPlanner(Plan(steps), Plan(steps[:1])),
        client=ScriptedClient(answer),
        gate=Witness(**{stage: lambda *_: decided(stage, redacts=("number",))}),
    )
    task = replace(TASK, reused=(ReusedAnswer(1, "b", "reused-answer", "an id"),))
    run_virtual(conduct(task, POOL, ports, Limits(max_rounds=2)))
    texts = "".join(text for _, text in sent_texts(ports))
    assert [text for text in WRITTEN if text not in texts] == []


def test_subtasks_and_answers_are_redacted_like_the_task():
    plan = Plan((PlannedStep("Add 7 to it.", "a"), PlannedStep("Say it.", "b", (0,))))
    gate = ScriptedGate(run=lambda: decided("run", redacts=("number",)))
    ports: Any = make_ports(
        planner=ScriptedPlanner(plan),
        client=ScriptedClient(lambda call, number: "It is 77."),
        gate=gate,
    )
    end: Any = run_virtual(conduct(TASK, POOL, ports, Limits()))
    assert not [text for _, text in sent_texts(ports) if "7" in text]
    assert end.answer == "It is 77."
