"""Workers that are new to a pool are offered a calibration, with its cost."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from apps.pools.models import Pool, Worker
from tests.conftest import Cast
from tests.console.models import pool_input, signed_in, worker_input
from tests.evaluation.samples import documents, suite
from tests.factories import PoolFactory, PriceFactory, WorkerFactory

OFFER = "not calibrated yet"


@pytest.fixture
def pool(cast: Cast) -> Pool:
    return PoolFactory.create(team=cast.team)


@pytest.fixture
def alice(cast: Cast) -> Client:
    return signed_in(cast.alice)


def training(cast: Cast, split: str = "training") -> None:
    suite(cast.team, [{**task, "split": split} for task in documents()])


def created(alice: Client, pool: Pool, **changes: Any) -> str:
    """Return the page after a worker has been added to a pool."""
    values = worker_input(pools=[str(pool.id)], **changes)
    answer = alice.post("/workers/new/", values, follow=True)
    assert answer.status_code == 200, answer.content.decode()
    return answer.content.decode()


def test_a_new_worker_is_offered_a_calibration_with_its_cost(cast, alice, pool):
    training(cast)
    page = created(alice, pool, **{"price.input_usd": "1", "price.output_usd": "2"})
    worker = Worker.objects.for_team(cast.team.id).get(name="fast")
    assert worker in pool.workers.all()
    assert f"fast is {OFFER}. On training tasks of basics, version 1" in page
    address = reverse("console:calibration_new", args=[pool.id])
    link = f'<a href="{address}?worker=fast">Calibrate</a>'
    assert link in page
    form = alice.get(f"{address}?worker=fast").content.decode()
    assert re.search(r'value="fast"[^>]*checked', form)


def test_what_it_costs_follows_from_the_price(cast, alice, pool):
    training(cast)
    worker = WorkerFactory.create(team=cast.team, name="steady", model="big-model")
    PriceFactory.create(worker=worker)
    ids = [*pool_input(pool)["worker_ids"], str(worker.id)]
    values = pool_input(pool, worker_ids=ids)
    page = alice.post(f"/pools/{pool.id}/", values, follow=True).content.decode()
    assert f"steady is {OFFER}" in page
    assert re.search(r"takes \d+ runs, and it costs at most \$\d", page)


@pytest.mark.parametrize("split", [None, "held_out"])
def test_without_training_tasks_nothing_is_offered(cast, alice, pool, split):
    if split is not None:
        training(cast, split)
    assert OFFER not in created(alice, pool)


def test_saving_a_pool_without_new_workers_offers_nothing(cast, alice, pool):
    training(cast)
    values = pool_input(pool, name="renamed")
    page = alice.post(f"/pools/{pool.id}/", values, follow=True).content.decode()
    assert "is saved as version" in page
    assert OFFER not in page


def test_embedding_workers_are_not_calibrated(cast, alice, pool):
    training(cast)
    assert OFFER not in created(alice, pool, kind="embedding")
