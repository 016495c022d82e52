"""A trainer that keeps what it sent and heard beside its weights."""

import json
import sys
from pathlib import Path

from apps.training.conductor import testing
from apps.training.conductor.protocol import (
    Ended,
    Rewards,
    Rollouts,
    TrainerMessage,
)
from apps.training.conductor.training_folder import MODEL, read_tasks

sent: list[Rollouts] = []
say = testing.say
run = testing.ScriptedTrainer.run


class Noted:
    """Lets the trainer hear, and keeps each reward with its plan."""

    def __init__(self, trainer: testing.ScriptedTrainer) -> None:
        self.rows: list[dict[str, object]] = []
        self._prompts = {t.task: t.prompt for t in read_tasks(trainer._folder)}
        self._heard, self._get = trainer._heard, trainer._heard.get

    def get(self, block: bool = True) -> object:
        """Return what was heard next."""
        heard = self._get(block)
        if isinstance(heard, Rewards):
            for plan, reward in zip(sent[-1].plans, heard.rewards, strict=True):
                prompt = self._prompts[plan.task]
                row = {"task": plan.task, "prompt": prompt, "text": plan.text}
                self.rows.append({**row, "id": heard.id, "reward": reward})
        return heard


def say_and_note(message: TrainerMessage) -> None:
    if isinstance(message, Rollouts):
        sent.append(message)
    say(message)


def run_and_note(self: testing.ScriptedTrainer) -> Ended:
    noted = Noted(self)
    self._heard.get = noted.get  # type: ignore[method-assign, assignment]
    ended = run(self)
    (self._folder / MODEL / "noted.json").write_text(json.dumps(noted.rows))
    return ended


testing.say = say_and_note
testing.ScriptedTrainer.run = run_and_note  # type: ignore[method-assign]
if Path(sys.argv[1]).is_dir():
    testing.main()
