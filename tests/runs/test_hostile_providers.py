"""T1, T10: what a hostile provider sends fails a call by name, and is no crash."""

from __future__ import annotations

from typing import get_args

import pytest

from apps.engine import events as ev
from apps.llm.types import Protocol
from apps.runs.models import Run
from apps.runs.selectors import run_events
from tests.conftest import Site
from tests.factories import PriceFactory, WorkerFactory
from tests.runs.asking import Stage, planned
from tests.runs.clients import Said, ask_all, request
from tests.runs.test_faults import report

PROTOCOLS = get_args(Protocol)
NESTED = ("nested", "nested-texts", "nested-arguments")
STREAMED = tuple(f"stream-{name}" for name in (*NESTED, "long-text", "empty-data"))
WHOLE = tuple(f"body-{name}" for name in (*NESTED, "long-text", "brackets"))
UNUSABLE = ("long-text", "empty-data", "brackets")
"""Too much of something: another call would bring it again."""
TOOL = {"type": "function", "function": {"name": "go", "parameters": {}}}


def add_hostile(site: Site, name: str, protocol: str) -> int:
    """Add a hostile model to the default pool and return its number there."""
    pool = site.cast.team.pools.get(is_default=True)
    version = "v1beta" if protocol == "gemini" else "v1"
    worker = WorkerFactory.create(
        team=site.cast.team,
        name=f"{protocol}-{name}",
        model=f"hostile-{name}",
        protocol=protocol,
        base_url=site.simulator_url.removesuffix("v1") + version,
    )
    PriceFactory.create(worker=worker)
    number = pool.places.count()
    pool.places.create(team=site.cast.team, worker=worker, position=number)
    return int(number)


def faults_of(said: Said) -> set[str]:
    run = Run.objects.across_teams().get(id=said.run_id)
    events = [recorded.event for recorded in run_events(run)]
    faults = {str(e.fault) for e in events if isinstance(e, ev.StepAttemptFailed)}
    return faults - {"circuit_open"}  # after the others, if several asked at once


@pytest.mark.parametrize("names", [STREAMED, WHOLE], ids=["streamed", "whole"])
def test_hostile_worker_fails_by_name_when_it_is_asked_directly(
    stage: Stage, names: tuple[str, ...]
):
    questions = []
    for name in names:
        for protocol in PROTOCOLS:
            add_hostile(stage.site, name, protocol)
            model = f"worker/{protocol}-{name}"
            asked = request(model, "Go.", is_streamed=names is STREAMED)
            questions.append((model, name, {**asked, "tools": [TOOL]}))
    answers = ask_all(stage.site, questions)
    assert report(answers) == {}
    for said in answers:
        is_unusable = said.fault.partition("-")[2] in UNUSABLE
        fault = "unusable_response" if is_unusable else "bad_response"
        assert faults_of(said) == {fault}, said.name
    codes = {said.error["code"] for said in answers if said.error}
    assert codes <= {"worker_failed", "stream_interrupted"}


@pytest.mark.parametrize("is_streamed", [True, False])
def test_next_worker_answers_where_a_hostile_one_failed(
    stage: Stage, is_streamed: bool
):
    part = "stream" if is_streamed else "body"
    questions = []
    for name in NESTED:
        for protocol in PROTOCOLS:
            number = add_hostile(stage.site, f"{part}-{name}", protocol)
            plan = planned([number, 1]) + f" {protocol} {name}"
            asked = request("conductor-ultra", plan, is_streamed=is_streamed)
            questions.append((f"{protocol} {name}", name, asked))
    answers = ask_all(stage.site, questions)
    assert report(answers) == {}
    assert [said.error for said in answers] == [None] * len(questions)
    assert {said.name: faults_of(said) for said in answers} == {
        name: {"bad_response"} for name, _, _ in questions
    }


@pytest.fixture
def terse(settings) -> None:
    """Allow ten characters; for the site that starts after it."""
    settings.MAX_ANSWER_CHARACTERS = 10


def test_what_one_call_may_bring_is_set_by_the_operator(terse: None, stage: Stage):
    said = "[[say more than ten characters]]"
    stage.site.add_worker("scripted")
    questions = [
        (str(streams), "", request("worker/scripted", said, is_streamed=streams))
        for streams in (True, False)
    ]
    answers = ask_all(stage.site, questions)
    assert [faults_of(answer) for answer in answers] == [{"unusable_response"}] * 2
