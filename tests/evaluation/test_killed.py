"""An evaluation whose process is killed goes on, and pays for no run twice."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from apps.simulator.app import create_app
from tests.evaluation.prepare import TASKS, WORKERS
from tests.serving import serving

ROOT = Path(__file__).parents[2]
KILLS = 1
PARALLEL = 4
PATIENCE_S = 60
POLL_S = 0.05


@pytest.fixture
def models_url() -> Iterator[str]:
    with serving(create_app(), ws="none") as url:
        yield url


def wait(is_so: Callable[[], bool]) -> None:
    give_up_at = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < give_up_at, "it did not come so far"
        time.sleep(POLL_S)


class Killable:
    """`manage.py evaluate` in a process of its own, on a database of its own."""

    def __init__(self, folder: Path, models_url: str) -> None:
        self._folder = folder
        self.database = folder / "site.sqlite3"
        self._env = os.environ | {
            "CONDUCTOR_VAR_DIR": str(folder),
            "DATABASE_URL": f"sqlite:///{self.database}",
            "CONDUCTOR_ENV": "development",
        }
        prepare = [sys.executable, "-m", "tests.evaluation.prepare"]
        subprocess.run(
            [*prepare, f"{models_url}/v1"], env=self._env, cwd=ROOT, check=True
        )

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "manage.py", "evaluate", "--team=orchestra"]
        return subprocess.Popen(
            [*command, *arguments],
            env=self._env,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def rows(self, query: str) -> list[tuple[object, ...]]:
        connection = sqlite3.connect(f"file:{self.database}?mode=ro", uri=True)
        try:
            return connection.execute(query).fetchall()
        finally:
            connection.close()

    def graded(self) -> int:
        query = "SELECT count(*) FROM evaluation_evaluationresult WHERE state='right'"
        ((count,),) = self.rows(query)
        return int(str(count))


def test_g1_killed_it_ends_with_one_run_for_each_result(tmp_path, models_url):
    site = Killable(tmp_path, models_url)
    limits = (f"--parallel={PARALLEL}", "--max-cost=5")
    process = site.start("basics", "--system=workers", *limits)
    report = tmp_path / "report.json"
    evaluation = ""
    for number in range(KILLS):
        target = 6 * (number + 1)
        wait(lambda least=target: site.graded() >= least)  # type: ignore[misc]
        process.send_signal(signal.SIGKILL)
        _, said = process.communicate(timeout=PATIENCE_S)
        found = re.search(r"evaluation (\S+)", said)
        assert found is not None, said
        evaluation = found[1]
        before = site.graded()
        assert before < TASKS * len(WORKERS)
        process = site.start(f"--resume={evaluation}", f"--json={report}")
    out, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, said
    assert f"| {WORKERS[0]} | {TASKS} | 1.000" in out
    assert site.graded() == TASKS * len(WORKERS)
    runs = site.rows("SELECT id, cost_micros FROM runs_run")
    results = site.rows("SELECT run_id, cost_micros FROM evaluation_evaluationresult")
    assert sorted(map(str, runs)) == sorted(map(str, results))
    found = json.loads(report.read_text())["systems"]
    assert sum(s["cost_micros"] for s in found) == sum(int(str(r[1])) for r in runs)
    calls = httpx.get(f"{models_url}/v1/stats").json()
    requests = sum(calls["requests"].values())
    in_flight = KILLS * PARALLEL
    assert len(runs) <= requests <= len(runs) + in_flight


def test_g1_killed_while_a_model_judges_it_pays_for_no_judgement_twice(
    tmp_path, models_url
):
    site = Killable(tmp_path, models_url)
    worker, grader = WORKERS  # which says `ok`: no grade, and paid for all the same
    limits = (f"--parallel={PARALLEL}", "--max-cost=5", f"--grader={grader}")
    process = site.start("rubrics", f"--system=worker:{worker}", *limits)
    judged = "SELECT count(*) FROM evaluation_evaluationresult WHERE state='{}'"
    wait(lambda: site.rows(judged.format("failed")) > [(3,)])
    wait(lambda: site.rows(judged.format("grading")) > [(0,)])
    process.send_signal(signal.SIGKILL)
    _, said = process.communicate(timeout=PATIENCE_S)
    found = re.search(r"evaluation (\S+)", said)
    assert found is not None, said
    assert site.rows(judged.format("failed")) < [(TASKS,)]
    process = site.start(f"--resume={found[1]}")
    _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, said
    results = site.rows(
        "SELECT run_id, cost_micros FROM evaluation_evaluationresult UNION ALL "
        "SELECT grading_run_id, grading_cost_micros FROM evaluation_evaluationresult"
    )
    runs = site.rows("SELECT id, cost_micros FROM runs_run")
    assert sorted(map(str, runs)) == sorted(map(str, results))
    assert len(runs) == 2 * TASKS
    calls = httpx.get(f"{models_url}/v1/stats").json()
    # A judgement of another form than asked for is asked for once more, in its run.
    fewest = len(runs) + TASKS
    assert fewest <= sum(calls["requests"].values()) <= fewest + PARALLEL
