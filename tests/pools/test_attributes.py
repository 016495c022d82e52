"""An attribute is described once, and adding one takes few files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from apps.console.ability_words import ABILITY_WORDS
from apps.console.forms.models import ConductorForm, WorkerForm
from apps.pools.attributes import ABILITIES, ConductorAttributes, WorkerAttributes
from apps.pools.capability_probes import PROBES
from apps.pools.models import Worker

ROOT = Path(__file__).resolve().parents[2]
MOST_FILES = 11
WORDS_OF_OTHERS = {
    # Words for many things.
    "description",
    "kind",
    "mode",
    "tags",
    # Webhooks can be enabled too.
    "is_enabled",
    # Requests of the API have fields of these names.
    "extra_body",
    "extra_params",
    "max_output_tokens",
    "reasoning_effort",
    "temperature",
}
"""Attributes whose names do not tell in which files they are meant."""
ATTRIBUTES = {*WorkerAttributes.model_fields, *ConductorAttributes.model_fields}


def production_files() -> list[Path]:
    return [
        path
        for folder in ("apps", "conductor_site")
        for path in (ROOT / folder).rglob("*.py")
        if not {"migrations", "simulator"} & set(path.parts)
    ]


@pytest.mark.parametrize("name", sorted(ATTRIBUTES - WORDS_OF_OTHERS))
def test_an_attribute_stands_in_few_files(name):
    word = re.compile(rf"\b{name}\b")
    found = [str(p) for p in production_files() if word.search(p.read_text("utf-8"))]
    assert 2 <= len(found) <= MOST_FILES, found


def test_a_new_row_is_as_described():
    row, described = Worker(), WorkerAttributes()
    for name in WorkerAttributes.model_fields:
        value = getattr(row, name)
        default = tuple(value) if isinstance(value, list) else value
        assert default == getattr(described, name), name


def test_every_attribute_has_a_field_in_its_form():
    worker = WorkerForm(credentials=())
    typed = {"tags": "more_tags"}
    names = {typed.get(name, name) for name in WorkerAttributes.model_fields}
    assert names <= worker.fields.keys()
    conductor = ConductorForm(credentials=())
    assert ConductorAttributes.model_fields.keys() <= conductor.fields.keys()


def test_every_ability_has_a_probe_and_words():
    assert set(PROBES) == set(ABILITY_WORDS) == ABILITIES
    assert WorkerAttributes.model_fields.keys() >= ABILITIES
