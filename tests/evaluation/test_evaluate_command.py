"""`manage.py evaluate`: the whole way from a file of tasks to a report."""

from __future__ import annotations

import csv
import json
import re

import pytest
from django.core.management.base import CommandError

from apps.audit.verify import verify_team
from apps.evaluation.models import ResultState
from apps.evaluation.selectors import results_of
from apps.runs.models import Run, Source
from tests.conftest import Site, make_pool
from tests.evaluation.samples import (
    command,
    documents,
    entries_of,
    newest,
    suite,
    written,
)

SYSTEMS = (
    "--system=conductor:ultra",
    "--system=workers",
    "--system=self-reflection:sim-delta:3",
    "--system=moa:sim-birch",
    "--system=random-plan",
)
HERE = ("--team=orchestra",)


@pytest.fixture
def imported(site: Site, tmp_path) -> Site:
    site.add_worker("sim-cedar")
    path = written(tmp_path / "basics.jsonl", documents())
    out, _ = command("suite_import", path, "--team=orchestra", "--name=basics")
    assert out == "suite 'basics', version 1: 10 tasks\n"
    return site


def test_a_site_drives_it_and_the_report_adds_up(imported, tmp_path):
    team = imported.cast.team
    report, table = tmp_path / "report.json", tmp_path / "results.csv"
    out, err = command(
        "evaluate", "basics", *HERE, *SYSTEMS, f"--json={report}", f"--csv={table}"
    )
    assert "# basics, version 1" in out
    assert "results" in err
    found = json.loads(report.read_text())
    assert [system["system"] for system in found["systems"]] == [
        "conductor (ultra)",
        "sim-delta",
        "sim-birch",
        "sim-cedar",
        "self-reflection × 3 (sim-delta)",
        "mixture of agents (sim-delta, sim-cedar → sim-birch)",
        "random plan",
    ]
    runs = Run.objects.for_team(team.id).filter(source=Source.EVALUATION)
    assert runs.count() == 10 * 7
    assert sum(s["cost_micros"] for s in found["systems"]) == sum(
        runs.values_list("cost_micros", flat=True)
    )
    for system in found["systems"]:
        assert system["ended"] == 10
        assert system["accuracy"]["low"] < system["accuracy"]["value"]
        assert sum(f["ended"] for f in system["families"].values()) == 10
    chain = next(s for s in found["systems"] if s["kind"] == "self_reflection")
    assert (chain["steps"], chain["worker_shares"]) == (30, {"sim-delta": 1.0})
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert {row["run_id"] for row in rows} == {str(run.id) for run in runs}
    ended = entries_of(team, "evaluation.ended")
    assert [facts["outcome"] for facts in ended] == ["completed"]
    assert not verify_team(team.id).faults


def test_a_command_drives_it_where_no_process_does(cast, simulator_url):
    make_pool(cast.team, simulator_url)
    suite(cast.team)
    out, _ = command("evaluate", "basics", *HERE, "--system=worker:sim-delta")
    assert "| sim-delta | 10 |" in out


def test_the_same_seed_gives_the_same_figures(cast, simulator_url, tmp_path):
    make_pool(cast.team, simulator_url)
    suite(cast.team)
    found = []
    for name in ("first.json", "second.json"):
        path = tmp_path / name
        command(
            "evaluate",
            "basics",
            *HERE,
            "--system=random-plan",
            "--seed=7",
            "--tasks=6",
            f"--json={path}",
        )
        found.append(json.loads(path.read_text())["systems"])
    for system in (*found[0], *found[1]):
        for figures in (system, *system["families"].values()):
            del figures["latency_ms"]
    assert found[0] == found[1]
    assert sum(f["ended"] for f in found[0][0]["families"].values()) == 6
    assert {f["ended"] for f in found[0][0]["families"].values()} == {3}


def test_a_cost_limit_holds_and_ends_it(cast, simulator_url):
    make_pool(cast.team, simulator_url)
    suite(cast.team)
    chain = ("evaluate", "basics", *HERE, "--system=self-reflection:sim-delta:5")
    with pytest.raises(CommandError, match="the next run may cost") as refused:
        command(*chain, "--max-cost=0.000001")
    found = re.search(r"may cost \$([\d.]+), and \$0\.000001 are", str(refused.value))
    assert found is not None
    limit = round(float(found[1]) * 1_000_000) + 1_000  # less than two runs cost
    with pytest.raises(CommandError, match="cost limit reached"):
        command(*chain, f"--max-cost={limit / 1_000_000}")
    results = results_of(newest(cast.team))
    assert 1_000 < sum(results.values_list("cost_micros", flat=True)) <= limit
    assert results.filter(state=ResultState.WAITING).exists()
    assert results.filter(state=ResultState.RIGHT).exists()
    assert not results.filter(cause__contains="limit").exists()
    assert newest(cast.team).outcome == "budget"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("nothing", *HERE, "--system=workers"), "no suite 'nothing'"),
        (("basics", *HERE, "--system=judge"), "there is no system 'judge'"),
        (("basics", *HERE, "--system=worker:gpt"), "has no worker 'gpt'"),
        (
            ("basics", *HERE, "--system=self-reflection:sim-delta:9"),
            "takes 9 steps, and tier 'ultra' of pool 'pool-\\d+' allows 5",
        ),
        (("basics", *HERE), "at least one --system"),
        (("basics", *HERE, "--system=workers", "--family=art"), "no such tasks"),
        (
            ("basics", *HERE, "--system=workers", "--system=worker:sim-delta"),
            "is there twice",
        ),
        (("basics", *HERE, "--system=workers", "--max-cost=much"), "expected dollars"),
    ],
)
def test_mistakes_have_clear_errors(cast, simulator_url, arguments, why):
    make_pool(cast.team, simulator_url)
    suite(cast.team)
    with pytest.raises(CommandError, match=why):
        command("evaluate", *arguments)
