"""Logs of Inspect: their structure, and what Inspect itself reads in them."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from apps.audit.selectors import entry_list
from apps.audit.services import content_erase
from apps.core.errors import NotFound
from apps.evaluation.models import EvaluationOutcome
from apps.evaluation.reports.inspect_log import inspect_log
from apps.evaluation.reports.report import report_make
from apps.evaluation.selectors import results_of
from tests.conftest import Site
from tests.evaluation.made_up import made_up_evaluation
from tests.evaluation.samples import command, newest, suite
from tests.factories import ACTOR
from tests.gateway.conformance.environments import ROOT

INSPECT = ROOT / ".venv-client-inspect-ai"
READ = """
import json, sys
from inspect_ai.log import read_eval_log
log = read_eval_log(sys.argv[1])
head = read_eval_log(sys.argv[1], header_only=True)
score = log.results.scores[0]
print(json.dumps({
    "status": log.status,
    "task": log.eval.task,
    "accuracy": score.metrics["accuracy"].value,
    "head_accuracy": head.results.scores[0].metrics["accuracy"].value,
    "total": log.results.total_samples,
    "completed": log.results.completed_samples,
    "right": sum(s.scores["verifier"].value == "C" for s in log.samples),
    "errors": sum(s.error is not None for s in log.samples),
    "tokens": sum(u.total_tokens for u in log.stats.model_usage.values()),
    "sample_tokens": sum(
        u.total_tokens for s in log.samples for u in s.model_usage.values()
    ),
    "answers": {s.id: s.output.completion for s in log.samples},
    "runs": {s.id: s.metadata["run_id"] for s in log.samples},
}))
"""


def log_of(evaluation: Any, place: int = 0) -> dict[str, Any]:
    pieces = inspect_log(report_make(evaluation), place)
    return dict(json.loads(b"".join(pieces)))


def test_a_log_has_the_counts_of_the_report(cast):
    log = log_of(made_up_evaluation(cast.team))
    assert (log["version"], log["status"]) == (2, "success")
    assert log["eval"]["model"] == "conductor/default/conductor (ultra)"
    assert log["results"]["total_samples"] == 10
    assert log["results"]["completed_samples"] == 9
    metrics = log["results"]["scores"][0]["metrics"]
    assert metrics["accuracy"] == {"name": "accuracy", "value": 0.6}
    values = [sample["scores"]["verifier"]["value"] for sample in log["samples"]]
    assert values == list("CCCCICICII")
    errors = [sample["error"] for sample in log["samples"]]
    assert [bool(error) for error in errors].index(True) == 6
    assert errors[6]["message"] == "worker_failed"


def test_usage_of_samples_adds_up(cast):
    log = log_of(made_up_evaluation(cast.team))
    tokens = {"input_tokens": 50, "output_tokens": 50, "total_tokens": 100}
    sample = log["samples"][0]
    assert sample["model_usage"] == {"sim-delta": tokens, "sim-birch": tokens}
    assert sample["output"]["usage"]["total_tokens"] == 200
    whole = {name: 10 * count for name, count in tokens.items()}
    assert log["stats"]["model_usage"] == {"sim-delta": whole, "sim-birch": whole}


def test_targets_are_the_right_answers(cast):
    log = log_of(made_up_evaluation(cast.team))
    assert [sample["target"] for sample in log["samples"]][:1] == ["77"]
    assert log["samples"][6]["target"] == "Paris"
    assert log["samples"][6]["input"] == "What is the capital of France?"


def test_states_have_their_own_words(cast):
    evaluation = made_up_evaluation(cast.team)
    evaluation.outcome, evaluation.error = EvaluationOutcome.BUDGET, "too dear"
    log = log_of(evaluation)
    assert (log["status"], log["error"]["message"]) == ("error", "too dear")
    evaluation.outcome = EvaluationOutcome.CANCELLED
    log = log_of(evaluation)
    assert log["status"] == "cancelled"
    assert "error" not in log


def test_there_is_no_log_of_a_system_that_is_not_there(cast):
    with pytest.raises(NotFound):
        inspect_log(report_make(made_up_evaluation(cast.team)), 3)


@pytest.fixture
def evaluated(site: Site, tmp_path) -> tuple[Any, Any]:
    suite(site.cast.team)
    file = tmp_path / "log.json"
    command(
        "evaluate",
        "basics",
        "--team=orchestra",
        "--system=conductor:ultra",
        f"--inspect={file}",
    )
    return newest(site.cast.team), file


def test_answers_are_those_of_the_runs_or_said_to_be_erased(evaluated):
    evaluation, file = evaluated
    before = json.loads(file.read_bytes())["samples"]
    assert all(sample["output"]["completion"] for sample in before)
    capital = next(sample for sample in before if sample["target"] == "Paris")
    assert "Paris" in capital["messages"][1]["content"]
    run_id = results_of(evaluation).order_by("place")[0].run_id
    entries = entry_list(evaluation.team_id, subject_id=run_id)
    texts = [(entry.seq, name) for entry in entries for name in entry.bodies]
    content_erase(team_id=evaluation.team_id, places=texts, actor=ACTOR, reason="old")
    after = log_of(evaluation)["samples"]
    assert after[0]["output"]["error"] == "the answer has been erased"
    assert after[0]["output"]["choices"] == []
    assert after[0]["metadata"]["answer_is_erased"] is True
    assert after[1] == before[1]


@pytest.mark.skipif(
    not (INSPECT / ".installed").exists(), reason="make test-clients CLIENTS=inspect-ai"
)
def test_inspect_reads_our_counts(evaluated):
    evaluation, file = evaluated
    done = subprocess.run(
        [str(INSPECT / "bin/python"), "-c", READ, str(file)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    (system,) = report_make(evaluation).systems
    assert (found["status"], found["task"]) == ("success", "basics")
    assert found["accuracy"] == found["head_accuracy"] == system.right / system.ended
    assert (found["total"], found["right"]) == (10, system.right)
    assert (found["completed"], found["errors"]) == (10, 0)
    assert found["tokens"] == found["sample_tokens"] == system.tokens
    runs = results_of(evaluation).values_list("task__key", "run_id")
    assert found["runs"] == {key: str(run_id) for key, run_id in runs}
    assert all(found["answers"].values())
