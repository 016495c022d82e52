"""A trainer that dies with each iteration, but the last one, and goes on each time."""

import os
import sys
from pathlib import Path

from apps.training.conductor import testing
from apps.training.conductor.protocol import TrainerProgress

keep = testing.ScriptedTrainer._keep


def keep_and_die(self: testing.ScriptedTrainer, stage, step: int) -> None:
    keep(self, stage, step)
    testing.say(TrainerProgress(stage, step, self._steps(stage), {}))
    if step < self._steps(stage):
        os._exit(9)


testing.ScriptedTrainer._keep = keep_and_die  # type: ignore[method-assign]
if Path(sys.argv[1]).is_dir():
    testing.main()
