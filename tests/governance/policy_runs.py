"""Runs of the engine under real policies: no site, no database, a clock that jumps."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from apps.audit.types import SERVICE
from apps.engine import events as ev
from apps.engine.conduct import conduct
from apps.engine.gate import ApprovalOutcome
from apps.engine.limits import Limits
from apps.engine.ports import Planner, Pool, PoolWorker, Task
from apps.engine.testing import (
    Answerer,
    ScriptedClient,
    ScriptedPlanner,
    make_plan,
    make_ports,
    run_virtual,
)
from apps.engine.usage import Price
from apps.governance.errors import PolicyDenied
from apps.governance.policies.gate import PolicyGates
from apps.governance.policies.rules import PolicyDocument
from apps.governance.policies.run_facts import Policies
from apps.governance.types import PolicyInForce
from apps.runs.planning.model_resolver import ResolvedModel
from apps.runs.types import RunOrder

KEY = uuid.UUID(int=7)
PRICE = Price(1_000_000, 2_000_000)
POOL = Pool(
    (
        PoolWorker("a", PRICE, max_output_tokens=50, tags=frozenset({"us"})),
        PoolWorker("b", PRICE, max_output_tokens=50, tags=frozenset({"region:eu"})),
        PoolWorker("c", max_output_tokens=50),
    ),
    fallback="b",
    substitutes=("c",),
)
ORDER = RunOrder(
    uuid.UUID(int=1), SERVICE, "What is 6 times 7?", "main/ultra", "api", api_key_id=KEY
)
CHAIN = make_plan(("a", ()), ("c", (0,)))
DENIED = frozenset({"policy_denied", "approval_refused", "approval_expired"})


class GivenPolicies(PolicyGates):
    """Gates under the given policies; the first plan gets what `decides` says.

    Plans after an edited one are refused. `later`: what binds after so many looks, of
    which admission is the first, the run's check the second.
    """

    def __init__(
        self,
        policies: Policies,
        decides: ApprovalOutcome | None = None,
        later: tuple[int, Policies] | None = None,
    ) -> None:
        super().__init__()
        self._policies = policies
        self._later = later
        self._looks = 0
        self.waits: Any = _Decided(decides or ApprovalOutcome("approved", ("Alice",)))

    async def load(self, team_id: uuid.UUID) -> Policies:
        self._looks += 1
        if self._later is not None and self._looks > self._later[0]:
            return self._later[1]
        return tuple(each for each in self._policies if each.binds)


@dataclass
class _Decided:
    what: ApprovalOutcome

    async def outcome(self, run_id: uuid.UUID) -> ApprovalOutcome:
        what = self.what
        if what.plan is not None:
            self.what = ApprovalOutcome("refused", ("Bob",), reason="one is enough")
        return what


@dataclass
class Ran:
    """What became of a run."""

    end: Any
    """Its last event. None: it was refused before anything was recorded."""
    events: list[ev.Event] = field(default_factory=list)
    client: ScriptedClient = field(default_factory=ScriptedClient)
    refusal: str = ""

    @property
    def called(self) -> list[str]:
        """Return the workers that were called, in order."""
        return [call.worker for call in self.client.calls if call.worker]

    def of(self, kind: type) -> list[Any]:
        """Return the events of a kind."""
        return [event for event in self.events if isinstance(event, kind)]


def policy(*rules: dict[str, Any], name: Any = "team") -> PolicyInForce:
    """Return a policy in force, version 3."""
    return PolicyInForce(name, 3, PolicyDocument.model_validate({"rules": list(rules)}))


def run(
    gates: PolicyGates,
    planner: Planner | None = None,
    answer: Answerer | None = None,
    *,
    order: RunOrder = ORDER,
    limits: Limits | None = None,
    pool: Pool = POOL,
) -> Ran:
    """Admit a run and conduct it."""
    planner = planner or ScriptedPlanner(CHAIN)
    given = limits or Limits()
    resolved = ResolvedModel(pool, planner, given, {}, "ultra", "main", 1)
    client = ScriptedClient(answer) if answer else ScriptedClient()
    ports = make_ports(planner=planner, client=client)

    async def main() -> Ran:
        try:
            admitted = await gates.admit(order, resolved)
        except PolicyDenied as exc:
            return Ran(None, client=client, refusal=exc.message)
        gate = gates.gate(uuid.UUID(int=9), admitted, resolved)
        task = Task(admitted.prompt, admitted.params, messages=admitted.messages)
        own = replace(ports, gate=gate)
        end = await conduct(task, pool, own, given)
        return Ran(end, own.recorder.events, client)  # type: ignore[attr-defined]

    return run_virtual(main())


def calls_after_refusal(events: Sequence[ev.Event]) -> list[str]:
    """Return the workers that were called although a decision had refused them."""
    refused: set[str] = set()
    wrong: list[str] = []
    for event in events:
        if isinstance(event, ev.PolicyDecided):
            refused |= set(event.refused_workers)
        elif isinstance(event, ev.StepStarted) and event.worker in refused:
            wrong.append(event.worker)
    return wrong
