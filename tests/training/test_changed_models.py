"""Workers whose model is another one than the light planner of their pool knows."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from apps.pools.models import Pool
from apps.pools.selectors import pool_fingerprints
from apps.pools.services import PlannerFit, planner_version_add
from apps.training.selectors import learning_records
from apps.training.services import planner_use
from tests.conftest import Site, make_pool
from tests.factories import ACTOR
from tests.planners.light.builders import SOLVE, model, run, step
from tests.rest.conftest import member
from tests.training.explored import explored, pool_name

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
NAMES = ("sim-delta", "sim-birch", "sim-gone")


def known_version(pool: Pool) -> None:
    """Let tier ultra plan with a version to which sim-delta is the better worker."""
    good, bad = run(step("sim-delta", SOLVE, [], 1)), run(step("sim-birch", grade=0))
    stored = model(*[good, bad] * 40, names=NAMES).to_bytes()
    known = pool_fingerprints(pool)
    fit = PlannerFit(600, 1_300, 2, NAMES, "a" * 64, fingerprints=known)
    version = planner_version_add(pool=pool, stored=stored, fit=fit, actor=ACTOR)
    planner_use(
        pool=pool, number=version.number, tiers=["ultra"], actor=ACTOR, reason="Test."
    )


@pytest.fixture
def pool(cast) -> Pool:
    make_pool(cast.team, "http://127.0.0.1:9/v1")
    found: Pool = cast.team.pools.get(is_default=True)
    known_version(found)
    return found


def changed(cast: Any, name: str, **values: Any) -> None:
    """Change a worker over REST."""
    worker = cast.team.workers.get(name=name)
    answer = member(cast.alice).patch(f"workers/{worker.id}/", values)
    assert answer.status_code == 200, answer.content


# --- plans ----------------------------------------------------------------------------


def promised(site: Site, worker: str) -> float:
    """Return what the explanation of a new run says of a worker on its own."""
    body = {
        "model": "conductor-ultra",
        "messages": [{"role": "user", "content": "Compute 12 * 3."}],
    }
    headers = {"Authorization": f"Bearer {site.key}"}
    answer = httpx.post(
        f"{site.api_url}/chat/completions", json=body, headers=headers, timeout=60
    )
    run_id = answer.headers["x-conductor-run-id"]
    shown = httpx.get(f"{site.url}/api/v1/runs/{run_id}/", headers=headers).json()
    (why,) = shown["explanations"]
    (alone,) = (a for a in why["alone"] if a["steps"][0]["worker"] == worker)
    return float(alone["success"])


def test_a_changed_model_is_no_longer_promised_what_the_old_one_could(site: Site):
    pool: Pool = site.cast.team.pools.get(is_default=True)
    known_version(pool)
    before = promised(site, "sim-delta")
    assert before > 0.9
    changed(site.cast, "sim-delta", description="Better.", max_output_tokens=900)
    assert promised(site, "sim-delta") == before
    changed(site.cast, "sim-delta", model="sim-flint")
    assert promised(site, "sim-delta") < before - 0.1
    changed(site.cast, "sim-delta", model="sim-delta")
    assert promised(site, "sim-delta") == before


# --- learning data --------------------------------------------------------------------


def test_learning_data_says_which_model_answered(site: Site):
    team, pool = site.cast.team, pool_name(site)
    before = pool_fingerprints(team.pools.get())
    explored(site)
    changed(site.cast, "sim-delta", model="sim-flint", extra_params=["top_k"])
    explored(site)
    now = pool_fingerprints(team.pools.get())
    assert before["sim-birch"] == now["sim-birch"]
    assert before["sim-delta"] != now["sim-delta"]
    records = list(learning_records(team.id, pool))
    for first, second in zip(records[:6], records[6:], strict=True):
        assert {s.fingerprint for s in first.run.steps} <= set(before.values())
        assert {s.fingerprint for s in second.run.steps} <= set(now.values())
    workers = {s.worker for each in records[6:] for s in each.run.steps}
    assert workers == {"sim-delta", "sim-birch"}
