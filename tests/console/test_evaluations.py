"""The pages of evaluations: import, start, watch, read, cancel."""

from __future__ import annotations

from typing import get_args

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from apps.console.evaluations.quick_measurement import quick_measurement
from apps.evaluation.models import Evaluation, SuiteVersion
from apps.evaluation.reports.report import report_make
from apps.evaluation.selectors import results_of
from apps.evaluation.systems.exploration import ExplorationSystem
from apps.evaluation.systems.kinds import KINDS
from apps.evaluation.systems.probe import ProbeSystem
from apps.evaluation.systems.short_names import PAGE_CHOICES
from apps.pools.services import worker_update
from apps.runs.selectors import access_run
from tests.conftest import Cast, Site, make_pool
from tests.console.models import words
from tests.evaluation.made_up import made_up_evaluation
from tests.evaluation.samples import (
    confirmed,
    documents,
    lines,
    make_evaluation,
    suite,
)
from tests.evaluation.test_driver import ended, start
from tests.factories import ACTOR, PoolFactory, WorkerFactory
from tests.patience import eventually

ALONE = ("exploration", "probe")
"""Systems that no other one stands beside."""


def signed_in(user) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def alice(cast: Cast) -> Client:
    return signed_in(cast.alice)


def upload(client: Client, content: str, name: str = "basics"):
    file = SimpleUploadedFile("tasks.jsonl", content.encode())
    return client.post("/evaluations/suites/new/", {"name": name, "file": file})


def test_the_whole_way_on_the_page(site: Site):
    alice = signed_in(site.cast.alice)
    site.add_worker("sim-cedar")
    assert upload(alice, lines(documents())).status_code == 302
    form = alice.get("/evaluations/new/").content.decode()
    assert "Each worker alone" in form
    pool = site.cast.team.pools.get(is_default=True).name
    wanted = {
        "suite": "basics",
        "pool": pool,
        "systems": ["conductor:ultra", "workers", "self-reflection", "moa"],
        "worker": "sim-delta",
        "max_tasks": "8",
        "max_cost": "5",
        "parallel_runs": "8",
        "seed": "3",
    }
    asked = alice.post("/evaluations/new/", wanted).content.decode()
    assert "48 runs" in asked
    first, bound = asked.split("<summary>The most they can cost</summary>")
    assert "this was not run before" in first
    assert "At most $" in bound
    assert "$" not in words(first).split("48 runs")[1]
    assert not Evaluation.objects.for_team(site.cast.team.id).exists()
    answer = alice.post("/evaluations/new/", {**wanted, **confirmed(asked)})
    assert answer.status_code == 302, answer.content.decode()
    address = answer.headers["location"]
    assert eventually(lambda: "Completed" in alice.get(address).content.decode())
    page = alice.get(address).content.decode()
    assert "48 of 48 results" in page
    for part in ("→ sim-delta)", "By family", "best single"):
        assert part in page
    assert "<circle" in page
    rows = alice.get(f"{address}results/?system=1&family=facts").content.decode()
    evaluation = Evaluation.objects.for_team(site.cast.team.id).get()
    result = results_of(evaluation).filter(system=1, task__family="facts")[0]
    assert f"/runs/{result.run_id}/" in rows
    assert access_run(team_id=site.cast.team.id, run_id=result.run_id).is_over
    for form_name, mark in (
        ("json", '"oracle"'),
        ("md", "| system |"),
        ("csv", "task,"),
    ):
        file = alice.get(f"{address}report.{form_name}")
        assert mark in file.getvalue().decode()


def test_a_changed_form_is_estimated_again(alice, cast, simulator_url):
    make_pool(cast.team, simulator_url)
    suite(cast.team)
    wanted = {
        "suite": "basics",
        "pool": cast.team.pools.get(is_default=True).name,
        "systems": ["workers"],
        "worker": "sim-delta",
        "max_tasks": "4",
        "parallel_runs": "8",
        "seed": "3",
    }
    first = alice.post("/evaluations/new/", wanted).content.decode()
    assert "8 runs" in first
    changed = {**wanted, "max_tasks": "6", **confirmed(first)}
    second = alice.post("/evaluations/new/", changed).content.decode()
    assert "12 runs" in second
    assert confirmed(second) != confirmed(first)
    evaluations = Evaluation.objects.for_team(cast.team.id)
    assert not evaluations.exists()
    again = {**changed, **confirmed(second)}
    assert alice.post("/evaluations/new/", again).status_code == 302
    assert evaluations.get().settings["max_tasks"] == 6


def test_faults_of_a_file_are_shown_with_their_lines(alice, cast):
    answer = upload(alice, lines(documents()) + "{\n{}\n")
    page = answer.content.decode()
    assert answer.status_code == 400
    assert "Line 11: it is not JSON" in page
    assert "Line 12: prompt" in page
    assert not SuiteVersion.objects.for_team(cast.team.id).exists()


def test_empty_pages_say_what_is_missing(alice):
    page = alice.get("/evaluations/").content.decode()
    assert "No evaluations yet" in page
    assert "No suites yet" in page
    answer = alice.get("/evaluations/new/", follow=True)
    assert "An evaluation needs a suite of tasks first." in answer.content.decode()


def test_members_read_and_do_not_start(cast):
    make_evaluation(cast.team)
    bob = signed_in(cast.bob)
    page = bob.get("/evaluations/").content.decode()
    assert "basics" in page
    assert "New evaluation" not in page
    assert bob.get("/evaluations/new/").status_code == 403


def test_g6_another_team_sees_no_page_of_it(cast):
    evaluation = make_evaluation(cast.team)
    mallory = signed_in(cast.mallory)
    for part in ("", "results/", "report.json", "report.md", "report.csv"):
        address = f"/evaluations/{evaluation.id}/{part}"
        assert mallory.get(address).status_code == 404
    assert "basics" not in mallory.get("/evaluations/").content.decode()


def test_hostile_names_are_inert(cast):
    name = "<script>alert(1)</script>"
    evaluation = make_evaluation(cast.team, name)
    page = signed_in(cast.vera).get(f"/evaluations/{evaluation.id}/").content.decode()
    assert name not in page
    assert "&lt;script&gt;" in page


def test_every_system_can_be_chosen_on_the_page(site: Site):
    alice = signed_in(site.cast.alice)
    site.add_worker("echo")
    training = [{**each, "split": "training"} for each in documents(24)]
    held_out = [{**each, "id": f"held-{each['id']}"} for each in documents(4)]
    singles = [
        {"kind": "worker", "worker": n} for n in ("sim-delta", "sim-birch", "echo")
    ]
    samples = {"kind": "samples", "worker": "echo"}
    tasks = [*training, *held_out]
    first = ended(start(site, *singles, samples, split="training", tasks=tasks))
    form = alice.get("/evaluations/new/").content.decode()
    assert "basics, training, 3 alone" in form
    conductor = site.cast.team.conductors.get().name
    wanted = {
        "suite": "basics",
        "pool": site.cast.team.pools.get(is_default=True).name,
        "systems": [c.value for c in PAGE_CHOICES if c.value not in ALONE],
        "worker": "sim-delta",
        "turns": "3",
        "proposals": "2",
        "cheap": "echo",
        "measured": str(first.id),
        "rounds": "2",
        "conductor": conductor,
        "parallel_runs": "8",
        "seed": "3",
    }
    asked = alice.post("/evaluations/new/", wanted).content.decode()
    assert "96 runs" in asked  # the two tiers run with the conductor as well
    assert "At most $" in asked
    again = {**wanted, **confirmed(asked)}
    assert alice.post("/evaluations/new/", again).status_code == 302
    second = ended(Evaluation.objects.for_team(site.cast.team.id).latest("id"))
    report = report_make(second)
    assert {system.kind for system in report.systems} == {
        get_args(kind.model_fields["kind"].annotation)[0]
        for kind in KINDS
        if kind.page_choices and kind not in (ExplorationSystem, ProbeSystem)
    }
    assert {system.ended for system in report.systems} == {6}
    labels = " ".join(system.label for system in report.systems)
    assert f"conductor (ultra, planned by {conductor}, 2 rounds)" in labels
    assert "self-reflection × 3" in labels


def test_a_system_says_which_field_it_lacks(site: Site):
    alice = signed_in(site.cast.alice)
    upload(alice, lines(documents()))
    wanted = {
        "suite": "basics",
        "pool": site.cast.team.pools.get(is_default=True).name,
        "systems": ["cascade"],
        "worker": "sim-delta",
        "parallel_runs": "8",
        "seed": "3",
    }
    answer = alice.post("/evaluations/new/", wanted)
    assert answer.status_code == 400
    assert answer.content.decode().count("Needed by: Cascade") == 2


def test_the_benchmark_pool_is_offered_for_its_tasks(alice: Client, cast: Cast):
    version = suite(cast.team)
    version.suite.is_simulated = True
    version.suite.save()
    PoolFactory.create(team=cast.team, name="benchmark")
    form = alice.get("/evaluations/new/").content.decode()
    assert "<option selected>benchmark</option>" in form


def test_one_click_measures_a_simulated_pool(site: Site):
    alice, team = signed_in(site.cast.alice), site.cast.team
    suite(team)
    assert "Measure now" not in alice.get("/evaluations/").content.decode()
    assert alice.post("/evaluations/quick/").status_code == 409
    for worker in team.workers.all():
        worker_update(worker=worker, values={"tags": ["simulated"]}, actor=ACTOR)
    assert "Measure now" in alice.get("/evaluations/").content.decode()
    address = alice.post("/evaluations/quick/").headers["Location"]
    started = Evaluation.objects.for_team(team.id).get()
    assert address == f"/evaluations/{started.id}/"
    kinds = [system["kind"] for system in started.settings["systems"]]
    assert kinds == ["tier", "worker", "worker"]
    assert signed_in(site.cast.bob).post("/evaluations/quick/").status_code == 403


def test_what_was_measured_decides_what_is_measured_next(cast: Cast, alice: Client):
    pool = PoolFactory.create(team=cast.team, name="default")
    for worker in pool.enabled_workers:
        worker.tags = ["simulated"]
        worker.save()
    made_up_evaluation(cast.team)
    best = WorkerFactory.create(team=cast.team, name="sim-delta", tags=["simulated"])
    pool.places.create(team=cast.team, worker=best, position=9)
    quick = quick_measurement(cast.team.id)
    assert quick is not None
    assert [system["kind"] for system in quick.values["systems"]] == [
        *("tier", "worker", "self_reflection")
    ]


def test_the_pool_decides_which_workers_are_offered(site: Site, alice: Client):
    suite(site.cast.team)
    own = site.cast.team.pools.get(is_default=True)
    PoolFactory.create(team=site.cast.team, name="other", is_default=False)
    offered = alice.get("/evaluations/new/", {"pool": own.name}).context["form"]
    assert "sim-delta" in dict(offered.fields["worker"].choices)
    other = alice.get("/evaluations/new/", {"pool": "other"}).context["form"]
    workers = [value for value, _ in other.fields["worker"].choices]
    assert workers == ["alpha", "beta", "gamma"]


def test_an_exploration_is_chosen_alone_and_runs_training_tasks(site: Site):
    alice = signed_in(site.cast.alice)
    training = [{**each, "split": "training"} for each in documents(12)[:6]]
    suite(site.cast.team, [*training, *documents(24)[-4:]])
    wanted = {
        "suite": "basics",
        "pool": site.cast.team.pools.get(is_default=True).name,
        "systems": ["exploration"],
        "plans": "2",
        "worker": "sim-delta",
        "parallel_runs": "8",
        "seed": "3",
    }
    both = {**wanted, "systems": ["exploration", "workers"]}
    refused = alice.post("/evaluations/new/", both)
    assert "choose it alone" in refused.content.decode()
    asked = alice.post("/evaluations/new/", wanted).content.decode()
    assert "12 runs" in asked
    again = {**wanted, **confirmed(asked)}
    assert alice.post("/evaluations/new/", again).status_code == 302
    found = ended(Evaluation.objects.for_team(site.cast.team.id).latest("id"))
    assert (found.outcome, found.graded) == ("completed", 12)
