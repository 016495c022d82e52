"""Says which run is in which arm of an A/B test, before it begins.

On the event loop. The tests of the whole site are read together, at most once in
`CACHE_SECONDS`, so a request costs no query, and a team without a test one look-up.
What knows the kinds of systems is imported with the first test, in a thread.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from uuid import UUID

from channels.db import database_sync_to_async
from django.db import transaction
from django.utils import timezone

from apps.core.data_classes import is_at_least
from apps.core.ids import is_sampled
from apps.core.single_flight import SingleFlight
from apps.core.ttl_cache import TtlCache
from apps.evaluation.ab.models import ABTest
from apps.evaluation.ab.types import ActiveTest
from apps.governance.policies.run_facts import order_classified
from apps.runs.models import Source
from apps.runs.planning.model_resolver import ResolvedModel
from apps.runs.types import UNRESTRICTED, RunArm, RunOrder

Place = tuple[UUID, str, str]
"""Team, pool and tier."""


ActiveTests = Mapping[Place, ActiveTest]
_active: TtlCache[None, ActiveTests] = TtlCache()


class ABArms:
    """Satisfies `executor.Arms`."""

    def __init__(self) -> None:
        self._reads: SingleFlight[None, ActiveTests] = SingleFlight(_read)

    async def arm(self, order: RunOrder, resolved: ResolvedModel) -> RunArm | None:
        """Return the arm of an order; None: it is in no A/B test."""
        if order.api_key_id is None or order.source != Source.API:
            return None
        tests = _active.get(None)
        if tests is None:
            tests = await self._reads.get(None)
        test = tests.get((order.team_id, resolved.pool_name, resolved.tier))
        if test is None or _is_narrowed(order) or not await _may_hold(test, order):
            return None
        if is_in_b(test.id, order.api_key_id, test.percent):
            return test.candidate
        return RunArm(test.id, "a")


def is_in_b(test_id: UUID, key_id: UUID, percent: int) -> bool:
    """Say whether the candidate of a test answers a key."""
    return is_sampled(test_id.bytes + key_id.bytes, percent)


def arms_forget() -> None:
    """Let this process read the tests anew, once the transaction commits."""
    transaction.on_commit(_active.clear)


def active_tests() -> ActiveTests:
    """Return the tests under way, at most `CACHE_SECONDS` old. Blocks.

    One that is full, over, or whose candidate cannot answer is left out.
    """
    found = _active.get(None)
    if found is not None:
        return found
    generation = _active.generation
    rows = ABTest.objects.across_teams().filter(outcome="", until__gt=timezone.now())
    tests = {
        (row.team_id, row.pool, row.tier): test
        for row in rows
        if (test := _as_active(row)) is not None
    }
    _active.put(None, tests, generation=generation)
    return tests


async def _read(_: None) -> ActiveTests:
    read: ActiveTests = await database_sync_to_async(active_tests)()
    return read


def _as_active(test: ABTest) -> ActiveTest | None:
    from apps.evaluation.ab.active_tests import active_test_of

    return active_test_of(test)


def _is_narrowed(order: RunOrder) -> bool:
    """Say whether the request or its key chooses workers, tiers or limits itself."""
    asked = replace(
        order.restrictions, data_class=None, approval=None, exploration=None
    )
    return bool(asked != UNRESTRICTED or order.allowed_tiers or order.allowed_workers)


async def _may_hold(test: ActiveTest, order: RunOrder) -> bool:
    """Say whether a request has no higher data class than the test allows."""
    highest = test.highest_data_class
    if highest is None:
        return True
    found = await order_classified(order, test.patterns)
    return is_at_least(highest, found.data_class)
