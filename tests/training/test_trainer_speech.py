"""How a trainer speaks with the site, and what it says where it cannot work."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TextIO

import pytest

from apps.training.conductor.protocol import (
    Ended,
    Ending,
    ProtocolError,
    Rewards,
    Rollouts,
    SampledPlan,
    SiteMessage,
    Stop,
    TrainerProgress,
    line_of,
    trainer_message,
)
from apps.training.conductor.training_folder import (
    GrpoJob,
    RolloutTask,
    TinyBase,
    TrainerStage,
    TrainingJob,
    write_folder,
)
from apps.training.trainer.collapse import Iteration, collapse_message
from apps.training.trainer.speech import Speech, StopAskedError

PLANS = Rollouts(7, (SampledPlan("a", "one"), SampledPlan("b", "two")))
REWARDS = Rewards(7, (0.5, None))
ROOT = Path(__file__).resolve().parents[2]


class Ends:
    """The site's ends of two pipes, and a trainer's speech between them."""

    def __init__(self) -> None:
        hears, self._says = os.pipe()
        self._heard, says = os.pipe()
        self.hears: TextIO = os.fdopen(self._heard)
        self.says: TextIO = os.fdopen(self._says, "w")
        self._writer = os.fdopen(says, "w")
        self.speech = Speech(os.fdopen(hears), self._writer)

    def close(self) -> None:
        self.says.close()  # the trainer closes what it reads when that ends
        with suppress(BrokenPipeError):
            self._writer.close()
        self.hears.close()

    def tell(self, message: SiteMessage) -> None:
        self.says.write(line_of(message))
        self.says.flush()


@pytest.fixture
def ends() -> Iterator[Ends]:
    both = Ends()
    yield both
    both.close()


def test_plans_go_out_and_their_rewards_come_back(ends: Ends) -> None:
    ends.tell(REWARDS)
    assert ends.speech.rewards(PLANS) == REWARDS.rewards
    assert trainer_message(ends.hears.readline()) == PLANS
    assert not ends.speech.should_stop


@pytest.mark.parametrize("answer", [Rewards(6, (0.5, 1.0)), Rewards(7, (0.5,))])
def test_rewards_of_other_plans_are_an_error(ends: Ends, answer: Rewards) -> None:
    ends.tell(answer)
    with pytest.raises(ProtocolError, match="expected 2 rewards"):
        ends.speech.rewards(PLANS)


def test_a_line_that_is_no_message_is_an_error_for_who_waits(ends: Ends) -> None:
    ends.says.write("what?\n")
    ends.says.flush()
    with pytest.raises(ProtocolError, match="what"):
        ends.speech.rewards(PLANS)


def test_stop_ends_the_waiting_for_rewards(ends: Ends) -> None:
    ends.tell(Stop())
    with pytest.raises(StopAskedError):
        ends.speech.rewards(PLANS)
    assert ends.speech.should_stop


def test_a_site_that_is_gone_wants_the_training_to_stop(ends: Ends) -> None:
    ends.says.close()
    ends.hears.close()
    with pytest.raises(StopAskedError):
        ends.speech.rewards(PLANS)
    with pytest.raises(StopAskedError):
        ends.speech.say(TrainerProgress(TrainerStage.SFT, 1, 2))
    assert ends.speech.should_stop


# --- where it cannot work ------------------------------------------------------------


def ended(folder: Path) -> tuple[Ended, int, str]:
    """Run a trainer in the environment of the site, which has no torch."""
    done = subprocess.run(
        [sys.executable, "-m", "apps.training.trainer", str(folder)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        capture_output=True,
        text=True,
        check=False,
    )
    (line,) = done.stdout.splitlines()
    message = trainer_message(line)
    assert isinstance(message, Ended)
    return message, done.returncode, done.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    job = TrainingJob(base=TinyBase(), stages=(TrainerStage.GRPO,))
    write_folder(tmp_path, job, tasks=[RolloutTask("a", "Which worker?")])
    return tmp_path


def test_without_its_packages_it_says_what_to_install(folder: Path) -> None:
    message, code, errors = ended(folder)
    assert (message.why, code) == (Ending.FAILED, 1)
    assert message.message.startswith("This Python lacks torch, transformers")
    assert "trl" in message.message
    assert "requirements/gpu-train.txt" in message.message
    assert "Traceback" not in errors


def test_a_wrong_job_is_named_and_no_traceback(folder: Path) -> None:
    (folder / "job.json").write_text(json.dumps({"base": "m", "method": "magic"}))
    message, code, errors = ended(folder)
    assert (message.why, code) == (Ending.FAILED, 1)
    assert "magic" in message.message
    assert "Traceback" not in errors


def test_two_trainers_never_work_in_one_folder(folder: Path) -> None:
    with (folder / "lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        message, _, _ = ended(folder)
    assert message.message == "another trainer works in this folder"


# --- collapse ------------------------------------------------------------------------


JOB = GrpoJob(patience=3, entropy_floor=0.01, reward_fall=0.1)


def seen(*rewards: float | None, entropy: float = 0.5) -> list[Iteration]:
    return [Iteration(reward, entropy) for reward in rewards]


def test_a_training_that_gets_better_or_holds_is_no_collapse() -> None:
    assert collapse_message(seen(0.5, 0.6, 0.5, 0.7, 0.8, 0.9), JOB) is None
    assert collapse_message(seen(0.5, 0.5, 0.5, 0.45, 0.45, 0.45), JOB) is None


def test_a_reward_below_that_of_the_start_is_a_collapse() -> None:
    found = collapse_message(seen(0.6, 0.7, 0.8, 0.9, 0.5, 0.5, 0.5), JOB)
    assert found == "The mean reward of 3 iterations fell from 0.700 to 0.500."


def test_one_bad_iteration_is_no_collapse() -> None:
    assert collapse_message(seen(0.7, 0.7, 0.7, 0.7, 0.7, 0.5), JOB) is None


def test_missing_rewards_are_not_counted_as_fallen() -> None:
    assert collapse_message(seen(0.7, 0.7, 0.7, 0.7, None, None), JOB) is None
    assert collapse_message(seen(None, None, None, None, None, None), JOB) is None


def test_too_little_entropy_for_some_iterations_is_a_collapse() -> None:
    low = seen(0.9, 0.9, 0.9, entropy=0.001)
    found = collapse_message(low, JOB)
    assert found is not None and found.startswith("The entropy was below 0.01 nats")
    assert collapse_message(low[:2], JOB) is None
    assert collapse_message([*low[:2], Iteration(0.9, 0.2)], JOB) is None
    never = GrpoJob(patience=3, entropy_floor=0.0)
    assert collapse_message(low, never) is None
