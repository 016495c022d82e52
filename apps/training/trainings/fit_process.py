"""A fit in a process of its own: no process that serves pages loads scikit-learn."""

from __future__ import annotations

import base64
import json
import os
import subprocess  # nosec B404
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from tempfile import TemporaryFile
from typing import IO, Any

from django.conf import settings

from apps.core.errors import ConductorError
from apps.planners.light.fingerprints import NOT_KNOWN
from apps.planners.light.logged_runs import LoggedRun
from apps.training.trainings.embedding import PromptVectors

COMMAND = [sys.executable, "-m", "apps.training.fitting"]
PACKAGE = "sklearn"


class FitFailed(ConductorError):
    """There is no fit; the message says why."""

    code = "fit_failed"
    http_status = 409


@dataclass(frozen=True, slots=True)
class FitResult:
    """What a fit found."""

    stored: bytes
    """As `LightModel.to_bytes`."""
    runs: int
    graded_steps: int
    kinds: int
    curve: list[dict[str, Any]]


def require_fitting() -> None:
    """Raise FitFailed if this Python has nothing to fit with; nothing is imported."""
    if find_spec(PACKAGE) is None:
        raise FitFailed(
            "scikit-learn is not installed here: install requirements/learning.txt"
        )


class FitProcess:
    """A fit on its way."""

    def __init__(
        self, process: subprocess.Popen[bytes], said: IO[bytes], errors: IO[bytes]
    ) -> None:
        self._process, self._said, self._errors = process, said, errors

    def result(self) -> FitResult | None:
        """Return what it found; None: it is not done. Raises: FitFailed."""
        code = self._process.poll()
        if code is None:
            return None
        self._said.seek(0)
        try:
            said = json.loads(self._said.read())
        except ValueError as exc:
            raise FitFailed(f"the fit ended with {code}: {self._last_error()}") from exc
        if "problem" in said:
            raise FitFailed(said["problem"])
        return FitResult(
            base64.b64decode(said["model"]),
            said["runs"],
            said["graded_steps"],
            said["kinds"],
            said["curve"],
        )

    def _last_error(self) -> str:
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1][:200] if lines else "it said nothing"


@contextmanager
def fit_process(
    runs: Iterable[LoggedRun],
    workers: Sequence[str],
    seed: int,
    vectors: PromptVectors | None = None,
    fingerprints: Mapping[str, str] = NOT_KNOWN,
) -> Iterator[FitProcess]:
    """Start a fit; on leaving, it is ended if it has not ended itself.

    `vectors`: of the prompts; None: their n-grams are all that is known.
    `fingerprints`: of the models that the workers are to be known by.
    """
    job = {
        "runs": [_values(run) for run in runs],
        "workers": [*workers],
        "seed": seed,
        "embedding": None if vectors is None else _embedding(vectors),
        "fingerprints": dict(fingerprints),
    }
    # Files, not pipes: neither side ever waits for the other one to read. They have no
    # name, so nothing of prompts stays once they are closed.
    with TemporaryFile() as given, TemporaryFile() as said, TemporaryFile() as errors:
        given.write(json.dumps(job).encode())
        given.seek(0)
        with subprocess.Popen(  # nosec B603
            COMMAND,
            stdin=given,
            stdout=said,
            stderr=errors,
            cwd=settings.BASE_DIR,
            env={**_environment(), "OMP_NUM_THREADS": "1"},
        ) as process:
            try:
                yield FitProcess(process, said, errors)
            finally:
                process.kill()


def _environment() -> dict[str, str]:
    """Return what the process needs to find its packages; no secret of the site."""
    return {
        name: os.environ[name]
        for name in ("PATH", "PYTHONPATH", "HOME", "LANG", "VIRTUAL_ENV")
        if name in os.environ
    }


def _embedding(vectors: PromptVectors) -> dict[str, Any]:
    return {
        "worker": vectors.worker,
        "model": vectors.model,
        "width": vectors.width,
        "vectors": [
            (prompt, base64.b64encode(vector).decode())
            for prompt, vector in vectors.by_prompt.items()
        ],
    }


def _values(run: LoggedRun) -> list[Any]:
    steps = [
        [
            step.worker,
            step.role,
            step.access,
            step.grade,
            step.input_tokens,
            step.output_tokens,
            step.fingerprint,
        ]
        for step in run.steps
    ]
    return [run.prompt, run.weight, run.family, steps]
