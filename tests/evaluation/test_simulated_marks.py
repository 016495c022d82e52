"""Figures that are not of real models say so wherever they are shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from apps.evaluation.models import Suite
from apps.evaluation.reports.report import report_make, result_rows
from apps.evaluation.reports.report_formats import report_values, results_csv
from apps.evaluation.reports.report_markdown import report_markdown
from apps.evaluation.services import evaluation_start
from apps.pools.models import WorkerProfile
from apps.pools.selectors import snapshots_forget
from tests.conftest import make_pool
from tests.evaluation.made_up import made_up_evaluation
from tests.evaluation.samples import documents, entries_of, suite
from tests.factories import ACTOR

SIMULATED_FILE = Path("docs/suites/simulated.jsonl")
REAL = {"kind": "worker", "worker": "sim-delta"}


@pytest.fixture
def alice(cast) -> Client:
    client = Client()
    client.force_login(cast.alice)
    return client


def upload(client: Client, content: bytes, name: str = "basics") -> None:
    file = SimpleUploadedFile("tasks.jsonl", content)
    answer = client.post("/evaluations/suites/new/", {"name": name, "file": file})
    assert answer.status_code == 302


def flag(team) -> bool:
    return Suite.objects.for_team(team.id).get(name="basics").is_simulated


def test_the_file_of_the_simulated_benchmark_is_known_by_its_ids(cast, alice):
    upload(alice, SIMULATED_FILE.read_bytes())
    assert flag(cast.team)


def test_importing_again_corrects_the_mark(cast, alice):
    suite(cast.team)
    upload(alice, SIMULATED_FILE.read_bytes())
    assert flag(cast.team)
    suite(cast.team)
    assert not flag(cast.team)


def test_the_same_tasks_with_another_mark_make_no_version(cast, alice):
    upload(alice, SIMULATED_FILE.read_bytes())
    Suite.objects.for_team(cast.team.id).update(is_simulated=False)
    upload(alice, SIMULATED_FILE.read_bytes())
    assert flag(cast.team)
    found = [facts["version"] for facts in entries_of(cast.team, "suite.imported")]
    assert found == [1, 1]


def test_a_pool_of_simulated_workers_marks_its_evaluations(cast, simulator_url):
    make_pool(cast.team, simulator_url)
    pool = cast.team.pools.get(is_default=True).name
    values = {"pool": pool, "systems": [REAL]}
    version = suite(cast.team)
    first = evaluation_start(version=version, values=values, actor=ACTOR)
    cast.team.workers.update(tags=["simulated"])
    snapshots_forget(cast.team.id)
    second = evaluation_start(version=version, values=values, actor=ACTOR)
    assert (first.is_simulated, second.is_simulated) == (False, True)


@pytest.mark.parametrize("is_simulated", [True, False])
def test_every_form_of_a_report_has_the_mark(cast, alice, is_simulated):
    version = suite(cast.team)
    made = [
        made_up_evaluation(cast.team, version, has_simulated_pool=is_simulated)
        for _ in range(2)
    ]
    report = report_make(made[0])
    table = "".join(results_csv(report, result_rows(made[0])))
    places = [
        alice.get(f"/evaluations/{made[0].id}/{part}").content.decode()
        for part in ("", "results/", "comparison/")
    ]
    places.append(alice.get("/evaluations/").content.decode())
    places.append(report_markdown(report))
    assert [("Simulated" in place) for place in places] == [is_simulated] * 5
    assert report_values(report)["is_simulated"] is is_simulated
    assert table.splitlines()[1].endswith(f",{is_simulated}")


@pytest.mark.parametrize("is_simulated", [True, False])
def test_profiles_have_the_mark(cast, alice, simulator_url, is_simulated):
    make_pool(cast.team, simulator_url)
    evaluation = made_up_evaluation(cast.team)
    worker = cast.team.workers.get(name="sim-delta")
    WorkerProfile.objects.create(
        team=cast.team,
        worker=worker,
        family="sums",
        tasks=20,
        right=19,
        tokens=100,
        cost_micros=100,
        latency_ms=100,
        suite="basics, version 1",
        evaluation_id=evaluation.id,
        measured_at=timezone.now(),
        base_url=worker.base_url,
        model=worker.model,
        is_simulated=is_simulated,
    )
    pool = cast.team.pools.get(is_default=True)
    for address in (
        reverse("console:worker", args=[worker.id]),
        reverse("console:pool", args=[pool.id]),
    ):
        page = alice.get(address).content.decode()
        assert ("<strong>Simulated.</strong>" in page) is is_simulated


def test_the_tasks_of_the_samples_are_not_simulated():
    assert not any(task["id"].startswith("simulated-") for task in documents())
