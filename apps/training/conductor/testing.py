"""A trainer without a model, for tests of everything around one.

It speaks the protocol of `apps.training.trainer`: its loss falls, its plans are those
of the examples with some replies that are no plan, and its weights are a small file,
after each stage.
Of a task without examples it keeps the answer, or asks one worker.
Killed, it goes on where it was, with the same plans. Named by
`settings.CONDUCTOR_TRAINER`; it needs no package.
"""

from __future__ import annotations

import json
import os
import queue
import random
import shutil
import sys
import threading
from pathlib import Path

from apps.training.conductor.protocol import (
    Ended,
    Ending,
    Rewards,
    Rollouts,
    SampledPlan,
    SiteMessage,
    Stop,
    TrainerMessage,
    TrainerProgress,
    line_of,
    site_message,
)
from apps.training.conductor.training_folder import (
    CHECKPOINTS,
    FITTED,
    MODEL,
    TrainerStage,
    read_examples,
    read_job,
    read_tasks,
)

NO_PLAN = "I would rather not say."
KEEP = "model_id = []\nsubtasks = []\naccess_list = []"
PLAN = 'model_id = [0]\nsubtasks = ["Answer the question."]\naccess_list = [[]]'
NO_PLAN_EVERY = 8
"""So often a reply is no plan."""
STATE = "state.json"


class ScriptedTrainer:
    """Does the stages of a job in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._job = folder, read_job(folder)
        self._replies = {e.task: e.completions for e in read_examples(folder)}
        self._tasks = [task.task for task in read_tasks(folder)]
        self._heard: queue.Queue[SiteMessage] = queue.Queue()
        threading.Thread(target=self._hear, daemon=True).start()

    def run(self) -> Ended:
        """Do what is left; return how it ended."""
        for stage in self._job.stages:
            steps = self._steps(stage)
            for step in range(self._done(stage) + 1, steps + 1):
                figures = (
                    self._fit(step) if stage is TrainerStage.SFT else self._sample(step)
                )
                if figures is None or self._is_stopped():
                    return Ended(Ending.STOPPED, "it was told to stop", self._model())
                self._keep(stage, step)
                say(TrainerProgress(stage, step, steps, figures))
            if stage is not self._job.stages[-1]:
                self._model(FITTED)
        return Ended(Ending.COMPLETED, "", self._model())

    def _steps(self, stage: TrainerStage) -> int:
        job = self._job
        return job.sft.steps if stage is TrainerStage.SFT else job.grpo.iterations

    def _fit(self, step: int) -> dict[str, float]:
        return {"loss": 2.0 / step, "tokens": 100.0 * self._job.sft.batch}

    def _sample(self, step: int) -> dict[str, float] | None:
        """Ask what some plans are worth; None: it was told to stop."""
        chance = random.Random(f"{self._job.seed} {step}")  # nosec B311
        grpo = self._job.grpo
        plans = []
        for task in self._drawn(step, chance):
            for number in range(grpo.group):
                is_plan = (number + 1) % NO_PLAN_EVERY
                replies = self._replies.get(task, (KEEP, PLAN))
                text = chance.choice(replies) if is_plan else NO_PLAN
                plans.append(SampledPlan(task, text))
        say(Rollouts(step, tuple(plans)))
        heard = self._heard.get()
        if not isinstance(heard, Rewards):
            return None
        known = [reward for reward in heard.rewards if reward is not None]
        return {
            "reward": sum(known) / max(1, len(known)),
            "entropy": 1.0 / step,
            "length": 40.0,
            "missing": 1 - len(known) / len(plans),
        }

    def _drawn(self, step: int, chance: random.Random) -> list[str]:
        grpo, tasks = self._job.grpo, self._tasks
        if not grpo.is_in_order:
            return chance.sample(tasks, min(grpo.questions, len(tasks)))
        first = (step - 1) * grpo.questions
        return [tasks[(first + n) % len(tasks)] for n in range(grpo.questions)]

    def _is_stopped(self) -> bool:
        try:
            return isinstance(self._heard.get_nowait(), Stop)
        except queue.Empty:
            return False

    def _done(self, stage: TrainerStage) -> int:
        path = self._folder / CHECKPOINTS / STATE
        if not path.exists():
            return 0
        return int(json.loads(path.read_text()).get(stage.value, 0))

    def _keep(self, stage: TrainerStage, step: int) -> None:
        folder = self._folder / CHECKPOINTS
        folder.mkdir(exist_ok=True)
        done = {each.value: self._done(each) for each in TrainerStage}
        fresh = folder / f"{STATE}.new"
        fresh.write_text(json.dumps({**done, stage.value: step}))
        fresh.replace(folder / STATE)

    def _model(self, name: str = MODEL) -> str:
        """Write weights: whole, or none if this is interrupted."""
        folder, half = self._folder / name, self._folder / f"{name}.half"
        half.mkdir(exist_ok=True)
        done = {each.value: self._done(each) for each in TrainerStage}
        (half / "config.json").write_text(json.dumps(done))
        shutil.rmtree(folder, ignore_errors=True)
        half.rename(folder)
        return name

    def _hear(self) -> None:
        for line in sys.stdin:
            self._heard.put(site_message(line))
        os._exit(1)  # the site is gone: another trainer will go on


def say(message: TrainerMessage) -> None:
    """Write a line to the site."""
    sys.stdout.write(line_of(message))
    sys.stdout.flush()


def main() -> None:
    """Train in the folder that the first argument names."""
    say(ScriptedTrainer(Path(sys.argv[1])).run())


if __name__ == "__main__":
    main()
