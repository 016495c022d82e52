"""`python -m apps.training.fitting`: fits a light planner on what standard input holds.

Reads JSON as `fit_job` writes it, and writes JSON as `fit_result` reads it. It knows
neither Django nor a database, so nothing but its own memory is at stake.
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from apps.planners.light.logged_runs import LoggedRun, LoggedStep, StepRole

if TYPE_CHECKING:  # needs scikit-learn, and whether it is there is said in words
    from apps.training.fitting.gathering import PromptEmbedding


def main() -> None:
    """Fit, and say what came of it."""
    job = json.load(sys.stdin)
    try:
        from apps.training.fitting.curve import fitted_with_curve
    except ImportError as exc:
        name = "scikit-learn" if exc.name == "sklearn" else exc.name
        missing = {
            "problem": f"{name} is not installed here: install "
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
        embedding = _embedding(job["embedding"])
        fitted, curve = fit(
            runs, job["workers"], job["seed"], embedding, job["fingerprints"]
        )
    except TooFewRuns as exc:
        return {"problem": str(exc)}
    return {
        "model": base64.b64encode(fitted.model.to_bytes()).decode(),
        "runs": fitted.runs,
        "graded_steps": fitted.graded_steps,
        "kinds": len(fitted.model.kinds),
        "curve": curve,
    }


def _embedding(given: Mapping[str, Any] | None) -> PromptEmbedding | None:
    """Return the vectors that were sent; those of no direction are left out."""
    from apps.planners.light.prompt_features import unit_vector
    from apps.training.fitting.gathering import PromptEmbedding

    if given is None:
        return None
    made = {
        prompt: unit_vector(base64.b64decode(vector), given["width"])
        for prompt, vector in given["vectors"]
    }
    vectors = {prompt: row for prompt, row in made.items() if row is not None}
    return PromptEmbedding(given["worker"], given["model"], vectors)


def _run(values: Sequence[Any]) -> LoggedRun:
    prompt, weight, family, steps = values
    return LoggedRun(
        prompt,
        tuple(
            LoggedStep(worker, StepRole(role), tuple(access), *rest)
            for worker, role, access, *rest in steps
        ),
        weight,
        family,
    )


if __name__ == "__main__":
    main()
