"""A tiny conductor is fitted and reinforced by the real trainer, whatever happens."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from apps.training.conductor.protocol import (
    Ended,
    Ending,
    Rewards,
    Rollouts,
    SampledPlan,
    Stop,
    TrainerMessage,
    TrainerProgress,
)
from apps.training.conductor.training_folder import (
    BASE,
    CHECKPOINTS,
    FITTED,
    MODEL,
    TENSORBOARD,
    GrpoJob,
    LoraJob,
    Method,
    SftJob,
    TrainerStage,
)
from tests.learning_stage.sums import GRPO, JOB, continued, graded, none_of, write_job
from tests.learning_stage.trainer_process import TrainerProcess, ran, steps


@pytest.fixture(scope="session")
def trained(
    trainer_python: str, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, list[TrainerMessage]]:
    """A whole training, and all that the trainer said."""
    folder = write_job(tmp_path_factory.mktemp("trained"))
    return folder, ran(trainer_python, folder, graded)


@pytest.fixture
def fitted(trained: tuple[Path, list[TrainerMessage]]) -> Path:
    """Folder in which a conductor was fitted, for another reinforcement."""
    return trained[0]


def asked(python: str, program: str, *arguments: object) -> Any:
    """Return the JSON that a program of the trainer's environment prints."""
    done = subprocess.run(
        [python, "-c", program, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def the_end(found: Sequence[TrainerMessage]) -> Ended:
    assert isinstance(found[-1], Ended)
    return found[-1]


def numbers(found: Sequence[TrainerMessage], stage: TrainerStage) -> list[int]:
    return [each.step for each in steps(found, stage)]


# --- all goes well -------------------------------------------------------------------


def test_it_learns_to_write_plans_and_then_which_worker_is_right(
    trained: tuple[Path, list[TrainerMessage]],
) -> None:
    _, found = trained
    assert numbers(found, TrainerStage.SFT) == list(range(1, JOB.sft.steps + 1))
    assert numbers(found, TrainerStage.GRPO) == list(range(1, GRPO.iterations + 1))
    loss = [each.figures["loss"] for each in steps(found, TrainerStage.SFT)]
    assert loss[-1] < 0.1 < loss[0]
    rewards = [each.figures["reward"] for each in steps(found, TrainerStage.GRPO)]
    assert fmean(rewards[:4]) < 0.7, "it knew before which worker is right"
    assert fmean(rewards[-4:]) > fmean(rewards[:4]) + 0.1
    for each in steps(found, TrainerStage.GRPO):
        assert 0 < each.figures["entropy"] < 1
        assert 10 < each.figures["length"] <= GRPO.max_tokens
        assert each.figures["missing"] == 0
    assert the_end(found) == Ended(
        Ending.COMPLETED, "All 20 iterations are done.", MODEL
    )
    assert not (trained[0] / CHECKPOINTS).exists(), "they are large, and done with"


def test_what_it_sends_are_the_groups_of_each_question(
    trained: tuple[Path, list[TrainerMessage]],
) -> None:
    rollouts = [each for each in trained[1] if isinstance(each, Rollouts)]
    assert [each.id for each in rollouts] == list(range(1, GRPO.iterations + 1))
    for each in rollouts:
        keys = [plan.task for plan in each.plans]
        groups = [keys[i : i + GRPO.group] for i in range(0, len(keys), GRPO.group)]
        assert [set(group) for group in groups] == [{group[0]} for group in groups]
        assert len({group[0] for group in groups}) == GRPO.questions


def test_the_model_and_its_curves_can_be_loaded(
    trained: tuple[Path, list[TrainerMessage]], trainer_python: str
) -> None:
    folder, found = trained
    program = """
import json, sys
from transformers import AutoModelForCausalLM, AutoTokenizer
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
model = AutoModelForCausalLM.from_pretrained(sys.argv[1])
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
curves = EventAccumulator(sys.argv[2]).Reload()
print(json.dumps({
    "kind": type(model).__name__, "dtype": str(model.dtype),
    "text": tokenizer.decode(tokenizer("model_id = [2]")["input_ids"]),
    "reward": [each.value for each in curves.Scalars("grpo/reward")],
    "loss": len(curves.Scalars("sft/loss")),
}))
"""
    loaded = asked(trainer_python, program, folder / MODEL, folder / TENSORBOARD)
    assert (loaded["kind"], loaded["dtype"]) == ("Qwen2ForCausalLM", "torch.float32")
    assert loaded["text"] == "model_id = [2]"
    assert loaded["loss"] == JOB.sft.steps
    rewards = [each.figures["reward"] for each in steps(found, TrainerStage.GRPO)]
    assert loaded["reward"] == pytest.approx(rewards)


def test_started_again_after_its_end_it_does_nothing(
    trained: tuple[Path, list[TrainerMessage]], trainer_python: str
) -> None:
    found = ran(trainer_python, trained[0], graded)
    assert found == [Ended(Ending.COMPLETED, "It was completed before.", MODEL)]


def test_it_goes_on_with_weights_that_were_put_there_and_tasks_in_their_order(
    fitted: Path, trainer_python: str, tmp_path: Path
) -> None:
    grpo = replace(GRPO, iterations=3, is_in_order=True)
    job = replace(JOB, stages=(TrainerStage.GRPO,), grpo=grpo)
    folder = write_job(tmp_path / "further", job)
    for name in (BASE, FITTED):
        shutil.copytree(fitted / name, folder / name)
    found = ran(trainer_python, folder, graded)
    keys = [
        list(dict.fromkeys(plan.task for plan in each.plans))
        for each in found
        if isinstance(each, Rollouts)
    ]
    assert keys == [list("0123"), list("4567"), list("0123")]
    rewards = [each.figures["reward"] for each in steps(found, TrainerStage.GRPO)]
    assert rewards[0] > 0.4, "it has learned before to write plans"
    assert the_end(found).model == MODEL


def test_an_adapter_is_fitted_and_reinforced(
    fitted: Path, trainer_python: str, tmp_path: Path
) -> None:
    job = replace(
        JOB,
        base=str(fitted / FITTED),
        method=Method.LORA,
        lora=LoraJob(rank=4, alpha=8),
        sft=replace(JOB.sft, steps=3),
        grpo=replace(GRPO, iterations=2),
    )
    found = ran(trainer_python, write_job(tmp_path / "lora", job), graded)
    assert the_end(found).why is Ending.COMPLETED
    program = """
import json, sys
from peft import AutoPeftModelForCausalLM
model = AutoPeftModelForCausalLM.from_pretrained(sys.argv[1])
weights = {n: float(p.detach().abs().sum()) for n, p in model.named_parameters()}
print(json.dumps({n: w for n, w in weights.items() if "lora_B" in n}))
"""
    moved = asked(trainer_python, program, tmp_path / "lora" / MODEL)
    assert moved and all(weight > 0 for weight in moved.values())
    assert not list((tmp_path / "lora" / MODEL).glob("model*.safetensors"))


# --- it is killed, or stopped --------------------------------------------------------


def test_killed_while_fitting_it_goes_on_from_its_checkpoint(
    trainer_python: str, tmp_path: Path
) -> None:
    sft = SftJob(steps=12, learning_rate=4e-3, batch=4, group=3, save_every=5)
    folder = write_job(
        tmp_path / "sft", replace(JOB, stages=(TrainerStage.SFT,), sft=sft)
    )
    whole = write_job(
        tmp_path / "whole", replace(JOB, stages=(TrainerStage.SFT,), sft=sft)
    )
    with TrainerProcess(trainer_python, folder) as trainer:
        for message in trainer.messages():
            if isinstance(message, TrainerProgress) and message.step == 7:
                trainer.kill()
                break
    found = ran(trainer_python, folder, graded)
    assert numbers(found, TrainerStage.SFT) == list(range(6, 13))
    assert the_end(found) == Ended(
        Ending.COMPLETED, "All 12 steps of fitting are done.", MODEL
    )
    # As if it had not been killed.
    never_killed = steps(ran(trainer_python, whole, graded), TrainerStage.SFT)
    assert steps(found, TrainerStage.SFT) == never_killed[5:]


def test_killed_while_reinforcing_it_draws_the_same_plans_again(
    fitted: Path, trainer_python: str, tmp_path: Path
) -> None:
    folder = continued(fitted, tmp_path / "killed", iterations=6, save_every=2)
    first: dict[int, tuple[SampledPlan, ...]] = {}
    with TrainerProcess(trainer_python, folder) as trainer:
        for message in trainer.followed(graded):
            if isinstance(message, Rollouts):
                first[message.id] = message.plans
                if message.id == 4:  # three were done, two are in the checkpoint
                    trainer.kill()
                    break
    half = folder / CHECKPOINTS / TrainerStage.GRPO / "checkpoint-3"
    half.mkdir()
    (half / "model.safetensors").write_bytes(b"cut off")
    found = ran(trainer_python, folder, graded)
    assert numbers(found, TrainerStage.GRPO) == [3, 4, 5, 6]
    again = {each.id: each.plans for each in found if isinstance(each, Rollouts)}
    # So a site that keeps what it ran pays for nothing twice.
    assert (again[3], again[4]) == (first[3], first[4])
    assert the_end(found).why is Ending.COMPLETED


def test_stopped_while_it_waits_it_keeps_the_last_iteration_and_goes_on(
    fitted: Path, trainer_python: str, tmp_path: Path
) -> None:
    folder = continued(fitted, tmp_path / "stopped", iterations=3)
    waiting: tuple[SampledPlan, ...] = ()
    said: list[TrainerMessage] = []
    with TrainerProcess(trainer_python, folder) as trainer:
        for message in trainer.messages():
            said.append(message)
            if isinstance(message, Rollouts) and message.id == 1:
                trainer.tell(Rewards(1, tuple(graded(message.plans))))
            elif isinstance(message, Rollouts):
                waiting = message.plans
                trainer.tell(Stop())
        assert trainer.process.wait() == 0
    assert numbers(said, TrainerStage.GRPO) == [1]
    assert the_end(said) == Ended(Ending.STOPPED, "Stopped after 1 of 3 iterations.")
    found = ran(trainer_python, folder, graded)
    assert found[0] == Rollouts(2, waiting)
    assert numbers(found, TrainerStage.GRPO) == [2, 3]


def test_stopped_while_fitting_it_keeps_a_checkpoint(
    trainer_python: str, tmp_path: Path
) -> None:
    sft = replace(JOB.sft, steps=10_000, save_every=10_000)
    folder = write_job(
        tmp_path / "sft", replace(JOB, stages=(TrainerStage.SFT,), sft=sft)
    )
    said: list[TrainerMessage] = []
    with TrainerProcess(trainer_python, folder) as trainer:
        for message in trainer.messages():
            said.append(message)
            if isinstance(message, TrainerProgress) and message.step == 1:
                trainer.tell(Stop())
    end = the_end(said)
    done = numbers(said, TrainerStage.SFT)[-1]
    assert end.why is Ending.STOPPED
    assert end.message == f"Stopped after {done} of 10000 steps of fitting."
    assert list((folder / CHECKPOINTS / TrainerStage.SFT).glob(f"step-{done:08}*"))


# --- it goes wrong -------------------------------------------------------------------

SAME_WEIGHTS = """
import json, sys
from safetensors.torch import load_file
one, other = (load_file(f"{each}/model.safetensors") for each in sys.argv[1:3])
print(json.dumps(one.keys() == other.keys() and all(
    bool((one[name] == other[name]).all()) for name in one)))
"""


def test_missing_rewards_move_nothing(
    fitted: Path, trainer_python: str, tmp_path: Path
) -> None:
    folder = continued(fitted, tmp_path / "missing", iterations=3)
    found = ran(trainer_python, folder, none_of)
    assert numbers(found, TrainerStage.GRPO) == [1, 2, 3]
    for each in steps(found, TrainerStage.GRPO):
        assert each.figures["missing"] == 1
        assert "reward" not in each.figures
    assert asked(trainer_python, SAME_WEIGHTS, folder / MODEL, folder / FITTED)
    # While the whole training did move them.
    assert not asked(trainer_python, SAME_WEIGHTS, fitted / MODEL, fitted / FITTED)


def test_it_ends_with_a_message_when_it_only_gets_worse(
    fitted: Path, trainer_python: str, tmp_path: Path
) -> None:
    answered: list[int] = []

    def worse_and_worse(plans: Sequence[SampledPlan]) -> list[float | None]:
        """Some are missing, and do not count as fallen."""
        answered.append(len(plans))
        reward = 1.0 if len(answered) <= 2 else 0.5
        return [None if place % 4 == 0 else reward for place in range(len(plans))]

    folder = continued(
        fitted, tmp_path / "worse", iterations=50, patience=2, reward_fall=0.2
    )
    found = ran(trainer_python, folder, worse_and_worse)
    assert numbers(found, TrainerStage.GRPO) == [1, 2, 3, 4]
    for each, reward in zip(
        steps(found, TrainerStage.GRPO), (1, 1, 0.5, 0.5), strict=True
    ):
        assert (each.figures["reward"], each.figures["missing"]) == (reward, 0.25)
    assert the_end(found) == Ended(
        Ending.COLLAPSED,
        "The mean reward of 2 iterations fell from 1.000 to 0.500. "
        "Ended at 4 of 50. The fitted model is kept.",
        FITTED,
    )
    assert not (folder / MODEL).exists()


def test_rewards_that_do_not_fit_the_plans_fail_it(
    fitted: Path, trainer_python: str, tmp_path: Path
) -> None:
    folder = continued(fitted, tmp_path / "short", iterations=2)
    found = ran(trainer_python, folder, lambda plans: graded(plans)[1:])
    end = the_end(found)
    assert end.why is Ending.FAILED
    assert end.message == "rollouts 1 expected 64 rewards, got 63 for 1"


def test_a_base_that_is_not_there_fails_it(trainer_python: str, tmp_path: Path) -> None:
    job = replace(JOB, base=str(tmp_path / "nothing"), grpo=GrpoJob())
    (end,) = ran(trainer_python, write_job(tmp_path / "job", job), graded)
    assert isinstance(end, Ended)
    assert end.why is Ending.FAILED
    assert end.message.startswith(f"the base '{tmp_path / 'nothing'}' cannot be loaded")
