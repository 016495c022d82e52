"""`python -m apps.training.fitting`: fits a light planner on what standard input holds.

Reads JSON as `fit_job` writes it, and writes JSON as `fit_result` reads it. It knows
neither Django nor a database, so nothing but its own memory is at stake.
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from apps.planners.light.logged_runs import LoggedRun, LoggedStep, StepRole


def main() -> None:
    """Fit, and say what came of it."""
    job = json.load(sys.stdin)
    try:
        from apps.training.fitting.curve import fitted_with_curve
    except ImportError as exc:
        missing = {
            "problem": f"{exc.name} is not installed here: install "
            "requirements/learning.txt"
        }
        json.dump(missing, sys.stdout)
        return
    runs = [_run(values) for values in job["runs"]]
    json.dump(_said(runs, job, fitted_with_curve), sys.stdout)


def _said(
    runs: Sequence[LoggedRun], job: Mapping[str, Any], fit: Any
) -> dict[str, Any]:
    from apps.training.fitting.light import TooFewRuns

    try:
        fitted, curve = fit(runs, job["workers"], job["seed"])
    except TooFewRuns as exc:
        return {"problem": str(exc)}
    return {
        "model": base64.b64encode(fitted.model.to_bytes()).decode(),
        "runs": fitted.runs,
        "graded_steps": fitted.graded_steps,
        "kinds": len(fitted.model.kinds),
        "curve": curve,
    }


def _run(values: Sequence[Any]) -> LoggedRun:
    prompt, weight, steps = values
    return LoggedRun(
        prompt,
        tuple(
            LoggedStep(worker, StepRole(role), tuple(access), grade, read, written)
            for worker, role, access, grade, read, written in steps
        ),
        weight,
    )


if __name__ == "__main__":
    main()
