"""A real trainer in a process of its own, and a site that answers it by a script."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType

from apps.training.conductor.protocol import (
    Ended,
    Rewards,
    Rollouts,
    SampledPlan,
    SiteMessage,
    TrainerMessage,
    TrainerProgress,
    line_of,
    trainer_message,
)
from apps.training.conductor.training_folder import TrainerStage

ROOT = Path(__file__).resolve().parents[2]
Rewarder = Callable[[Sequence[SampledPlan]], Sequence[float | None]]


class TrainerProcess:
    """A trainer at work in a folder; ended when it is left."""

    def __init__(self, python: str, folder: Path) -> None:
        self._errors = folder / "stderr.txt"
        with self._errors.open("ab") as errors:
            self.process = subprocess.Popen(
                [python, "-m", "apps.training.trainer", str(folder)],
                cwd=ROOT,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )

    def __enter__(self) -> TrainerProcess:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()

    def kill(self) -> None:
        """End it with signal 9, if it is still there."""
        self.process.kill()
        self.process.communicate()

    def messages(self) -> Iterator[TrainerMessage]:
        """Yield what it says until it ends."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            yield trainer_message(line)

    def tell(self, message: SiteMessage) -> None:
        """Say something to it."""
        assert self.process.stdin is not None
        self.process.stdin.write(line_of(message))
        self.process.stdin.flush()

    def followed(self, rewarder: Rewarder) -> Iterator[TrainerMessage]:
        """Yield what it says, and reward its plans."""
        for message in self.messages():
            yield message
            if isinstance(message, Rollouts):
                self.tell(Rewards(message.id, tuple(rewarder(message.plans))))

    def errors(self) -> str:
        """Return what it wrote to stderr."""
        return self._errors.read_text()


def ran(python: str, folder: Path, rewarder: Rewarder) -> list[TrainerMessage]:
    """Return all that a trainer says from its start to its end."""
    with TrainerProcess(python, folder) as trainer:
        found = list(trainer.followed(rewarder))
        assert found, trainer.errors()[-3000:]
        assert isinstance(found[-1], Ended), trainer.errors()[-3000:]
    return found


def steps(
    found: Sequence[TrainerMessage], stage: TrainerStage
) -> list[TrainerProgress]:
    """Return the progress of one stage."""
    return [m for m in found if isinstance(m, TrainerProgress) and m.stage is stage]
