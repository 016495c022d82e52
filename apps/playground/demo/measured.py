"""The planner of the demo and its evaluation: measured once, shipped, and imported.

`python -m deploy.demo_measure` makes both files; nothing in them is written by hand.
"""

from __future__ import annotations

from collections.abc import Mapping

from django.conf import settings

from apps.accounts.models import Team
from apps.audit.types import Actor
from apps.evaluation.models import SuiteVersion
from apps.evaluation.services import evaluation_import
from apps.pools.models import TierPlanner
from apps.pools.selectors import pool_list
from apps.pools.services import planner_version_use
from apps.training.services import planner_import

ACTOR = Actor("service", "demo", "make demo")
POOL = "demo"
FOLDER = settings.BASE_DIR / "deploy/demo_files"
PLANNER_FILE, EVALUATION_FILE = FOLDER / "planner.zip", FOLDER / "evaluation.jsonl"
TIERS: Mapping[str, TierPlanner] = {
    "ultra": TierPlanner.CASCADE,
    "mini": TierPlanner.CASCADE,
}
"""What plans with it: the first is what the demo claims something of."""


def measured_import(team: Team, suite_version: SuiteVersion) -> None:
    """Let the demo's pool plan with the shipped planner, unless it had one before."""
    pool = pool_list(team.id).filter(name=POOL).first()
    if pool is None or pool.planner_versions.exists():
        return
    evaluation = evaluation_import(
        version=suite_version,
        content=EVALUATION_FILE.read_bytes(),
        name=EVALUATION_FILE.name,
        actor=ACTOR,
    )
    content = PLANNER_FILE.read_bytes()
    version = planner_import(
        pool=pool, content=content, measured=evaluation, actor=ACTOR
    )
    planner_version_use(
        pool=pool,
        number=version.number,
        tiers=TIERS,
        actor=ACTOR,
        reason="It came with the demo, measured.",
    )
