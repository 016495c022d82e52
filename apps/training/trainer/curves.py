"""Writes what a training says of its steps for TensorBoard."""

from __future__ import annotations

from pathlib import Path

from torch.utils.tensorboard import SummaryWriter

from apps.training.conductor.protocol import TrainerProgress


class Curves:
    """One curve for each figure of each stage."""

    def __init__(self, folder: Path) -> None:
        self._writer = SummaryWriter(str(folder))

    def add(self, progress: TrainerProgress) -> None:
        """Add a step."""
        for name, value in progress.figures.items():
            self._writer.add_scalar(f"{progress.stage}/{name}", value, progress.step)

    def close(self) -> None:
        """Write what is left."""
        self._writer.close()
