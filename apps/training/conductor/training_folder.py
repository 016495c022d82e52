"""The folder that a trainer works in: what it is to do, and what it learns from. Pure.

job.json        a `TrainingJob`
examples.jsonl  `FittingExample`s, one a line, for the stage sft
tasks.jsonl     `RolloutTask`s, one a line, for the stage grpo
recursion/      such a folder of its own: of a stage grpo with two rounds, in which
                `fitted/` is what this one made
base/           of the trainer: the tiny base that it made
checkpoints/    of the trainer: with them it goes on after it was killed
fitted/         what the stage grpo begins with: the trainer's own result of the stage
                sft, or one that was put there
model/          of the trainer: the trained model, or a LoRA adapter
tensorboard/    of the trainer: curves
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from pathlib import Path
from typing import Any

JOB = "job.json"
EXAMPLES = "examples.jsonl"
TASKS = "tasks.jsonl"
BASE = "base"
CHECKPOINTS = "checkpoints"
FITTED = "fitted"
MODEL = "model"
RECURSION = "recursion"
TENSORBOARD = "tensorboard"


class JobError(ValueError):
    """A training's folder does not say, or not rightly, what is to be done."""


class TrainerStage(StrEnum):
    """A part of a training."""

    SFT = "sft"
    """Fitting on the plans of a light planner."""
    GRPO = "grpo"
    """Reinforcement by the rewards of sampled plans."""


class Method(StrEnum):
    """Which weights are trained."""

    FULL = "full"
    LORA = "lora"


@dataclass(frozen=True, slots=True)
class TinyBase:
    """An untrained model that the trainer makes, for a CPU and for tests."""

    hidden: int = 128
    layers: int = 2


@dataclass(frozen=True, slots=True)
class SftJob:
    """Settings of the stage sft."""

    steps: int = 250
    learning_rate: float = 1e-5
    """Highest one; a tiny base takes 2e-3."""
    batch: int = 16
    """Prompts of one step."""
    group: int = 2
    """Completions of each prompt in one step."""
    micro_batch: int = 16
    """Prompts computed at once: fewer take less memory."""
    save_every: int = 50


@dataclass(frozen=True, slots=True)
class GrpoJob:
    """Settings of the stage grpo. The defaults are those of arXiv 2512.04388."""

    iterations: int = 200
    questions: int = 4
    """Of one iteration."""
    group: int = 64
    """Rollouts of each question, at least two."""
    learning_rate: float = 1e-6
    warm_up: float = 0.03
    """Share of the iterations in which the learning rate rises; then a cosine."""
    clip: float = 0.2
    """How far a probability may move in one iteration, as a share of it."""
    temperature: float = 1.0
    max_tokens: int = 1024
    """Of a completion; longer ones are cut off, and so cannot be parsed."""
    micro_batch: int = 4
    """Completions computed at once: fewer take less memory."""
    save_every: int = 10
    entropy_weight: float = 0.0
    """Worth of a nat of entropy in a token, so that sampling goes on exploring."""
    entropy_floor: float = 0.005
    """Nats a token; 0: a low entropy never ends a training."""
    patience: int = 10
    """Iterations in a row below a floor that end a training."""
    reward_fall: float = 0.1
    """Below the mean reward of the first iterations: so far it may fall."""
    is_in_order: bool = False
    """Tasks are drawn in the order of their file, again and again; else by chance."""
    is_served_by_vllm: bool = False
    """Rollouts are sampled by vLLM on the same GPU, which is many times faster."""


@dataclass(frozen=True, slots=True)
class LoraJob:
    """Settings of an adapter."""

    rank: int = 32
    alpha: int = 64
    dropout: float = 0.0


@dataclass(frozen=True, slots=True)
class TrainingJob:
    """What a trainer is to do."""

    base: str | TinyBase
    """Folder or name of a model of Hugging Face."""
    method: Method = Method.FULL
    seed: int = 0
    stages: tuple[TrainerStage, ...] = (TrainerStage.SFT,)
    sft: SftJob = field(default_factory=SftJob)
    grpo: GrpoJob = field(default_factory=GrpoJob)
    lora: LoraJob = field(default_factory=LoraJob)

    def __post_init__(self) -> None:
        if not self.stages:
            raise JobError("stages: expected at least one")
        if TrainerStage.GRPO in self.stages and self.grpo.group < 2:
            raise JobError(f"grpo.group: expected at least 2, got {self.grpo.group}")
        if list(self.stages) != sorted(set(self.stages), key=list(TrainerStage).index):
            raise JobError("stages: expected sft, grpo, or sft and then grpo")

    def document(self) -> dict[str, Any]:
        """Return it as the JSON value of `job.json`."""
        base = {"tiny": asdict(self.base)} if isinstance(self.base, TinyBase) else None
        return {**asdict(self), "base": base or self.base}


@dataclass(frozen=True, slots=True)
class FittingExample:
    """A prompt, and replies to learn for it."""

    task: str
    """Key of the task it came from."""
    prompt: str
    """Text of the user's message."""
    completions: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.completions:
            raise JobError(f"completions of {self.task}: expected at least one")


@dataclass(frozen=True, slots=True)
class RolloutTask:
    """A prompt for which plans are sampled and rewarded."""

    task: str
    """Key that the rollouts carry: of one prompt, so of one pool."""
    prompt: str


def write_folder(
    folder: Path,
    job: TrainingJob,
    *,
    examples: Iterable[FittingExample] = (),
    tasks: Iterable[RolloutTask] = (),
) -> None:
    """Write what a trainer reads."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / JOB).write_text(json.dumps(job.document(), indent=1) + "\n")
    _write_lines(folder / EXAMPLES, examples)
    _write_lines(folder / TASKS, tasks)


def read_job(folder: Path) -> TrainingJob:
    """Return what a trainer is to do. Raises: JobError."""
    return job_from(_json_object(folder / JOB))


def job_from(document: Mapping[str, Any]) -> TrainingJob:
    """Return the job that is written as a JSON object. Raises: JobError."""
    values = dict(document)
    try:
        base = values.pop("base")
        if isinstance(base, Mapping):
            base = _made(TinyBase, "base.tiny", base["tiny"])
        elif not isinstance(base, str):
            raise JobError("base: expected a folder, a name or {tiny: ...}")
        parts = {"sft": SftJob, "grpo": GrpoJob, "lora": LoraJob}
        for name, kind in parts.items():
            values[name] = _made(kind, name, values.get(name) or {})
        values["stages"] = tuple(
            TrainerStage(each) for each in values.get("stages", ["sft"])
        )
        values["method"] = Method(values.get("method", "full"))
        return TrainingJob(base=base, **values)
    except JobError:
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise JobError(f"{JOB}: {type(error).__name__}: {error}") from error


def read_examples(folder: Path) -> list[FittingExample]:
    """Return what is to be fitted. Raises: JobError."""
    return [
        FittingExample(
            str(row["task"]), str(row["prompt"]), tuple(map(str, row["completions"]))
        )
        for row in _rows(folder / EXAMPLES, ("task", "prompt", "completions"))
    ]


def read_tasks(folder: Path) -> list[RolloutTask]:
    """Return what plans are sampled for. Raises: JobError."""
    return [
        RolloutTask(str(row["task"]), str(row["prompt"]))
        for row in _rows(folder / TASKS, ("task", "prompt"))
    ]


def _write_lines(path: Path, rows: Iterable[FittingExample | RolloutTask]) -> None:
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(asdict(row), ensure_ascii=False) + "\n")


def _made(kind: type[Any], name: str, values: object) -> Any:
    """Return a dataclass of JSON values, each of the type of its default."""
    if not isinstance(values, Mapping):
        raise JobError(f"{name}: expected an object")
    known = {each.name: type(each.default) for each in fields(kind)}
    found = {}
    for key, value in values.items():
        if key not in known:
            raise JobError(f"{name}.{key} is no setting")
        found[key] = _number_or_flag(f"{name}.{key}", known[key], value)
    return kind(**found)


def _number_or_flag(name: str, kind: type[Any], value: object) -> Any:
    if kind is bool and isinstance(value, bool):
        return value
    if kind is int and type(value) is int and value >= 0:
        return value
    if kind is float and type(value) in (int, float) and value >= 0:  # type: ignore[operator]
        return float(value)  # type: ignore[arg-type]
    expected = "true or false" if kind is bool else f"{kind.__name__} from 0"
    raise JobError(f"{name}: expected {expected}, got {value!r}")


def _json_object(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise JobError(f"{path.name} cannot be read: {error}") from error
    if not isinstance(found, dict):
        raise JobError(f"{path.name}: expected an object")
    return found


def _rows(path: Path, keys: tuple[str, ...]) -> list[dict[str, Any]]:
    try:
        found = [
            json.loads(each) for each in path.read_text("utf-8").split("\n") if each
        ]
    except (OSError, ValueError) as error:
        raise JobError(f"{path.name} cannot be read: {error}") from error
    for number, row in enumerate(found, 1):
        if not isinstance(row, dict) or any(key not in row for key in keys):
            raise JobError(f"{path.name}, line {number}: expected {', '.join(keys)}")
    return found
