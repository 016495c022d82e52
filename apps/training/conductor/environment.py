"""The environment in which conductors are trained: is it there, and what it lacks.

It is another one than the site's: no process of the site loads what trains.
"""

from __future__ import annotations

import os
import subprocess  # nosec B404

from django.conf import settings

from apps.core.errors import Conflict
from apps.training.conductor.packages import INSTALL, needed_packages
from apps.training.conductor.training_folder import TrainingJob

TRAINER = "apps.training.trainer"
LOOK = (
    "import importlib.util, sys;"
    "print(*(n for n in sys.argv[1:] if importlib.util.find_spec(n) is None))"
)
LOOK_TIME_S = 20
PASSED_ON = (
    "PATH",
    "PYTHONPATH",
    "HOME",
    "LANG",
    "LD_LIBRARY_PATH",
    "CUDA_HOME",
    "CUDA_VISIBLE_DEVICES",
    "HF_HOME",
    "HF_HUB_OFFLINE",
    "OMP_NUM_THREADS",
    "TMPDIR",
)


class NoTrainingEnvironment(Conflict):
    """Conductors can't be trained here; the message says what to install."""

    code = "no_training_environment"


def require_environment(job: TrainingJob) -> None:
    """Raise NoTrainingEnvironment if a job can't be done here. Blocks for a moment."""
    python: str = settings.CONDUCTOR_TRAINING_PYTHON
    if not python:
        raise NoTrainingEnvironment(f"CONDUCTOR_TRAINING_PYTHON is not set. {INSTALL}")
    if missing := _missing(python, job):
        raise NoTrainingEnvironment(
            f"CONDUCTOR_TRAINING_PYTHON={python!r} lacks {', '.join(missing)}. "
            f"{INSTALL}"
        )


def training_environment() -> dict[str, str]:
    """Return the variables that the trainer gets: none with a secret of the site."""
    return {name: os.environ[name] for name in PASSED_ON if name in os.environ}


def _missing(python: str, job: TrainingJob) -> list[str]:
    if settings.CONDUCTOR_TRAINER != TRAINER:
        return []  # another trainer says itself what it lacks
    try:
        found = subprocess.run(  # nosec B603
            [python, "-c", LOOK, *needed_packages(job)],
            env=training_environment(),
            capture_output=True,
            timeout=LOOK_TIME_S,
            check=True,
            text=True,
        )
    except (OSError, subprocess.SubprocessError) as exc:
        raise NoTrainingEnvironment(
            f"CONDUCTOR_TRAINING_PYTHON={python!r} cannot be run. {INSTALL}"
        ) from exc
    return found.stdout.split()
