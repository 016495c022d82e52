"""Trains the conductor that a folder describes, and tells the site how it goes.

    python -m apps.training.trainer FOLDER

In the environment of requirements/gpu-train.txt, not in the site's own. Killed and
started again, it goes on from its last checkpoint. Exit code 1: it failed.
"""

from __future__ import annotations

import argparse
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from apps.training.conductor.packages import INSTALL, needed_packages
from apps.training.conductor.protocol import Ended, Ending, ProtocolError
from apps.training.conductor.training_folder import JobError, read_job
from apps.training.trainer.speech import Speech, StopAskedError, standard_speech

LOCK = "lock"
ENVIRONMENT = {
    "TRANSFORMERS_VERBOSITY": "error",
    "TRL_VERBOSITY": "error",  # its warnings quote prompts
    "TOKENIZERS_PARALLELISM": "false",
    "CUDA_VISIBLE_DEVICES": "0",  # one process, one GPU
}


def main() -> int:
    """Train, and say how it ended. Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    speech = standard_speech()
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    try:
        ended = _trained(folder, speech)
    except (JobError, ProtocolError) as error:
        ended = Ended(Ending.FAILED, str(error))
    except StopAskedError:
        ended = Ended(Ending.STOPPED, "The site is gone.")
    return _say_ended(ended, speech)


def _say_ended(ended: Ended, speech: Speech) -> int:
    try:
        speech.say(ended)
    except StopAskedError:
        return 1  # nothing reads it
    return int(ended.why is Ending.FAILED)


def _trained(folder: Path, speech: Speech) -> Ended:
    job = read_job(folder)
    with _locked(folder):
        missing = [name for name in needed_packages(job) if find_spec(name) is None]
        if missing:
            raise JobError(f"This Python lacks {', '.join(missing)}. {INSTALL}")
        # Not before it is known that torch is there.
        from apps.training.trainer.stages import train

        return train(folder, job, speech)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the folder, so that no second trainer works in it."""
    with (folder / LOCK).open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise JobError("another trainer works in this folder") from error
        yield


if __name__ == "__main__":
    raise SystemExit(main())
