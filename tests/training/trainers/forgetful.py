"""A trainer that fails while it learns to plan once more."""

import sys
from pathlib import Path

from apps.training.conductor import testing
from apps.training.conductor.protocol import Ended
from apps.training.conductor.training_folder import RECURSION

run = testing.ScriptedTrainer.run


def run_or_fail(self: testing.ScriptedTrainer) -> Ended:
    if self._folder.name == RECURSION:
        raise KeyError("Falcon")
    return run(self)


testing.ScriptedTrainer.run = run_or_fail  # type: ignore[method-assign]
if Path(sys.argv[1]).is_dir():
    testing.main()
