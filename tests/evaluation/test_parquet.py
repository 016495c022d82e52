"""Suites in Parquet: own tasks and public benchmarks, by page, REST and command."""

from __future__ import annotations

import base64
import io
import json
import subprocess
import sys
from typing import Any

import pytest
from arro3.core import Table
from arro3.io import infer_json_schema, read_json, write_parquet
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from apps.accounts.models import Scope
from apps.evaluation.models import SuiteVersion
from apps.evaluation.suites import parquet
from apps.evaluation.suites.files import UnreadableSuite, tasks_read
from tests.evaluation.samples import command
from tests.rest.test_evaluations import client as rest_client

TASKS = [
    {
        "id": "sum",
        "family": "sums",
        "prompt": "What is 1 + 1?",
        "verifier": {"kind": "numeric", "answer": "2", "tolerance": "0.5"},
    },
    {"prompt": "Which?", "verifier": {"kind": "exact", "answer": "that"}},
]


def parquet_of(rows: list[dict[str, Any]]) -> bytes:
    """Return rows as a Parquet file; what a row lacks is null."""
    text = io.BytesIO("".join(json.dumps(row) + "\n" for row in rows).encode())
    file = io.BytesIO()
    schema = infer_json_schema(text)
    text.seek(0)
    write_parquet(Table.from_arrow(read_json(text, schema)), file)
    return file.getvalue()


def test_verifiers_have_fields_are_json_or_as_in_csv():
    tasks = tasks_read(parquet_of(TASKS), "tasks.parquet")
    assert [(task.id, task.family) for task in tasks] == [("sum", "sums"), ("2", "all")]
    assert tasks == tasks_read(
        "".join(json.dumps(task) + "\n" for task in TASKS).encode(), "tasks.jsonl"
    )
    as_json = [{**task, "verifier": json.dumps(task["verifier"])} for task in TASKS]
    assert tasks_read(parquet_of(as_json), "x") == tasks
    plain = [
        {"prompt": "What is 1 + 1?", "verifier": "numeric", "answer": "2"},
        {"prompt": "Which?", "answer": "that"},
    ]
    kinds = [task.verifier.kind for task in tasks_read(parquet_of(plain), "x")]
    assert kinds == ["numeric", "exact"]


def test_benchmarks_are_read_from_parquet():
    row = {
        "question": "Which is a prime?",
        "subject": "number_theory",
        "choices": ["4", "6", "7", "8"],
        "answer": 2,
    }
    (task,) = tasks_read(parquet_of([row]), "test.parquet", "mmlu")
    assert task.verifier.grade("Answer: C").is_right


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "line 1: it is not Parquet"),
        (b"PAR1 and no more", "line 1: it is not Parquet"),
        (parquet_of(TASKS)[:200], "line 1: it is not Parquet"),
        (parquet_of([{"prompt": "x", "verifier": "{"}]), "the verifier is not JSON"),
        (parquet_of([{**TASKS[1], "colour": "red"}]), "line 1: colour"),
        (parquet_of([*TASKS, {"id": "sum", **TASKS[1]}]), "line 3: the id 'sum'"),
    ],
)
def test_faults_are_told_by_row(content, why):
    with pytest.raises(UnreadableSuite, match=why):
        tasks_read(content, "tasks.parquet")


def test_files_that_are_too_large_when_read_are_refused(monkeypatch):
    monkeypatch.setattr(parquet, "MAX_ROWS", 1)
    with pytest.raises(UnreadableSuite, match="more than 1 rows"):
        tasks_read(parquet_of(TASKS), "tasks.parquet")


def test_what_uses_up_the_memory_does_so_in_another_process(monkeypatch):
    monkeypatch.setattr(parquet, "MAX_MEMORY", 20 << 20)
    with pytest.raises(UnreadableSuite, match="or cannot be read"):
        tasks_read(parquet_of(TASKS), "tasks.parquet")


def test_the_command_takes_them(cast, tmp_path):
    path = tmp_path / "tasks.parquet"
    path.write_bytes(parquet_of(TASKS))
    out, _ = command("suite_import", path, "--team=orchestra", "--name=own")
    assert out == "suite 'own', version 1: 2 tasks\n"


def test_the_page_takes_them(cast):
    client = Client()
    client.force_login(cast.alice)
    place = "/evaluations/suites/new/"
    file = SimpleUploadedFile("tasks.parquet", parquet_of(TASKS))
    assert client.post(place, {"name": "own", "file": file}).status_code == 302
    assert SuiteVersion.objects.for_team(cast.team.id).get().task_count == 2
    file = SimpleUploadedFile("tasks.parquet", b"PAR1")
    answer = client.post(place, {"name": "own", "file": file})
    assert answer.status_code == 400
    assert "Line 1: it is not Parquet" in answer.content.decode()


@pytest.fixture
def program(site):
    with rest_client(site, Scope.READ, Scope.POOLS_WRITE) as http:
        yield http


def test_rest_takes_files(program):
    file = base64.b64encode(parquet_of(TASKS)).decode()
    answer = program.post("/suites/", json={"name": "own", "file": file})
    assert answer.status_code == 201, answer.text
    assert answer.json()["tasks"] == 2
    both = {"name": "own", "file": file, "tasks": TASKS}
    for body, field in (
        ({"name": "own"}, "tasks"),
        (both, "tasks"),
        ({"name": "own", "file": "%"}, "file"),
        ({"name": "own", "file": base64.b64encode(b"PAR1").decode()}, "file"),
        ({"name": "own", "tasks": TASKS, "benchmark": "mmlu"}, "benchmark"),
    ):
        answer = program.post("/suites/", json=body)
        assert answer.status_code == 400, answer.text
        assert field in answer.text
    row = {"question": "x", "answer": "#### 4"}
    lines = base64.b64encode(json.dumps(row).encode()).decode()
    wanted = {"name": "g", "file": lines, "file_name": "g.jsonl", "benchmark": "gsm8k"}
    assert program.post("/suites/", json=wanted).status_code == 201


@pytest.mark.slow
def test_no_process_imports_the_library_at_its_start():
    code = (
        "import sys, django; django.setup(); import conductor_site.asgi, "
        "conductor_site.celery, conductor_site.urls, apps.gateway.app; "
        "sys.exit('arro3' in sys.modules)"
    )
    started = [sys.executable, "-c", code]
    assert subprocess.run(started, check=False, timeout=60).returncode == 0
