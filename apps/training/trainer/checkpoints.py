"""Keeps what a training needs to go on after it was killed.

A checkpoint is written beside its place and then moved, so that a killed process leaves
a whole one or none. The latest two are kept.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import torch

KEPT = 2
_NAME = re.compile(r"step-(\d{8})\.pt")


class Checkpoints:
    """The checkpoints of one stage of a training, in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def save(self, step: int, model: Any, optimizer: Any, schedule: Any) -> None:
        """Keep the state after `step` steps, of trained weights only."""
        state = {
            "step": step,
            "weights": {name: p.detach() for name, p in _trained(model).items()},
            "optimizer": optimizer.state_dict(),
            "schedule": schedule.state_dict(),
            "chance": torch.get_rng_state(),
        }
        path = self.folder / f"step-{step:08}.pt"
        half = path.with_suffix(".half")
        with half.open("wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())
        half.rename(path)
        for old in self._found()[:-KEPT]:
            old.unlink()

    def load(self, model: Any, optimizer: Any, schedule: Any) -> int:
        """Go back to the latest state; return its step, 0 if there is none."""
        found = self._found()
        if not found:
            return 0
        state = torch.load(found[-1], map_location=model.device, weights_only=True)
        trained = _trained(model)
        if trained.keys() != state["weights"].keys():
            raise ValueError(f"{found[-1].name} is a checkpoint of another model")
        with torch.no_grad():
            for name, weights in state["weights"].items():
                trained[name].copy_(weights)
        optimizer.load_state_dict(state["optimizer"])
        schedule.load_state_dict(state["schedule"])
        torch.set_rng_state(state["chance"].cpu())
        return int(state["step"])

    def _found(self) -> list[Path]:
        return sorted(p for p in self.folder.iterdir() if _NAME.fullmatch(p.name))


def _trained(model: Any) -> dict[str, Any]:
    return {name: p for name, p in model.named_parameters() if p.requires_grad}
