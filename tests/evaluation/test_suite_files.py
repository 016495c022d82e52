"""Files of tasks: what is read, and how faults are named."""

from __future__ import annotations

import json

import pytest
from django.core.management.base import CommandError
from django.db import connection

from apps.evaluation.models import SuiteVersion
from apps.evaluation.suites.files import UnreadableSuite, tasks_read
from tests.evaluation.samples import command, documents, entries_of, lines, written

TASK = {"prompt": "What?", "verifier": {"kind": "exact", "answer": "that"}}


def faults(content: str | bytes, name: str = "tasks.jsonl") -> list[str]:
    raw = content.encode() if isinstance(content, str) else content
    with pytest.raises(UnreadableSuite) as refused:
        tasks_read(raw, name)
    return [str(fault) for fault in refused.value.faults]


def test_defaults():
    (task,) = tasks_read(b"\n" + json.dumps(TASK).encode(), "tasks.jsonl")
    assert (task.id, task.family, task.split) == ("2", "all", "held_out")


def test_csv_with_a_mark_at_the_beginning_and_lines_in_cells():
    content = (
        '\ufeffid,family,prompt,verifier,answer\r\na,sums,"What is\n1+1?",numeric,2\r\n'
        "b,,Which?,,that\r\nc,,Yes?,pattern,(?i)yes\r\n"
    )
    tasks = tasks_read(content.encode(), "Tasks.CSV")
    assert [task.verifier.kind for task in tasks] == ["numeric", "exact", "pattern"]
    assert [task.family for task in tasks] == ["sums", "all", "all"]
    assert tasks[0].prompt == "What is\n1+1?"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "line 1: the file has no tasks"),
        ("{", "line 1: it is not JSON"),
        ("[]", "line 1: it is no JSON object"),
        (b"\xff", "line 1: it is not UTF-8 text"),
        (lines([TASK, {**TASK, "id": "1"}]), "line 2: the id '1' is there twice"),
        (lines([{"prompt": "x"}]), "line 1: verifier"),
        (lines([{**TASK, "prompt": ""}]), "line 1: prompt"),
        (lines([{**TASK, "colour": "red"}]), "line 1: colour"),
        (lines([{**TASK, "split": "test"}]), "line 1: split"),
    ],
)
def test_faults_have_their_line(content, expected):
    assert faults(content)[0].startswith(expected)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("question,answer\n1,2\n", "line 1: expected a header"),
        ("prompt,answer\nx\n", "line 2: it has another number of columns"),
        ('prompt,answer\n"x,2\n', "line 2: it is not CSV"),
    ],
)
def test_faults_of_csv(content, expected):
    assert faults(content, "x.csv")[0].startswith(expected)


def test_all_faults_are_named_up_to_fifty():
    assert len(faults("{\n" * 200)) == 50


def test_a_file_with_a_fault_is_refused_as_a_whole(cast, tmp_path):
    path = tmp_path / "bad.jsonl"
    path.write_text(lines(documents()) + "{}\n")
    with pytest.raises(CommandError, match="line 11: prompt: field required"):
        command("suite_import", path, "--team=orchestra", "--name=bad")
    assert not SuiteVersion.objects.for_team(cast.team.id).exists()


def test_versions_grow_with_changes_alone_and_are_on_record(cast, tmp_path):
    path = written(tmp_path / "tasks.jsonl", documents())
    arguments = ("suite_import", path, "--team=orchestra", "--name=basics")
    assert "version 1" in command(*arguments)[0]
    assert "version 1" in command(*arguments)[0]
    written(path, documents()[:5])
    assert "version 2: 5 tasks" in command(*arguments)[0]
    recorded = entries_of(cast.team, "suite.imported")
    assert [(e["version"], e["tasks"]) for e in recorded] == [(1, 10), (2, 5)]
    newest = SuiteVersion.objects.for_team(cast.team.id).latest("number")
    assert recorded[1]["digest"] == newest.digest


def test_tasks_are_encrypted(cast, tmp_path):
    path = written(tmp_path / "tasks.jsonl", documents())
    command("suite_import", path, "--team=orchestra", "--name=basics")
    with connection.cursor() as cursor:
        cursor.execute("SELECT sealed FROM evaluation_storedtask")
        stored = b"".join(bytes(row[0]) for row in cursor.fetchall())
    assert b"capital" not in stored
