"""Loads what a training begins with, and saves what it ends with."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from apps.training.conductor.training_folder import (
    BASE,
    JobError,
    LoraJob,
    Method,
    TinyBase,
    TrainingJob,
)
from apps.training.trainer.tiny_base import TinySettings, write_tiny_base


def base_path(folder: Path, job: TrainingJob, corpus: Iterable[str]) -> str:
    """Return folder or name of the base; a tiny one is made first, once."""
    if not isinstance(job.base, TinyBase):
        return job.base
    made = folder / BASE
    if not made.exists():
        settings = TinySettings(job.base.hidden, job.base.layers, seed=job.seed)
        half = _half(made)
        write_tiny_base(half, corpus, settings)
        half.rename(made)
    return str(made.absolute())


def load_model(base: str, job: TrainingJob, fitted: Path | None) -> tuple[Any, Any]:
    """Return model and tokenizer, ready to be trained; `fitted` is an earlier result.

    Raises: JobError if the base cannot be loaded.
    """
    is_full = job.method is Method.FULL
    has_gpu = torch.cuda.is_available()
    # Trained weights are fp32: a step of 1e-6 is lost in the rounding of bf16. Those of
    # a base that stays as it is may be smaller.
    dtype = torch.float32 if is_full or not has_gpu else torch.bfloat16
    source = str(fitted) if is_full and fitted is not None else base
    try:
        # The operator names the models that may be loaded, or their folders.
        tokenizer = AutoTokenizer.from_pretrained(  # nosec B615
            source, padding_side="left"
        )
        model = AutoModelForCausalLM.from_pretrained(  # nosec B615
            source, dtype=dtype
        )
    except (OSError, ValueError) as error:
        raise JobError(f"the base {base!r} cannot be loaded: {error}") from error
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    if not is_full:
        model = _with_adapter(model, job.lora, fitted)
    return model.to("cuda") if has_gpu else model, tokenizer


def save_model(folder: Path, model: Any, tokenizer: Any, *, is_final: bool) -> None:
    """Write a folder of Hugging Face: whole, or none if this is interrupted.

    A final model of a GPU is bf16, as it will be served.
    """
    half = _half(folder)
    if is_final and torch.cuda.is_available():
        model = model.to(torch.bfloat16)
    model.save_pretrained(half)
    tokenizer.save_pretrained(half)
    half.rename(folder)


def _with_adapter(model: Any, lora: LoraJob, fitted: Path | None) -> Any:
    from peft import LoraConfig, PeftModel, get_peft_model  # only if one is wanted

    if fitted is not None:
        return PeftModel.from_pretrained(model, str(fitted), is_trainable=True)
    config = LoraConfig(
        task_type="CAUSAL_LM",
        r=lora.rank,
        lora_alpha=lora.alpha,
        lora_dropout=lora.dropout,
        target_modules="all-linear",
    )
    return get_peft_model(model, config)


def _half(folder: Path) -> Path:
    half = folder.with_name(f"{folder.name}.half")
    shutil.rmtree(half, ignore_errors=True)
    return half
