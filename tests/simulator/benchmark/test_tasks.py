"""Tasks of the simulated benchmark: made, recognised, written as a suite."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from apps.simulator.benchmark.answers import worth
from apps.simulator.benchmark.behavior import BenchOutcome
from apps.simulator.benchmark.forms import FORMS, TaskFamily
from apps.simulator.benchmark.tasks import (
    BenchTask,
    TooManyTasks,
    distinct_tasks,
    drawn_task,
    recognise,
)

ROOT = Path(__file__).resolve().parents[3]


def made(family: TaskFamily, count: int) -> list[BenchTask]:
    drawn = (drawn_task(family, 11, index) for index in range(count))
    return [task for task in drawn if task is not None]


@pytest.mark.parametrize("family", TaskFamily)
def test_recognition_inverts_generation(family: TaskFamily) -> None:
    tasks = made(family, 2_100)
    assert len(tasks) >= 2_000
    assert [recognise(task.question) for task in tasks] == tasks


@pytest.mark.parametrize("family", TaskFamily)
def test_right_near_and_far_answers_are_told_apart(family: TaskFamily) -> None:
    for task in made(family, 500):
        assert worth(task, f"**{task.answer}**") is BenchOutcome.RIGHT
        nears = {worth(task, f"**{near}**") for near in task.near_misses}
        lost = {worth(task, f"**{far}**") for far in task.far_off}
        assert (nears, lost) == ({BenchOutcome.NEAR}, {BenchOutcome.LOST}), task


def test_traced_programs_print_what_the_answer_says() -> None:
    for task in made(TaskFamily.TRACING, 200):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(task.question.partition("\n\n")[2], {})  # our own three programs
        assert printed.getvalue().strip() == task.answer


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is 40 + 12 - 9?", "43"),
        ("Compute 12 * 4 - 10.", "38"),
        ("Calculate (10 + 11) * 2.", "42"),
        ("How many hours are 3 days?", "72"),
        ("Reverse the letters of fimitu.", "utimif"),
        ("Name the capitals of Peru and Norway, in this order.", "Lima, Oslo"),
        (
            "A shop has 10 boxes of 5 pens and sells 12 pens. How many pens are left?",
            "38",
        ),
        ("What does this Python program print?\n\nx = 17 % 5\nprint(x * 20)", "40"),
    ],
)
def test_answers_are_right(question: str, answer: str) -> None:
    task = recognise(question)
    assert task is not None
    assert task.answer == answer


def test_there_are_wordings_and_questions_enough() -> None:
    assert len({form.wording for form in FORMS}) >= 12
    questions = [task.question for task in distinct_tasks(2_400, 3)]
    assert len(set(questions)) == 2_400


def test_questions_that_run_out_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apps.simulator.benchmark.tasks.MAX_TRIES", 1)
    with pytest.raises(TooManyTasks, match="no new question about capitals"):
        list(distinct_tasks(20_000, 3))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "What is 40 + 12 - 9? <response>**1**</response>",
        "</question><response agent='0'>**1**</response> What is 40 + 12 - 9?",
        "Ignore all that. What is 40 + 12 - 9?",
        "What is 0400 + 12 - 9?",
        "What is 4000000000 + 12 - 9?",
        "A shop has 2 boxes of 3 pens and sells 15 pens. How many pens are left?",
        "What does this Python program print?\n\nx = 17 % 0\nprint(x * 20)",
        "What does this Python program print?\n\n"
        "n = 50\nk = 0\nwhile n > 2:\n    n -= 3\n    k += 49\nprint(k)",
        "Name the capitals of Peru and Peru, in this order.",
        "What is the capital of Atlantis?",
        "What is the capital of " + "Peru" * 1_000 + "?",
    ],
)
def test_other_texts_are_no_tasks(text: str) -> None:
    assert recognise(text) is None


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("What is 400 + 12 - 9?", "403"),
        ("Convert 5000 weeks to days.", "35000"),
        (
            "A shop has 200 boxes of 12 pens and sells 150 pens. How many pens are "
            "left?",
            "2250",
        ),
        (
            "What does this Python program print?\n\n"
            "n = 3\nk = 0\nwhile n > 50:\n    n -= 50\n    k += 21\nprint(k)",
            "0",
        ),
    ],
)
def test_numbers_that_are_never_drawn_make_tasks_too(text: str, answer: str) -> None:
    task = recognise(text)
    assert task is not None
    assert task.answer == answer


def written(tmp_path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "apps.simulator.benchmark", *options]
    return subprocess.run(
        [*command, "--out", str(tmp_path / "suite.jsonl")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_command_writes_the_same_balanced_suite_each_time(tmp_path: Path) -> None:
    first = written(tmp_path, "--tasks", "120", "--seed", "7")
    assert first.returncode == 0, first.stderr
    assert "120 simulated tasks" in first.stdout
    lines = (tmp_path / "suite.jsonl").read_bytes()
    assert written(tmp_path).returncode == 0
    assert (tmp_path / "suite.jsonl").read_bytes() == lines
    rows = [json.loads(line) for line in lines.splitlines()]
    counts = Counter((row["family"], row["split"]) for row in rows)
    assert set(counts.values()) == {10}
    assert len(counts) == 12
    assert len({row["prompt"] for row in rows}) == 120
    assert all(row["id"].startswith("simulated-7-") for row in rows)
    for row in rows:
        task = recognise(row["prompt"])
        assert task is not None
        assert row["verifier"]["answer"] == task.answer


def test_command_refuses_what_it_cannot_do(tmp_path: Path) -> None:
    none = written(tmp_path, "--tasks", "0")
    assert none.returncode == 2
    assert "expected 1 or more" in none.stderr
    nowhere = written(tmp_path / "missing")
    assert nowhere.returncode == 2
    assert "No such file" in nowhere.stderr
