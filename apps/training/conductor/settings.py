"""What a conductor's training is to do, as a document. Pure.

The figures for learning from its own plans are those of arXiv 2512.04388, section 4.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, StringConstraints

from apps.core.input_parts import InputPart, one_line
from apps.planners.answer_worth import MOST_MICROS
from apps.training.conductor.training_folder import (
    GrpoJob,
    Method,
    SftJob,
    TinyBase,
    TrainerStage,
    TrainingJob,
)
from apps.training.trainings.settings import TierWord

TINY = "tiny"
"""A small model with random weights, for trials on a CPU: no base model is needed."""
SFT_RATES = {
    TINY: Decimal("0.002"),
    "full": Decimal("0.00001"),
    "lora": Decimal("0.0001"),
}
"""Learning rates for examples, by what is trained."""
BaseModelName = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=300),
    AfterValidator(one_line),
]
LearningRate = Annotated[Decimal, Field(gt=0, le=1, max_digits=12)]
"""Decimal text in JSON, since entries of the ledger hold no floating-point numbers."""
Values = dict[str, Any]


class ConductorTrainingPlan(InputPart):
    """The settings of one training; recorded, and never changed afterwards."""

    base_model: BaseModelName = "Qwen/Qwen2.5-7B-Instruct"
    """One of `settings.CONDUCTOR_BASE_MODELS`, or `tiny`."""
    method: Literal["full", "lora"] = "full"
    """All weights are trained, or a LoRA adapter on top of them."""
    planner_number: Annotated[int, Field(ge=1)] | None = None
    """Version of the pool's light planner to learn from. None: the one in use, else
    the newest."""
    sub_pools: Literal["fixed", "random"] = "random"
    """The workers that a prompt has: all in the pool's order, or some by chance, in an
    order by chance."""
    fewest_workers: Annotated[int, Field(ge=1, le=50)] = 4
    """Of a random sub-pool, if the pool has so many."""
    training_tasks: Annotated[int, Field(ge=1, le=20_000)] = 960
    """Tasks at most, drawn equally from each family."""
    examples_per_task: Annotated[int, Field(ge=1, le=20)] = 2
    """Prompts for each task, each of a sub-pool of its own if these are random."""
    sft_steps: Annotated[int, Field(ge=0, le=100_000)] = 250
    """Steps of learning from examples. 0: none."""
    sft_batch: Annotated[int, Field(ge=1, le=1_024)] = 16
    sft_learning_rate: LearningRate | None = None
    """None: what suits the model and the method."""
    grpo_iterations: Annotated[int, Field(ge=0, le=10_000)] = 200
    """Rounds of learning from its own plans. 0: none."""
    grpo_questions: Annotated[int, Field(ge=1, le=256)] = 4
    """Tasks of an iteration."""
    grpo_group: Annotated[int, Field(ge=2, le=256)] = 64
    """Plans for each of them."""
    grpo_learning_rate: LearningRate = Decimal("0.000001")
    grpo_temperature: Annotated[Decimal, Field(gt=0, le=2, decimal_places=2)] = Decimal(
        "1"
    )
    recursion_iterations: Annotated[int, Field(ge=0, le=1_000)] = 0
    """Rounds of learning to plan once more after them: half of the prompts show a plan
    that ran with its answer. 0: none, and it plans once a run; 20 in the paper."""
    recursion_prompts: Annotated[int, Field(ge=2, le=20_000)] = 350
    """Prompts of that, at most; half of them are of first plans."""
    uses_vllm: bool = False
    """True: vLLM samples the plans, on the trainer's GPU; else Transformers does, which
    is many times slower."""
    sft_micro_batch: Annotated[int, Field(ge=1, le=1_024)] = 16
    """Prompts computed at once: fewer take less memory. The same goes for the next."""
    grpo_micro_batch: Annotated[int, Field(ge=1, le=1_024)] = 4
    """Replies computed at once."""
    reward_cost_percent: Annotated[int, Field(ge=0, le=50)] = 0
    """What 1,000 tokens written by the dearest worker take from the reward of a right
    answer, in points of a hundred. 0: nothing, as in the paper."""
    parallel_runs: Annotated[int, Field(ge=1, le=64)] = 16
    max_cost_micros: Annotated[int, Field(ge=1)] | None = None
    """What all runs may cost together, in micro-dollars. None: no limit."""
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0
    held_out_tasks: Annotated[int, Field(ge=10, le=2_000)] = 120
    """Tasks of the comparison, drawn equally from each family."""
    answer_worth_micros: Annotated[int, Field(ge=1, le=MOST_MICROS)] | None = None
    """What a right answer is worth to the light planner that it learns from and is
    compared with. None: as that was trained."""
    margin_percent: Annotated[int, Field(ge=0, le=50)] = 5
    """Accuracy, in points of a hundred, that it may be short of the best of the others
    at most, if it costs half or less."""
    tier: TierWord = "ultra"
    """The tier that it is measured in, and is for."""
    uses_if_better: bool = False
    """True: the tier plans with it at once if it is better."""

    def values(self) -> Values:
        """Return the settings as JSON values."""
        return self.model_dump(mode="json")

    @property
    def stages(self) -> tuple[TrainerStage, ...]:
        """Return what the trainer does, in order."""
        wanted = (
            (TrainerStage.SFT, self.sft_steps),
            (TrainerStage.GRPO, self.grpo_iterations),
        )
        return tuple(stage for stage, count in wanted if count)

    def recursion_job(self) -> TrainingJob:
        """Return what the trainer reads of the last part, which begins with weights."""
        job = self.job()
        grpo = replace(job.grpo, iterations=self.recursion_iterations, is_in_order=True)
        return replace(job, stages=(TrainerStage.GRPO,), grpo=grpo)

    def job(self) -> TrainingJob:
        """Return what the trainer reads of it. There must be a stage."""
        is_tiny = self.base_model == TINY
        rate = self.sft_learning_rate
        if rate is None:
            rate = SFT_RATES[TINY if is_tiny else self.method]
        return TrainingJob(
            base=TinyBase() if is_tiny else self.base_model,
            method=Method(self.method),
            seed=self.seed,
            stages=self.stages,
            sft=SftJob(
                steps=self.sft_steps,
                learning_rate=float(rate),
                batch=self.sft_batch,
                micro_batch=self.sft_micro_batch,
            ),
            grpo=GrpoJob(
                iterations=self.grpo_iterations,
                questions=self.grpo_questions,
                group=self.grpo_group,
                learning_rate=float(self.grpo_learning_rate),
                temperature=float(self.grpo_temperature),
                micro_batch=self.grpo_micro_batch,
                is_served_by_vllm=self.uses_vllm,
            ),
        )
