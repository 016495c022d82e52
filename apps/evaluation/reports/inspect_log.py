"""Evaluations in the log format of Inspect: one log for each system, as JSON.

Source: inspect_ai.log.EvalLog, version 2 of the format. A log is written piece by
piece, so that none is in memory as a whole. A run without an answer has an error and a
score that is not right, as in our reports. An answer that has been erased is left out,
and its sample says so.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from math import sqrt
from typing import Any
from uuid import UUID

import orjson
from django.utils import translation

from apps.audit.models import JobState
from apps.audit.selectors import entries_by_subject
from apps.audit.types import EntryView
from apps.core.errors import NotFound
from apps.engine import events as ev
from apps.evaluation.models import (
    GRADED,
    EvaluationOutcome,
    EvaluationResult,
    ResultState,
)
from apps.evaluation.reports.report import Report
from apps.evaluation.selectors import results_of
from apps.evaluation.suites.storage import task_read
from apps.evaluation.verifiers.kinds import Verifier
from apps.evaluation.verifiers.words import right_answers, verifier_words
from apps.runs.models import Run, Step

FORMAT_VERSION = 2
SCORER = "verifier"
CONDUCTOR = "conductor"
"""Stands for the model that plans, where usage is given by model."""
RUNS_AT_ONCE = 50
RUNS_SUMMED_AT_ONCE = 2_000
Tokens = Mapping[str, int]
"""Of one model: input, output and total, as Inspect names them."""
STATUS = {
    EvaluationOutcome.COMPLETED: "success",
    EvaluationOutcome.CANCELLED: "cancelled",
    EvaluationOutcome.BUDGET: "error",
    EvaluationOutcome.FAILED: "error",
}
ERASED = "the answer has been erased"
ENDS = (ev.RunCompleted.action, ev.RunFailed.action)


def inspect_name(report: Report, place: int) -> str:
    """Return the name of a log's file."""
    return f"evaluation-{report.evaluation.id}-system-{place + 1}.json"


def inspect_log(report: Report, place: int) -> Iterator[bytes]:
    """Return the log of the system at `place`: its head, then a sample at a time.

    Raises: NotFound if there is no such system.
    """
    if place >= len(report.systems):
        raise NotFound(f"this evaluation has no system {place}", param="place")
    return _pieces(report, place)


def _pieces(report: Report, place: int) -> Iterator[bytes]:
    head = orjson.dumps(_head(report, place))
    yield head[:-1] + b',"samples":['
    mark = b""
    for sample in _samples(report, place):
        yield mark + orjson.dumps(sample)
        mark = b","
    yield b"]}"


def _head(report: Report, place: int) -> dict[str, Any]:
    evaluation, system = report.evaluation, report.systems[place]
    is_over = evaluation.state == JobState.DONE
    status = STATUS[EvaluationOutcome(evaluation.outcome)] if is_over else "started"
    # Inspect reads no null there.
    error = {"error": _error(evaluation.error)} if status == "error" else {}
    return {
        "version": FORMAT_VERSION,
        "status": status,
        "eval": _spec(report, place),
        "plan": {"name": system.label, "steps": [], "config": {}},
        "results": {
            "total_samples": report.tasks,
            "completed_samples": system.ended - system.failed,
            "scores": [_score(system.right, system.ended)],
        },
        "stats": {
            "started_at": _time(evaluation.started_at),
            "completed_at": _time(evaluation.finished_at),
            "model_usage": _whole_usage(report, place),
        },
        **error,
    }


def _spec(report: Report, place: int) -> dict[str, Any]:
    evaluation, version = report.evaluation, report.evaluation.version
    return {
        "eval_id": f"{evaluation.id}-{place}",
        "run_id": str(evaluation.id),
        "created": _time(evaluation.created_at),
        "task": version.suite.name,
        "task_id": str(version.suite_id),
        "task_version": version.number,
        "dataset": {"name": version.suite.name, "samples": report.tasks},
        "model": _model(report, place),
        "config": {},
        "scorers": [{"name": SCORER}],
        "metadata": {
            "suite_digest": version.digest,
            "is_simulated": evaluation.is_simulated,
            "pool": report.settings.pool,
            "seed": report.settings.seed,
            "split": report.settings.split,
            "system": report.settings.systems[place].model_dump(mode="json"),
        },
    }


def _model(report: Report, place: int) -> str:
    return f"conductor/{report.settings.pool}/{report.systems[place].label}"


def _score(right: int, ended: int) -> dict[str, Any]:
    accuracy = right / ended if ended else 0.0
    deviation = sqrt(accuracy * (1 - accuracy) / (ended - 1)) if ended > 1 else 0.0
    return {
        "name": SCORER,
        "scorer": SCORER,
        "scored_samples": ended,
        "unscored_samples": 0,
        "metrics": {
            "accuracy": {"name": "accuracy", "value": accuracy},
            "stderr": {"name": "stderr", "value": deviation},
        },
    }


def _samples(report: Report, place: int) -> Iterator[dict[str, Any]]:
    rows = results_of(report.evaluation).filter(system=place, state__in=GRADED)
    found = rows.select_related("task").order_by("place")
    results = found.iterator(chunk_size=RUNS_AT_ONCE)
    team_id, model = report.evaluation.team_id, _model(report, place)
    while some := list(islice(results, RUNS_AT_ONCE)):
        run_ids = [result.run_id for result in some]
        entries = entries_by_subject(team_id, run_ids, texts=("answer",))
        usage = _usage(team_id, run_ids)
        for result in some:
            answer = _answer(entries.get(result.run_id, ()))
            yield _sample(result, model, answer, usage[result.run_id])


def _usage(team_id: UUID, run_ids: Sequence[UUID]) -> dict[UUID, dict[str, Tokens]]:
    """Return the tokens of each model in each of some runs."""
    found: dict[UUID, dict[str, Tokens]] = defaultdict(dict)
    steps = Step.objects.for_team(team_id).filter(run_id__in=run_ids)
    for run_id, worker, given, made in steps.exclude(state="skipped").values_list(
        "run_id", "worker", "prompt_tokens", "completion_tokens"
    ):
        found[run_id][worker] = _tokens(found[run_id].get(worker), given, made)
    runs = Run.objects.for_team(team_id).filter(id__in=run_ids)
    planned = runs.filter(orchestration_prompt_tokens__gt=0)
    for run_id, given, made in planned.values_list(
        "id", "orchestration_prompt_tokens", "orchestration_completion_tokens"
    ):
        found[run_id][CONDUCTOR] = _tokens(None, given, made)
    return found


def _whole_usage(report: Report, place: int) -> dict[str, Tokens]:
    """Return the tokens of each model in all runs of a system that have ended."""
    rows = results_of(report.evaluation).filter(system=place, state__in=GRADED)
    ids = rows.order_by("place").values_list("run_id", flat=True).iterator()
    found: dict[str, Tokens] = {}
    while some := list(islice(ids, RUNS_SUMMED_AT_ONCE)):
        for usage in _usage(report.evaluation.team_id, some).values():
            for model, each in usage.items():
                given, made = each["input_tokens"], each["output_tokens"]
                found[model] = _tokens(found.get(model), given, made)
    return found


def _tokens(before: Tokens | None, given: int, made: int) -> Tokens:
    if before is not None:
        given, made = given + before["input_tokens"], made + before["output_tokens"]
    return {"input_tokens": given, "output_tokens": made, "total_tokens": given + made}


def _answer(entries: Sequence[EntryView]) -> tuple[str, bool]:
    """Return the answer of a run, and whether it has been erased."""
    for entry in entries:
        if entry.action in ENDS and "answer" in entry.bodies:
            answer = entry.bodies["answer"]
            return answer or "", answer is None
    return "", False


def _sample(
    result: EvaluationResult,
    model: str,
    found: tuple[str, bool],
    usage: Mapping[str, Tokens],
) -> dict[str, Any]:
    task, (answer, is_erased) = task_read(result.task), found
    targets = right_answers(task.verifier)
    said = [_message("assistant", answer)] if answer else []
    is_failed = result.state == ResultState.FAILED
    return {
        "id": task.id,
        "epoch": 1,
        "uuid": str(result.run_id),
        "input": task.prompt,
        "target": targets[0] if len(targets) == 1 else targets,
        "messages": [_message("user", task.prompt), *said],
        "output": {
            "model": model,
            "choices": [
                {"message": message, "stop_reason": "stop"} for message in said
            ],
            "completion": answer,
            "usage": _tokens(
                None,
                sum(each["input_tokens"] for each in usage.values()),
                sum(each["output_tokens"] for each in usage.values()),
            ),
            "time": result.latency_ms / 1_000,
            "error": ERASED if is_erased else None,
        },
        "scores": {
            SCORER: {
                "value": "C" if result.state == ResultState.RIGHT else "I",
                "explanation": result.cause or _explained(task.verifier),
            }
        },
        "metadata": {
            "run_id": str(result.run_id),
            "grading_run_id": result.grading_run_id and str(result.grading_run_id),
            "family": task.family,
            "verifier": task.verifier.kind,
            "cost_micros": result.cost_micros,
            "has_unknown_cost": result.has_unknown_cost,
            "steps": result.steps,
            "is_unplanned": result.is_unplanned,
            "rejected_plans": result.rejected_plans,
            "answer_is_erased": is_erased,
        },
        "model_usage": usage,
        "total_time": result.latency_ms / 1_000,
        "error": _error(result.cause) if is_failed else None,
    }


def _message(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


def _error(message: str) -> dict[str, str]:
    return {"message": message, "traceback": "", "traceback_ansi": ""}


def _time(moment: Any) -> str:
    return moment.isoformat() if moment else ""


def _explained(verifier: Verifier) -> str:
    """Return which answer is right, in English: a log is no page."""
    with translation.override("en"):
        return verifier_words(verifier)
