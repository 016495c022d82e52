"""A real vLLM whose engine is killed. The last of its tests: it ends the server."""

from __future__ import annotations

from apps.engine import events as ev
from apps.engine.errors import CallFault
from tests.vllm.asking import ENDLESS_PLAN, asking, events_of, is_planning, only_run
from tests.vllm.conftest import Stage, eventually, only
from tests.vllm.server import ENDLESS_TOKENS


def test_engine_killed_in_the_middle_of_a_plan_costs_no_run(stage: Stage, hold_to):
    hold_to(ENDLESS_PLAN)
    stage.set_conductor(max_output_tokens=ENDLESS_TOKENS, context_tokens=None)
    with asking(stage) as client:
        assert eventually(lambda: is_planning(stage))
        stage.vllm.kill_engine()
        assert "data: [DONE]" in client.answer()
    events = events_of(only_run(stage))
    failed = [event.fault for event in only(events, ev.PlanCallFailed)]
    assert failed and set(failed) <= {
        CallFault.SERVER_ERROR,
        CallFault.INCOMPLETE,
        CallFault.CONNECT,
    }
    (accepted,) = only(events, ev.PlanAccepted)
    assert (accepted.planner, accepted.workers) == ("fallback", ("sim-delta",))
    assert isinstance(events[-1], ev.RunCompleted)
