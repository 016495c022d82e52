"""Evaluations of code tasks: refused without a sandbox, graded beside other work."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.test import Client

from apps.core.errors import InvalidInput
from apps.evaluation import services
from apps.evaluation.code_grading import CodeGrades, GradingStopped
from apps.evaluation.models import EvaluationOutcome, StoredTask
from apps.evaluation.selectors import evaluation_list, results_of
from apps.evaluation.services import evaluation_cancel
from apps.evaluation.verifiers.grade import RIGHT
from apps.evaluation.verifiers.unit_tests import UnitTestsVerifier
from apps.sandbox.availability import sandbox_problem
from apps.sandbox.types import SandboxUnavailable
from tests.conftest import Site
from tests.evaluation.test_driver import ended, start
from tests.factories import ACTOR
from tests.patience import eventually

needs_sandbox = pytest.mark.skipif(
    sandbox_problem() is not None, reason=f"no sandboxes here: {sandbox_problem()}"
)
SCRIPTED = {"kind": "worker", "worker": "scripted"}
SLOW = "import time; time.sleep(1); print(7)"


def tasks(*programs: str) -> list[dict[str, Any]]:
    """Return tasks whose answers are these programs; right ones print 7."""
    return [
        {
            "id": str(number),
            "prompt": f"[[say ```python\n{code}\n```]]",
            "verifier": {
                "kind": "unit_tests",
                "cases": [{"output": "7"}],
                "time_s": 1,
                "memory_mb": 128,
            },
        }
        for number, code in enumerate(programs)
    ]


def evaluated(site: Site, *programs: str, **values: object):
    site.add_worker("scripted")
    return start(site, SCRIPTED, tasks=tasks(*programs), **values)


@needs_sandbox
def test_answers_are_right_if_they_pass(site):
    programs = ("print(7)", "print(8)", "import os; os._exit(0)", "print(3 + 4)")
    evaluation = ended(evaluated(site, *programs))
    assert evaluation.outcome == EvaluationOutcome.COMPLETED
    results = results_of(evaluation).order_by("place")
    assert [each.state for each in results] == ["right", "wrong", "wrong", "right"]
    assert results[1].cause == "failed: another output, case 1 of 1"
    assert all(each.cost_micros for each in results)


@needs_sandbox
def test_a_cancelled_one_does_not_wait_for_its_grades(site):
    evaluation = evaluated(site, SLOW, SLOW, SLOW, SLOW)
    rows = evaluation_list(evaluation.team_id).filter(id=evaluation.id)
    assert eventually(lambda: results_of(rows.get()).filter(state="started").exists())
    evaluation_cancel(evaluation=rows.get(), actor=ACTOR)
    stopped = ended(evaluation)
    assert stopped.outcome == EvaluationOutcome.CANCELLED
    assert not results_of(stopped).filter(state="started").exists()


def test_without_a_sandbox_none_is_started(site, monkeypatch):
    why = "sysctl user.max_user_namespaces is 0"
    monkeypatch.setattr(services, "sandbox_problem", lambda: why)
    with pytest.raises(InvalidInput, match=f"cannot do so safely: {why}"):
        evaluated(site, "print(7)")
    client = Client()
    client.force_login(site.cast.alice)
    pool = site.cast.team.pools.get(is_default=True).name
    wanted = {"suite": "basics", "pool": pool, "systems": ["workers"], "seed": "0"}
    more = {"worker": "scripted", "parallel_runs": "1"}
    answer = client.post("/evaluations/new/", {**wanted, **more})
    assert answer.status_code == 400
    assert why in answer.content.decode()
    rows = StoredTask.objects.for_team(site.cast.team.id)
    assert rows.get().needs_sandbox
    start(site, SCRIPTED)  # a suite without code


def test_a_machine_without_a_sandbox_ends_what_it_took(site, monkeypatch):
    answers = iter([None])
    monkeypatch.setattr(services, "sandbox_problem", lambda: next(answers, "none here"))
    evaluation = ended(evaluated(site, "print(7)"))
    assert evaluation.outcome == EvaluationOutcome.FAILED
    assert evaluation.error.endswith("none here")


def test_grades_are_made_beside_and_can_be_given_up(monkeypatch):
    verifier = UnitTestsVerifier.model_validate(tasks("")[0]["verifier"])
    grades = CodeGrades()
    monkeypatch.setattr(UnitTestsVerifier, "grade", lambda *_: RIGHT)
    assert grades.take(1, verifier, [""]) is None
    assert eventually(lambda: not grades.is_running(1))
    assert grades.take(1, verifier, [""]) == [RIGHT]

    def unavailable(*_: object) -> None:
        raise SandboxUnavailable("none here")

    monkeypatch.setattr(UnitTestsVerifier, "grade", unavailable)
    grades.take(2, verifier, [""])
    assert eventually(lambda: not grades.is_running(2))
    with pytest.raises(SandboxUnavailable):
        grades.take(2, verifier, [""])
    never = threading.Event()
    monkeypatch.setattr(UnitTestsVerifier, "grade", lambda *_: never.wait())
    grades.take(3, verifier, [""])
    grades.stop(3)
    with pytest.raises(GradingStopped):
        grades.take(3, verifier, [""])
    never.set()
