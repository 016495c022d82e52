"""A trainer that collapses while it learns to plan once more."""

import sys
from pathlib import Path

from apps.training.conductor import testing
from apps.training.conductor.protocol import Ended, Ending
from apps.training.conductor.training_folder import FITTED, RECURSION

run = testing.ScriptedTrainer.run


def run_or_collapse(self: testing.ScriptedTrainer) -> Ended:
    if self._folder.name == RECURSION:
        return Ended(Ending.COLLAPSED, "It lost its variety.", FITTED)
    return run(self)


testing.ScriptedTrainer.run = run_or_collapse  # type: ignore[method-assign]
if Path(sys.argv[1]).is_dir():
    testing.main()
