"""Light planners that go to a file and come from one."""

from __future__ import annotations

import io
import zipfile

import orjson
import pytest

from apps.core.errors import InvalidInput
from apps.pools.light_planners.loading import light_planner
from apps.pools.models import PlannerVersion, Pool
from apps.training.export import planner_file
from apps.training.export.planner_file import planner_written
from apps.training.trainings.transfer import planner_import
from tests.evaluation.made_up import made_up_evaluation
from tests.factories import ACTOR, PoolFactory, TeamFactory, WorkerFactory
from tests.training.conducted import add_planner

pytestmark = pytest.mark.django_db
NAMES = ("sim-delta", "sim-birch", "sim-gone")
BEST = {"sums": "sim-birch", "facts": "sim-delta"}


@pytest.fixture
def pool(cast) -> Pool:
    pool = PoolFactory.create(team=cast.team, name="default", is_default=True)
    for position, name in enumerate(NAMES, 10):
        worker = WorkerFactory.create(team=cast.team, name=name)
        pool.places.create(team=cast.team, worker=worker, position=position)
    return pool


@pytest.fixture
def content(pool) -> bytes:
    add_planner(pool)
    return planner_written(PlannerVersion.objects.for_team(pool.team_id).get(), BEST)


def rewritten(content: bytes, **fit: object) -> bytes:
    """Return a file with other values in its fit."""
    changed = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as old,
        zipfile.ZipFile(changed, "w") as new,
    ):
        values = orjson.loads(old.read("fit.json")) | fit
        new.writestr("fit.json", orjson.dumps(values))
        new.writestr("model.npz", old.read("model.npz"))
    return changed.getvalue()


def test_a_planner_comes_back_as_it_was(pool, content):
    version = planner_import(pool=pool, content=content, measured=None, actor=ACTOR)
    first = PlannerVersion.objects.for_team(pool.team_id).get(number=1)
    assert (version.number, version.digest) == (2, first.digest)
    assert version.fit | {"fingerprints": {}} == first.fit
    assert version.data_digest == first.data_digest
    assert version.gate is None
    assert light_planner(pool.team_id, pool.id, 2).model.workers == NAMES
    assert planner_written(version, BEST) == content


def test_its_measurement_comes_with_it(cast, pool, content):
    measured = made_up_evaluation(cast.team)
    version = planner_import(pool=pool, content=content, measured=measured, actor=ACTOR)
    assert version.gate is not None
    assert version.gate["evaluation"] == str(measured.id)
    assert version.gate["new"]["name"] == "conductor (ultra)"
    per_family = {each["name"] for each in version.gate["others"]}
    assert "best worker per family, as measured" in per_family


def test_it_is_not_for_a_pool_without_its_workers(cast, content):
    other = PoolFactory.create(team=TeamFactory.create(), name="other")
    with pytest.raises(InvalidInput, match="has no worker"):
        planner_import(pool=other, content=content, measured=None, actor=ACTOR)
    assert not other.planner_versions.exists()


@pytest.mark.parametrize(
    ("fit", "why"),
    [
        ({"workers": ["sim-delta"]}, "different workers"),
        ({"workers": []}, "fit.json: workers"),
        ({"runs": -1}, "fit.json: runs"),
        ({"data_digest": "none"}, "fit.json: data_digest"),
        ({"further": 1}, "fit.json: further"),
    ],
)
def test_a_fit_that_does_not_belong_to_it_is_refused(pool, content, fit, why):
    with pytest.raises(InvalidInput, match=why):
        planner_import(
            pool=pool, content=rewritten(content, **fit), measured=None, actor=ACTOR
        )
    assert pool.planner_versions.count() == 1


@pytest.mark.parametrize("cut", [0, 1, 100, -30])
def test_a_broken_file_is_refused(pool, content, cut):
    with pytest.raises(InvalidInput, match="not that of a light planner"):
        planner_import(pool=pool, content=content[:cut], measured=None, actor=ACTOR)


def test_sizes_are_bounded(pool, content, monkeypatch):
    monkeypatch.setattr(planner_file, "MAX_FIT_BYTES", 10)
    with pytest.raises(InvalidInput, match="not that of a light planner"):
        planner_import(pool=pool, content=content, measured=None, actor=ACTOR)
    monkeypatch.setattr(planner_file, "MAX_BYTES", 10)
    with pytest.raises(InvalidInput, match="more than"):
        planner_import(pool=pool, content=content, measured=None, actor=ACTOR)
