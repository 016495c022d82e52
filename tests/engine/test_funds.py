"""Plans under a budget: paid to their end or not begun, and money shared by steps."""

from dataclasses import dataclass
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from apps.engine import events as ev
from apps.engine.conduct import conduct
from apps.engine.errors import RunDenied
from apps.engine.limits import Limits
from apps.engine.meter import StepCosts
from apps.engine.plan import Plan
from apps.engine.ports import PlanFunds, Pool, PoolWorker, Task
from apps.engine.testing import (
    ScriptedClient,
    ScriptedPlanner,
    make_plan,
    make_ports,
    run_virtual,
)
from apps.engine.usage import Price

PRICE = Price(1_000_000, 1_000_000)
POOL = Pool((PoolWorker("a", PRICE), PoolWorker("b", PRICE)), "a")
ONE = make_plan(("a", ()))
BOTH = make_plan(("a", ()), ("b", ()), ("a", (0, 1)))
LIMIT = 3_000


@dataclass
class ScriptedFunds:
    """Covers the first so many plans."""

    covered: int
    costs: StepCosts | None = None

    async def cover(self, plan: Plan, limits: Limits, spent_micros: int) -> PlanFunds:
        if self.covered == 0:
            raise RunDenied("too dear", "insufficient_quota")
        self.covered -= 1
        return PlanFunds(limits.max_cost_micros, self.costs)


def run(funds: ScriptedFunds, *plans: Plan | None, **limits: Any) -> Any:
    ports: Any = make_ports(
        planner=ScriptedPlanner(*plans), client=ScriptedClient(), funds=funds
    )
    given = Limits(max_cost_micros=LIMIT, **limits)
    return run_virtual(conduct(Task("q"), POOL, ports, given)), ports


def test_a_plan_that_cannot_be_paid_ends_the_run_before_its_first_step():
    end, ports = run(ScriptedFunds(0), ONE)
    assert (end.code, end.message) == ("insufficient_quota", "too dear")
    assert ports.client.calls == []
    assert not any(isinstance(e, ev.PlanAccepted) for e in ports.recorder.events)


def test_a_later_plan_that_cannot_be_paid_leaves_the_answer_as_it_is():
    end, ports = run(ScriptedFunds(1), ONE, BOTH, max_rounds=2)
    assert isinstance(end, ev.RunCompleted)
    assert ev.PlanKept(1) in ports.recorder.events
    assert len(ports.client.calls) == 1


def test_steps_at_the_same_time_leave_each_other_what_they_need():
    costs = StepCosts((200, 400, 400), (4_400, 4_400, 4_400))
    end, ports = run(ScriptedFunds(1, costs), BOTH)
    assert isinstance(end, ev.RunCompleted)
    first, second, _ = (call.params.max_tokens for call in ports.client.calls)
    assert first < second < LIMIT // 2


STEPS = st.lists(
    st.tuples(st.integers(0, 10**9), st.integers(0, 10**9)), min_size=1, max_size=6
)


@given(steps=STEPS, more=st.integers(0, 10**10))
def test_every_step_can_take_its_likely_cost_and_all_no_more_than_there_is(steps, more):
    likely = tuple(low for low, _ in steps)
    costs = StepCosts(likely, tuple(low + rest for low, rest in steps))
    left = sum(likely) + more
    for index, needed in enumerate(likely):
        part = costs.share(index, range(index)).of(left)
        assert needed <= part <= left
        left -= min(part, costs.highest[index])
