"""An evaluation whose process is killed goes on, and pays for no run twice."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import psutil
import pytest

from apps.sandbox.availability import sandbox_problem
from tests.evaluation.killable import Killable, Prepared, finished, kill, prepared, wait
from tests.evaluation.prepare import TASKS, WORKERS
from tests.evaluation.programs import LEFT, PROGRAMS, SLOWEST_S

pytestmark = pytest.mark.slow

PARALLEL = 4
LONG_S = 1.5
"""A sandbox that is so old runs the slowest program, on an idle machine."""
GRADED = (
    "SELECT task_id, state, run_id, cost_micros FROM evaluation_evaluationresult "
    "WHERE state IN ('right', 'wrong') ORDER BY place"
)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prepared]:
    """What each test evaluates on a copy of."""
    with prepared(tmp_path_factory.mktemp("prepared")) as found:
        yield found


def sandbox_of(site_process: int) -> list[psutil.Process]:
    """Return the processes of a sandbox that is old; empty: there is none."""
    with suppress(psutil.NoSuchProcess):
        for each in psutil.Process(site_process).children():
            is_old = time.time() - each.create_time() > LONG_S
            if is_old and any(word.endswith("launcher.py") for word in each.cmdline()):
                found = [each, *each.children(recursive=True)]
                return found if len(found) > 2 else []
    return []


def is_alive(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        status = str(process.status()) if process.is_running() else ""
        return status not in ("", psutil.STATUS_ZOMBIE)
    return False


def mounts_of(process: psutil.Process) -> str | None:
    """Return the name of a process's namespace of mounts; None: it cannot be read."""
    with suppress(OSError):
        return os.readlink(f"/proc/{process.pid}/ns/mnt")
    return None


def pinned(process: psutil.Process) -> BinaryIO:
    """Open a process's namespace of mounts: until closed, no other has its name."""
    return open(f"/proc/{process.pid}/ns/mnt", "rb")


def left_files(*folders: str) -> list[Path]:
    """Return what the code of answers has written outside of its sandbox."""
    return [path for each in folders for path in Path(each).glob(f"{LEFT}*")]


def test_g1_killed_it_ends_with_one_run_for_each_result(tmp_path, original):
    site = Killable(tmp_path, original)
    limits = (f"--parallel={PARALLEL}", "--max-cost=5")
    process = site.start("basics", "--system=workers", *limits)
    report = tmp_path / "report.json"
    wait(lambda: site.count("right") >= 6)
    evaluation = kill(process)
    assert site.count("right") < TASKS * len(WORKERS)
    out = finished(site.start(f"--resume={evaluation}", f"--json={report}"))
    assert f"| {WORKERS[0]} | {TASKS} | 1.000" in out
    assert site.count("right") == TASKS * len(WORKERS)
    runs = site.rows("SELECT id, cost_micros FROM runs_run")
    results = site.rows("SELECT run_id, cost_micros FROM evaluation_evaluationresult")
    assert sorted(map(str, runs)) == sorted(map(str, results))
    found = json.loads(report.read_text())["systems"]
    assert sum(s["cost_micros"] for s in found) == sum(int(str(r[1])) for r in runs)
    assert len(runs) <= site.asked <= len(runs) + PARALLEL


def test_g1_killed_while_a_model_judges_it_pays_for_no_judgement_twice(
    tmp_path, original
):
    site = Killable(tmp_path, original)
    worker, grader = WORKERS  # which says `ok`: no grade, and paid for all the same
    limits = (f"--parallel={PARALLEL}", "--max-cost=5", f"--grader={grader}")
    process = site.start("rubrics", f"--system=worker:{worker}", *limits)
    wait(lambda: site.count("failed") > 3)
    wait(lambda: site.count("grading") > 0)
    evaluation = kill(process)
    assert site.count("failed") < TASKS
    finished(site.start(f"--resume={evaluation}"))
    results = site.rows(
        "SELECT run_id, cost_micros FROM evaluation_evaluationresult UNION ALL "
        "SELECT grading_run_id, grading_cost_micros FROM evaluation_evaluationresult"
    )
    runs = site.rows("SELECT id, cost_micros FROM runs_run")
    assert sorted(map(str, runs)) == sorted(map(str, results))
    assert len(runs) == 2 * TASKS
    # A judgement of another form than asked for is asked for once more, in its run.
    fewest = len(runs) + TASKS
    assert fewest <= site.asked <= fewest + PARALLEL


@pytest.mark.skipif(
    sandbox_problem() is not None, reason=f"no sandboxes here: {sandbox_problem()}"
)
def test_g1_killed_while_code_is_run_its_sandbox_ends_and_each_answer_has_one_grade(
    tmp_path, original
):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    env = {"SANDBOX_PARALLEL": "1", "TMPDIR": str(temporary)}
    site = Killable(tmp_path, original, **env)
    mounts = Path("/proc/self/mountinfo").read_text()
    process = site.start("programs", "--pool=code", "--system=worker:scripted")
    family: list[psutil.Process] = []

    def is_begun() -> bool:
        family[:] = sandbox_of(process.pid)
        return bool(family)

    wait(is_begun)
    inside = mounts_of(family[-1])
    assert inside != mounts_of(psutil.Process())
    with pinned(family[-1]):
        would_end_at = family[-1].create_time() + SLOWEST_S
        evaluation = kill(process)
        wait(lambda: not any(map(is_alive, family)))
        assert time.time() < would_end_at
        assert inside not in map(mounts_of, psutil.process_iter())
    assert Path("/proc/self/mountinfo").read_text() == mounts
    assert left_files("/", "/tmp", "/dev/shm", str(tmp_path)) == []
    assert list(temporary.iterdir()) == []
    before = site.rows(GRADED)
    assert len(before) < len(PROGRAMS)
    finished(site.start(f"--resume={evaluation}"))
    after = site.rows(GRADED)
    assert set(before) <= set(after)
    states = [state for _, state, _, _ in after]
    assert states == ["right" if is_right else "wrong" for is_right in PROGRAMS]
    runs = site.rows("SELECT id, cost_micros FROM runs_run ORDER BY id")
    assert sorted(row[2:] for row in after) == runs
    assert site.asked == len(runs) == len(PROGRAMS)
