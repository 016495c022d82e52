"""Reinforcement of a conductor by group-relative policy optimization (GRPO), with TRL.

No model of reference (no KL), one step of AdamW for each batch of rollouts, fp32
weights. Source of the settings: arXiv 2512.04388.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from transformers import PrinterCallback, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

from apps.training.conductor.protocol import (
    Ending,
    Rollouts,
    SampledPlan,
    TrainerProgress,
)
from apps.training.conductor.training_folder import GrpoJob, RolloutTask, TrainerStage
from apps.training.trainer.collapse import Iteration, collapse_message
from apps.training.trainer.speech import Speech, StopAskedError

COMPLETE = "complete"
"""Name of the file that says that a checkpoint was written to its end."""
KEPT = 2
"""Checkpoints: one may be half written."""


@dataclass(frozen=True, slots=True)
class GrpoEnd:
    """How the stage ended."""

    why: Ending
    message: str


@dataclass(slots=True)
class _Course:
    """What the parts of a training share."""

    job: GrpoJob
    speech: Speech
    report: Callable[[TrainerProgress], None]
    missing: float = 0.0
    """Share of the last rewards that were missing."""
    collapse: str | None = None
    chance: Any = None
    """Torch's sources of chance before the present iteration."""


def reinforce(
    model: Any,
    tokenizer: Any,
    tasks: Sequence[RolloutTask],
    job: GrpoJob,
    *,
    seed: int,
    checkpoints: Path,
    speech: Speech,
    report: Callable[[TrainerProgress], None],
) -> GrpoEnd:
    """Train the model in place, from the latest of the `checkpoints` if there is one.

    Raises: ProtocolError for rewards that do not fit the rollouts; ValueError without
    tasks.
    """
    if not tasks:
        raise ValueError("tasks: expected at least one")
    course = _Course(job, speech, report)
    trainer = GRPOTrainer(
        model=model,
        reward_funcs=_reward_function(course),
        args=_config(job, seed, checkpoints),
        train_dataset=_questions(tasks, job, seed),
        processing_class=tokenizer,
        callbacks=[_Watch(course)],
    )
    trainer.remove_callback(PrinterCallback)  # the progress is reported
    try:
        trainer.train(resume_from_checkpoint=_latest(checkpoints))
    except StopAskedError:
        _save_last_step(trainer, course, checkpoints)
    return _end(trainer.state.global_step, course)


def _end(step: int, course: _Course) -> GrpoEnd:
    of = course.job.iterations
    if course.collapse is not None:
        return GrpoEnd(Ending.COLLAPSED, f"{course.collapse} Ended at {step} of {of}.")
    if step < of:
        return GrpoEnd(Ending.STOPPED, f"Stopped after {step} of {of} iterations.")
    return GrpoEnd(Ending.COMPLETED, f"All {of} iterations are done.")


def _config(job: GrpoJob, seed: int, checkpoints: Path) -> Any:
    has_gpu = torch.cuda.is_available()
    rollouts = job.questions * job.group
    micro = _largest_divisor(rollouts, job.micro_batch)
    return GRPOConfig(
        output_dir=str(checkpoints),
        max_steps=job.iterations,
        per_device_train_batch_size=micro,
        gradient_accumulation_steps=rollouts // micro,
        num_generations=job.group,
        max_completion_length=job.max_tokens,
        temperature=job.temperature,
        beta=0.0,  # no KL, and so no model of reference
        epsilon=job.clip,
        entropy_coef=job.entropy_weight,
        loss_type="grpo",
        learning_rate=job.learning_rate,
        lr_scheduler_type="cosine",
        warmup_steps=ceil(job.warm_up * job.iterations),
        weight_decay=0.0,
        seed=seed,
        shuffle_dataset=False,  # _questions has them in order
        save_strategy="steps",
        save_steps=max(1, job.save_every),
        save_total_limit=KEPT,
        logging_steps=1,
        report_to="none",  # curves.py writes what the progress says
        disable_tqdm=True,
        use_cpu=not has_gpu,
        dataloader_pin_memory=has_gpu,
        bf16=has_gpu,  # of products only: the weights stay fp32
        gradient_checkpointing=has_gpu,
        use_vllm=job.is_served_by_vllm,
        vllm_mode="colocate",
    )


def _largest_divisor(number: int, most: int) -> int:
    return next(n for n in range(max(1, min(number, most)), 0, -1) if number % n == 0)


def _questions(tasks: Sequence[RolloutTask], job: GrpoJob, seed: int) -> Any:
    """Return the questions of all iterations in a row, each task equally often."""
    chance = random.Random(seed)  # nosec B311
    found: list[RolloutTask] = []
    while len(found) < job.iterations * job.questions:
        found += tasks if job.is_in_order else chance.sample(tasks, len(tasks))
    return Dataset.from_list(
        [
            {"prompt": [{"role": "user", "content": each.prompt}], "task": each.task}
            for each in found[: job.iterations * job.questions]
        ]
    )


def _reward_function(course: _Course) -> Callable[..., list[float | None]]:
    def plan_rewards(
        completions: Sequence[Any], task: Sequence[str], trainer_state: Any, **_: Any
    ) -> list[float | None]:
        plans = (
            SampledPlan(key, messages[0]["content"])
            for key, messages in zip(task, completions, strict=True)
        )
        rollouts = Rollouts(trainer_state.global_step + 1, tuple(plans))
        rewards = course.speech.rewards(rollouts)
        course.missing = rewards.count(None) / len(rewards)
        # TRL gives no weight to a completion whose reward is None: neither in the mean
        # of its group nor in the step.
        return list(rewards)

    return plan_rewards


class _Watch(TrainerCallback):  # type: ignore[misc]
    """Reports each iteration, and ends the training if it is to end."""

    def __init__(self, course: _Course) -> None:
        self._course = course

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._course.chance = _chance()

    def on_log(
        self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any
    ) -> None:
        if not _is_iteration(logs):
            return
        course = self._course
        course.report(_progress(logs, state.global_step, course))
        # The history is part of a checkpoint, so what was seen before counts too.
        seen = [
            Iteration(each["reward"], each["entropy"])
            for each in state.log_history
            if _is_iteration(each)
        ]
        course.collapse = collapse_message(seen, course.job)
        if course.collapse is not None or course.speech.should_stop:
            control.should_training_stop = True
            control.should_save = True

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        _mark_complete(Path(args.output_dir), state.global_step)


def _is_iteration(logs: Any) -> bool:
    return "reward" in logs and "entropy" in logs


def _progress(logs: Any, step: int, course: _Course) -> TrainerProgress:
    figures = {
        "reward": logs["reward"],
        "entropy": logs["entropy"],
        "length": logs.get("completions/mean_length"),
        "loss": logs.get("loss"),
        "learning_rate": logs.get("learning_rate"),
        "missing": course.missing,
    }
    known = {name: float(value) for name, value in figures.items() if value is not None}
    return TrainerProgress(TrainerStage.GRPO, step, course.job.iterations, known)


def _save_last_step(trainer: Any, course: _Course, checkpoints: Path) -> None:
    """Keep the state after the last whole iteration, if there is one and it is not."""
    step = trainer.state.global_step
    if step == 0 or (_folder(checkpoints, step) / COMPLETE).exists():
        return
    # The present iteration has drawn already; it will draw the same again.
    _set_chance(course.chance)
    trainer._save_checkpoint(trainer.model, trial=None)  # TRL has no public one
    _mark_complete(checkpoints, step)


def _chance() -> tuple[Any, Any]:
    on_gpu = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
    return torch.get_rng_state(), on_gpu


def _set_chance(states: tuple[Any, Any]) -> None:
    torch.set_rng_state(states[0])
    if states[1]:
        torch.cuda.set_rng_state_all(states[1])


def _folder(checkpoints: Path, step: int) -> Path:
    return checkpoints / f"checkpoint-{step}"


def _mark_complete(checkpoints: Path, step: int) -> None:
    (_folder(checkpoints, step) / COMPLETE).touch()


def _latest(checkpoints: Path) -> str | None:
    """Return the newest whole checkpoint; half written ones are removed."""
    whole = []
    for folder in checkpoints.glob("checkpoint-*"):
        if (folder / COMPLETE).exists():
            whole.append(folder)
        else:
            shutil.rmtree(folder)
    newest = max(whole, key=lambda each: int(each.name.split("-")[1]), default=None)
    return None if newest is None else str(newest)
