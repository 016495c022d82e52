"""Workers whose model is another one than the light planner of their pool knows."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import httpx
import pytest
from django.test import Client
from django.utils import timezone

from apps.pools.models import Pool
from apps.pools.selectors import access_pool, pool_fingerprints
from apps.pools.services import PlannerFit, planner_version_add
from apps.training.export.planner_file import planner_written
from apps.training.learning_data.records import LearningRecord
from apps.training.selectors import learning_records
from apps.training.services import planner_use
from apps.training.trainings.transfer import planner_import
from tests.conftest import Site, add_worker, make_pool
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


def changed(cast: Any, name: str, /, **values: Any) -> None:
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


def test_a_renamed_worker_is_promised_what_it_was(site: Site):
    pool: Pool = site.cast.team.pools.get(is_default=True)
    known_version(pool)
    before = promised(site, "sim-delta")
    changed(site.cast, "sim-delta", name="delta")
    assert promised(site, "delta") == before
    assert newcomers_of(site.cast, pool) == []


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
    (counted,) = member(site.cast.alice).get("learning/data/").json()["pools"]
    assert counted["runs"] == 12
    former = [each for each in records[:6] if "sim-delta" in workers_of(each)]
    assert counted["former_runs"] == len(former) > 0
    client = Client()
    client.force_login(site.cast.alice)
    page = client.get("/learning/").content.decode()
    assert f"In {len(former)} run" in page


def workers_of(record: LearningRecord) -> set[str]:
    return {step.worker for step in record.run.steps}


def test_learning_data_follows_a_worker_to_its_new_name(site: Site):
    team, pool = site.cast.team, pool_name(site)
    explored(site)
    changed(site.cast, "sim-delta", name="delta")
    records = list(learning_records(team.id, pool))
    assert set.union(*map(workers_of, records)) == {"delta", "sim-birch"}
    (counted,) = member(site.cast.alice).get("learning/data/").json()["pools"]
    assert counted["former_runs"] == 0


# --- newcomers and pages --------------------------------------------------------------


def newcomers_of(cast: Any, pool: Pool) -> list[dict[str, Any]]:
    shown = member(cast.alice).get(f"learning/pools/{pool.id}/planner/").json()
    return list(shown["newcomers"])


def page_of(user: Any, path: str) -> str:
    client = Client()
    client.force_login(user)
    return " ".join(client.get(path).content.decode().split())


@pytest.mark.parametrize(
    "values",
    [
        {"model": "sim-flint"},
        {"base_url": "http://127.0.0.1:9/v2"},
        {"protocol": "anthropic"},
        {"reasoning_effort": "high"},
        {"thinking_budget_tokens": 2_000},
        {"extra_body": {"temperature": 1.5}},
    ],
)
def test_a_worker_whose_answers_may_differ_is_a_newcomer(cast, pool, values):
    before = timezone.now()
    changed(cast, "sim-birch", **values)
    (row,) = newcomers_of(cast, pool)
    assert (row["worker"], row["is_changed"]) == ("sim-birch", True)
    assert datetime.fromisoformat(row["changed_at"]) >= before


def test_price_labels_and_limits_change_nothing(cast, pool):
    values = {
        "description": "Better.",
        "tags": ["eu"],
        "max_output_tokens": 900,
        "timeouts": {"total_s": 50},
        "price": {"input_usd": "1", "output_usd": "2"},
        "accepts_images": True,
    }
    changed(cast, "sim-birch", **values)
    assert newcomers_of(cast, pool) == []
    worker = cast.team.workers.get(name="sim-birch")
    assert "learned about" not in page_of(cast.alice, f"/workers/{worker.id}/")


def test_pages_say_what_a_change_means_until_it_is_undone(cast, pool):
    worker = cast.team.workers.get(name="sim-birch")
    pages = ("/learning/", f"/workers/{worker.id}/")
    assert not any("learned about" in page_of(cast.alice, path) for path in pages)
    changed(cast, "sim-birch", model="sim-flint")
    changed(cast, "sim-birch", description="Changed later, which is no matter.")
    for path in pages:
        page = page_of(cast.alice, path)
        assert "another model, or" in page and "than the" in page
        assert "Undo the change, and it counts again." in page
    assert "Probe it" in page_of(cast.alice, "/learning/")
    assert "Probe it" not in page_of(cast.vera, "/learning/")
    changed(cast, "sim-birch", model="sim-birch")
    assert not any("learned about" in page_of(cast.alice, path) for path in pages)
    assert newcomers_of(cast, pool) == []


def test_a_form_that_changes_the_model_leads_to_what_that_means(cast, pool):
    worker = cast.team.workers.get(name="sim-birch")
    client = Client()
    client.force_login(cast.alice)
    path = f"/workers/{worker.id}/"
    sent = {**client.get(path).context["form"].initial, "model": "sim-flint"}
    sent = {name: value for name, value in sent.items() if value not in (None, False)}
    page = client.post(path, sent, follow=True).content.decode()
    assert "callout--warn" in page and "learned about" in page


def test_a_version_from_before_models_were_kept_knows_each_as_it_is(cast, pool):
    version = pool.planner_versions.get()
    version.fit = {k: v for k, v in version.fit.items() if k != "fingerprints"}
    version.save(update_fields=["fit"])
    changed(cast, "sim-birch", model="sim-flint")
    assert newcomers_of(cast, pool) == []


def test_an_imported_planner_knows_the_workers_as_they_are_now(cast, pool):
    add_worker(cast.team, "http://127.0.0.1:9/v1", "sim-gone")
    content = planner_written(pool.planner_versions.get(), {})
    changed(cast, "sim-birch", model="sim-flint")
    fresh = access_pool(cast.team.id, pool.id)
    planner_import(pool=fresh, content=content, measured=None, actor=ACTOR)
    planner_use(pool=fresh, number=2, tiers=["ultra"], actor=ACTOR, reason="Test.")
    assert newcomers_of(cast, pool) == []
    changed(cast, "sim-birch", model="sim-birch")
    assert [row["worker"] for row in newcomers_of(cast, pool)] == ["sim-birch"]
