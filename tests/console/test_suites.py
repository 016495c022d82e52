"""The page of a suite: versions, what is in them, their tasks and file."""

from __future__ import annotations

import pytest
from django.test import Client

from apps.console.views.evaluation import suites
from apps.evaluation.models import Evaluation, SuiteVersion
from apps.evaluation.suites.tasks import SuiteTask
from apps.evaluation.verifiers.words import right_answers, verifier_words
from tests.evaluation.samples import command, documents, suite


@pytest.fixture
def vera(cast) -> Client:
    client = Client()
    client.force_login(cast.vera)
    return client


def test_tasks_are_shown_by_version_and_family(cast, vera, monkeypatch):
    monkeypatch.setattr(suites, "TASKS_PER_PAGE", 3)
    first = suite(cast.team)
    suite(cast.team, documents()[:1])
    address = f"/evaluations/suites/{first.suite_id}/"
    newest = vera.get(address).content.decode()
    assert "Version 2, the newest" in newest
    assert "The final answer is the number 77." in newest
    assert "capital-0" not in newest
    page = vera.get(f"{address}?version=1&family=facts&page=2").content.decode()
    assert "The final answer is “Tokyo”." in page
    assert "Page 2 of 2" in page
    assert "sum-0" not in page
    assert vera.get(f"{address}?version=7").status_code == 404


def test_the_file_can_be_imported_again(cast, vera, tmp_path):
    first = suite(cast.team)
    answer = vera.get(f"/evaluations/suites/{first.suite_id}/tasks.jsonl")
    file = tmp_path / "tasks.jsonl"
    file.write_bytes(answer.getvalue())
    command("suite_import", file, "--team=orchestra", "--name=basics")
    assert SuiteVersion.objects.for_team(cast.team.id).count() == 1


def test_another_team_sees_nothing_of_it(cast):
    first = suite(cast.team)
    mallory = Client()
    mallory.force_login(cast.mallory)
    for part in ("", "tasks.jsonl"):
        address = f"/evaluations/suites/{first.suite_id}/{part}"
        assert mallory.get(address).status_code == 404


def test_hostile_prompts_are_inert(cast, vera):
    task = {**documents()[0], "prompt": "<script>alert(1)</script>"}
    version = suite(cast.team, [task])
    page = vera.get(f"/evaluations/suites/{version.suite_id}/").content.decode()
    assert task["prompt"] not in page
    assert "&lt;script&gt;" in page


def test_an_older_version_is_run_by_its_number(site):
    team = site.cast.team
    suite(team)
    suite(team, documents()[:2])
    _, err = command(
        "evaluate",
        "basics",
        "--team=orchestra",
        "--suite-version=1",
        "--system=worker:sim-delta",
        "--tasks=3",
    )
    assert "3 runs" in err
    assert Evaluation.objects.for_team(team.id).get().version.number == 1


@pytest.mark.parametrize(
    ("verifier", "words", "answers"),
    [
        ({"kind": "exact", "answer": ["a", "b"]}, "“a” or “b”.", ["a", "b"]),
        (
            {"kind": "numeric", "answer": 5, "tolerance": "0.1"},
            "the number 5 ± 0.1.",
            ["5"],
        ),
        (
            {"kind": "choice", "answer": "B", "choices": ["x", "y"]},
            "choice B, “y”.",
            ["B"],
        ),
        ({"kind": "pattern", "pattern": "^a+$"}, "“^a+$” matches in the answer.", []),
        (
            {"kind": "json_schema", "schema": {"type": "object"}},
            "JSON that fits a schema.",
            [],
        ),
        ({"kind": "latex", "answer": "x^2"}, "“x^2” in LaTeX.", ["x^2"]),
        (
            {"kind": "model_graded", "rubric": "Be kind", "reference": "Hello"},
            "A model judges: “Be kind”.",
            ["Hello"],
        ),
        (
            {
                "kind": "unit_tests",
                "entry_point": "f",
                "cases": [{"input": "1", "output": "2"}],
            },
            "The function f passes 1 case, within 10 s of processor time.",
            [],
        ),
    ],
)
def test_every_kind_of_verifier_has_words(verifier, words, answers):
    task = SuiteTask.model_validate({"id": "t", "prompt": "p", "verifier": verifier})
    assert verifier_words(task.verifier).endswith(words)
    assert right_answers(task.verifier) == answers
