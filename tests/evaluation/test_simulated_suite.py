"""What the demo evaluates: docs/suites/simulated.jsonl, docs/pools/benchmark.yaml."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal

import pytest

from apps.core.money import MICROS
from apps.evaluation.suites.files import tasks_read
from apps.pools.pool_file import document_parse
from apps.simulator.answers import SimulatedAnswer, signed
from apps.simulator.benchmark.suite import json_lines
from apps.simulator.benchmark.tasks import recognise
from apps.simulator.benchmark.workers import ROSTERS
from tests.docs.reading import ROOT

FILE = ROOT / "docs/suites/simulated.jsonl"
TASKS = tasks_read(FILE.read_bytes(), FILE.name)


def written(short: str) -> str:
    return signed(
        SimulatedAnswer(short, f"**{short}**\n\nI checked it."), "bench-coding"
    )


def test_file_is_what_the_command_writes():
    assert FILE.read_bytes() == b"".join(json_lines(480, 7, 720))


def test_right_answers_pass_and_wrong_ones_do_not():
    for task in TASKS:
        found = recognise(task.prompt)
        assert found is not None, task.prompt
        assert task.verifier.grade(written(found.answer)).is_right, task.prompt
        for wrong in (*found.near_misses, *found.far_off):
            assert not task.verifier.grade(written(wrong)).is_right, task.prompt


def test_families_are_in_both_parts():
    parts = Counter((task.family, task.split) for task in TASKS)
    assert {n for (_, split), n in parts.items() if split == "held_out"} == {40}
    assert {n for (_, split), n in parts.items() if split == "training"} == {160}
    assert len(parts) == 12


def micros(dollars: Decimal) -> int:
    return int(dollars * MICROS)


@pytest.mark.parametrize("file", ["benchmark", "demo"])
def test_pool_is_the_strong_roster(file):
    text = (ROOT / f"docs/pools/{file}.yaml").read_text(encoding="utf-8")
    workers = [w for w in document_parse(text).workers if w.kind == "chat"]
    assert [
        (w.name, w.description, micros(w.price.input), micros(w.price.output))
        for w in workers
        if w.price is not None
    ] == [
        (w.name, w.description, w.input_micros, w.output_micros)
        for w in ROSTERS["strong"]
    ]
