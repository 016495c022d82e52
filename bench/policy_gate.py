"""The gate of a run, before anything is sent: with rules, and for a team without any.

Needs Django to be set up. Policies come from memory, as for all but the first run in
five seconds.
"""

from __future__ import annotations

import asyncio
import time
import uuid

from apps.audit.types import SERVICE
from apps.core.ttl_cache import TtlCache
from apps.engine.limits import Limits
from apps.engine.ports import Pool, PoolWorker
from apps.governance.policies.gate import PolicyGates
from apps.governance.policies.rules import PolicyDocument
from apps.governance.policies.run_facts import Policies
from apps.governance.types import PolicyInForce, PolicyName
from apps.planners.fixed import SingleWorkerPlanner
from apps.runs.planning.model_resolver import ResolvedModel
from apps.runs.types import RunOrder

TEAM, KEY = uuid.UUID(int=1), uuid.UUID(int=2)
POOL = Pool(
    tuple(PoolWorker(f"w{number}", tags=frozenset({"eu"})) for number in range(8)), "w0"
)
RESOLVED = ResolvedModel(POOL, SingleWorkerPlanner("w0"), Limits(), {}, "ultra", "p", 1)


class MemoryGates(PolicyGates):
    """Gates whose policies have just been read."""

    def __init__(self, team: PolicyDocument) -> None:
        super().__init__()
        self._cache: TtlCache[uuid.UUID | None, PolicyInForce] = TtlCache()
        self._put(None, "site", PolicyDocument())
        self._put(TEAM, "team", team)

    def _put(
        self, key: uuid.UUID | None, name: PolicyName, document: PolicyDocument
    ) -> None:
        policy = PolicyInForce(name, 1, document)
        self._cache.put(key, policy, generation=self._cache.generation)

    async def load(self, team_id: uuid.UUID) -> Policies:
        """Return the policies that bind, as the gates of a site do."""
        found = (self._cache.get(None), self._cache.get(team_id))
        return tuple(each for each in found if each is not None and each.binds)


def gate_micros(document: PolicyDocument, prompt: str) -> float:
    """Return the time of admission and of the run's check, in microseconds."""
    return asyncio.run(_checked(MemoryGates(document), prompt))


async def _checked(gates: MemoryGates, prompt: str) -> float:
    order = RunOrder(TEAM, SERVICE, prompt, "p/ultra", "api", api_key_id=KEY)
    began = time.perf_counter()
    admitted = await gates.admit(order, RESOLVED)
    decided = await gates.gate(KEY, admitted, RESOLVED).check_run()
    taken = time.perf_counter() - began
    has_rules = bool(await gates.load(TEAM))
    assert (decided is not None) == has_rules, "it measured something else"
    return taken * 1e6
