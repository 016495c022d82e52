"""The stages of a training, one after the other, each from where it was."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import torch
from transformers.utils.logging import disable_progress_bar

from apps.training.conductor.protocol import Ended, Ending, TrainerProgress
from apps.training.conductor.training_folder import (
    CHECKPOINTS,
    FITTED,
    MODEL,
    TENSORBOARD,
    FittingExample,
    JobError,
    RolloutTask,
    TrainerStage,
    TrainingJob,
    read_examples,
    read_tasks,
)
from apps.training.trainer.bases import base_path, load_model, save_model
from apps.training.trainer.checkpoints import Checkpoints
from apps.training.trainer.curves import Curves
from apps.training.trainer.sft import SftExample, SftProgress, SftSettings, fit
from apps.training.trainer.speech import Speech
from apps.training.trainer.trl_imports import hide_vllm


class _Training:
    """One training of one folder."""

    def __init__(self, folder: Path, job: TrainingJob, speech: Speech) -> None:
        self._folder = folder
        self._job = job
        self._speech = speech
        self._curves = Curves(folder / TENSORBOARD)
        self._examples = self._read_examples()
        self._tasks = self._read_tasks()

    def run(self) -> Ended:
        """Do what is left to do."""
        try:
            return self._run()
        finally:
            self._curves.close()

    def _run(self) -> Ended:
        if (self._folder / MODEL).exists():
            return Ended(Ending.COMPLETED, "It was completed before.", MODEL)
        stages = self._job.stages
        if TrainerStage.GRPO not in stages:
            return self._fit(MODEL)[0]
        fitted = self._folder / FITTED
        if fitted.exists():
            return self._reinforce(*self._load(fitted), fallback=FITTED)
        if TrainerStage.SFT not in stages:
            return self._reinforce(*self._load(None), fallback=None)
        ended, loaded = self._fit(FITTED)
        if ended.why is not Ending.COMPLETED:
            return ended
        return self._reinforce(*loaded, fallback=FITTED)

    def _load(self, fitted: Path | None) -> tuple[Any, Any]:
        texts = [text for each in self._examples for text in each.completions]
        texts += [example.prompt for example in self._examples]
        texts += [task.prompt for task in self._tasks]
        base = base_path(self._folder, self._job, texts)
        return load_model(base, self._job, fitted)

    def _fit(self, result: str) -> tuple[Ended, tuple[Any, Any]]:
        model, tokenizer = self._load(None)
        sft = self._job.sft
        settings = SftSettings(
            steps=sft.steps,
            learning_rate=sft.learning_rate,
            batch=sft.batch,
            group=sft.group,
            micro_batch=sft.micro_batch,
            save_every=max(1, sft.save_every),
            seed=self._job.seed,
        )
        done = fit(
            model,
            tokenizer,
            [SftExample(each.prompt, each.completions) for each in self._examples],
            settings,
            checkpoints=Checkpoints(self._folder / CHECKPOINTS / TrainerStage.SFT),
            report=self._report_fit,
            should_stop=lambda: self._speech.should_stop,
        )
        loaded = (model, tokenizer)
        if done < sft.steps:
            message = f"Stopped after {done} of {sft.steps} steps of fitting."
            return Ended(Ending.STOPPED, message), loaded
        self._save(result, model, tokenizer)
        message = f"All {done} steps of fitting are done."
        return Ended(Ending.COMPLETED, message, result), loaded

    def _reinforce(self, model: Any, tokenizer: Any, fallback: str | None) -> Ended:
        if not self._job.grpo.is_served_by_vllm:
            hide_vllm()
        from apps.training.trainer.grpo import reinforce  # TRL takes long to load

        end = reinforce(
            model,
            tokenizer,
            self._tasks,
            self._job.grpo,
            seed=self._job.seed,
            checkpoints=self._folder / CHECKPOINTS / TrainerStage.GRPO,
            speech=self._speech,
            report=self._report,
        )
        if end.why is not Ending.COMPLETED:
            is_kept = end.why is Ending.COLLAPSED and fallback is not None
            said = (
                f"{end.message} The fitted model is kept." if is_kept else end.message
            )
            return Ended(end.why, said, fallback if is_kept else None)
        self._save(MODEL, model, tokenizer)
        return Ended(end.why, end.message, MODEL)

    def _save(self, result: str, model: Any, tokenizer: Any) -> None:
        is_final = result == MODEL
        save_model(self._folder / result, model, tokenizer, is_final=is_final)
        shutil.rmtree(self._folder / CHECKPOINTS)  # which are larger than the model

    def _report_fit(self, step: SftProgress) -> None:
        figures = {"loss": step.loss, "tokens": float(step.tokens)}
        self._report(TrainerProgress(TrainerStage.SFT, step.step, step.of, figures))

    def _report(self, progress: TrainerProgress) -> None:
        self._curves.add(progress)
        self._speech.say(progress)

    def _read_examples(self) -> list[FittingExample]:
        if TrainerStage.SFT not in self._job.stages:
            return []
        return read_examples(self._folder) or _none_in("examples.jsonl")

    def _read_tasks(self) -> list[RolloutTask]:
        if TrainerStage.GRPO not in self._job.stages:
            return []
        return read_tasks(self._folder) or _none_in("tasks.jsonl")


def _none_in(name: str) -> Any:
    raise JobError(f"{name}: expected at least one line")


def train(folder: Path, job: TrainingJob, speech: Speech) -> Ended:
    """Train what `folder` describes.

    Raises: JobError, ProtocolError, StopAskedError.
    """
    disable_progress_bar()
    try:
        return _Training(folder, job, speech).run()
    except torch.OutOfMemoryError as error:
        raise JobError(
            "the GPU has not enough memory: take a smaller micro_batch, the method "
            f"lora, or a larger GPU ({str(error).splitlines()[0]})"
        ) from error
