"""An evaluation without a form: what plans now beside what it has to beat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from apps.evaluation.models import SuiteVersion
from apps.evaluation.reports.headline import headline
from apps.evaluation.selectors import access_evaluation, newest_version, suite_list
from apps.pools.selectors import pool_list, pool_snapshot
from apps.pools.types import PoolSnapshot

MAX_TASKS = 120
PARALLEL_RUNS = 32
TIER = "ultra"


@dataclass(frozen=True, slots=True)
class QuickMeasurement:
    """What would be measured."""

    version: SuiteVersion
    values: dict[str, Any]
    """Settings of the evaluation."""

    @property
    def systems(self) -> int:
        """Return how many systems are compared."""
        return len(self.values["systems"])

    @property
    def tasks(self) -> int:
        """Return the most tasks that each of them gets."""
        return int(self.values["max_tasks"])


def quick_measurement(team_id: UUID) -> QuickMeasurement | None:
    """Return what to measure of the default pool, on few tasks.

    Where it is known who is best alone, the tier is compared with that worker, alone
    and correcting itself; else with every worker alone. None: there is no suite whose
    answers a rule can grade, no pool with the tier, or its models are real, so that it
    would cost money that nobody has seen an estimate of.
    """
    pool = pool_list(team_id).filter(is_default=True).first()
    version = _suite_version(team_id)
    if pool is None or version is None:
        return None
    snapshot = pool_snapshot(team_id, pool.name)
    if TIER not in snapshot.tiers or not snapshot.is_simulated:
        return None
    values = {
        "pool": pool.name,
        "systems": [{"kind": "tier", "tier": TIER}, *_rivals(team_id, snapshot)],
        "max_tasks": MAX_TASKS,
        "parallel_runs": PARALLEL_RUNS,
    }
    return QuickMeasurement(version, values)


def _rivals(team_id: UUID, snapshot: PoolSnapshot) -> list[dict[str, Any]]:
    names = [worker.name for worker in snapshot.chat_workers]
    found = headline(team_id)
    if found is None or found.worker not in names:
        return [{"kind": "worker", "worker": name} for name in names]
    return [
        {"kind": "worker", "worker": found.worker},
        {"kind": "self_reflection", "worker": found.worker},
    ]


def _suite_version(team_id: UUID) -> SuiteVersion | None:
    """Return the largest measurement's suite, else the first that needs no judge."""
    if (found := headline(team_id)) is not None:
        evaluation = access_evaluation(
            team_id=team_id, evaluation_id=found.evaluation_id
        )
        return newest_version(evaluation.version.suite)
    versions = map(newest_version, suite_list(team_id))
    return next(
        (each for each in versions if not each.tasks.filter(needs_grader=True)), None
    )
