"""What a trainer and the site say to each other, and the folder they share."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from apps.training.conductor.protocol import (
    Ended,
    Ending,
    ProtocolError,
    Rewards,
    Rollouts,
    SampledPlan,
    Stop,
    TrainerProgress,
    line_of,
    site_message,
    trainer_message,
)
from apps.training.conductor.training_folder import (
    JOB,
    TASKS,
    FittingExample,
    GrpoJob,
    JobError,
    Method,
    RolloutTask,
    SftJob,
    TinyBase,
    TrainerStage,
    TrainingJob,
    job_from,
    read_examples,
    read_job,
    read_tasks,
    write_folder,
)


@pytest.mark.parametrize(
    "message",
    [
        TrainerProgress(TrainerStage.SFT, 3, 250, {"loss": 1.5, "tokens": 800.0}),
        TrainerProgress(
            TrainerStage.GRPO, 1, 200, {"reward": 0.5, "entropy": 0.2, "missing": 0.25}
        ),
        Rollouts(4, (SampledPlan("a", "Solve.\nmodel_id = [0]"), SampledPlan("ä", ""))),
        Ended(Ending.COMPLETED, "All 200 iterations are done.", "model"),
        Ended(Ending.FAILED, "trl is not installed."),
    ],
)
def test_a_trainers_messages_are_one_line_each_and_come_back_equal(
    message: TrainerProgress | Rollouts | Ended,
) -> None:
    line = line_of(message)
    assert line.count("\n") == 1
    assert trainer_message(line) == message


@pytest.mark.parametrize("message", [Rewards(4, (0.5, None, 1.0)), Stop()])
def test_the_sites_messages_come_back_equal(message: Rewards | Stop) -> None:
    assert site_message(line_of(message)) == message


@pytest.mark.parametrize(
    "line",
    [
        "Loading weights: 100 %",
        "[]",
        '{"say": "rollouts", "id": 1}',
        '{"say": "rollouts", "id": "1", "plans": []}',
        '{"say": "progress", "stage": "cooking", "step": 1, "of": 2}',
        '{"say": "ended", "why": "bored", "message": ""}',
    ],
)
def test_a_line_that_is_no_message_of_a_trainer_is_an_error(line: str) -> None:
    with pytest.raises(ProtocolError, match="no message of a training"):
        trainer_message(line)


@pytest.mark.parametrize(
    "line",
    ["stop", '{"id": 1}', '{"id": 1, "rewards": ["1"]}', '{"id": 1, "rewards": [NaN]}'],
)
def test_a_line_that_is_no_message_of_the_site_is_an_error(line: str) -> None:
    with pytest.raises(ProtocolError):
        site_message(line)


def test_a_figure_that_is_no_number_never_leaves() -> None:
    figures = {"reward": float("nan"), "entropy": 0.5}
    said = trainer_message(line_of(TrainerProgress(TrainerStage.GRPO, 1, 2, figures)))
    assert isinstance(said, TrainerProgress)
    assert said.figures == {"entropy": 0.5}


def test_what_is_written_for_a_trainer_is_what_it_reads(tmp_path: Path) -> None:
    job = TrainingJob(
        base=TinyBase(hidden=64),
        method=Method.LORA,
        seed=7,
        stages=(TrainerStage.SFT, TrainerStage.GRPO),
        sft=SftJob(steps=5),
        grpo=GrpoJob(iterations=3, learning_rate=1e-3),
    )
    examples = [FittingExample("a", "Which?\n", ("one", "two"))]
    tasks = [RolloutTask("b", "Wie groß?")]
    write_folder(tmp_path / "new", job, examples=examples, tasks=tasks)
    assert read_job(tmp_path / "new") == job
    assert read_examples(tmp_path / "new") == examples
    assert read_tasks(tmp_path / "new") == tasks


def test_a_job_that_says_little_has_the_settings_of_the_paper() -> None:
    job = job_from({"base": "/models/7b", "stages": ["grpo"], "grpo": None})
    assert job.grpo == GrpoJob(
        iterations=200,
        questions=4,
        group=64,
        learning_rate=1e-6,
        warm_up=0.03,
        clip=0.2,
        temperature=1.0,
        max_tokens=1024,
    )


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({}, "base"),
        ({"base": 7}, "base: expected"),
        ({"base": {"tiny": {"hidden": "wide"}}}, "base.tiny.hidden: expected int"),
        ({"base": "m", "method": "magic"}, "magic"),
        ({"base": "m", "stages": []}, "at least one"),
        ({"base": "m", "stages": ["grpo", "sft"]}, "stages: expected"),
        ({"base": "m", "sft": {"speed": 1}}, "sft.speed is no setting"),
        ({"base": "m", "sft": {"steps": -1}}, "sft.steps: expected int"),
        ({"base": "m", "stages": ["grpo"], "grpo": {"group": 1}}, "at least 2"),
        ({"base": "m", "colour": "red"}, "colour"),
    ],
)
def test_a_job_that_says_something_wrong_is_refused_by_name(
    document: dict[str, Any], message: str
) -> None:
    with pytest.raises(JobError, match=message):
        job_from(document)


def test_a_folder_that_cannot_be_read_is_refused_with_file_and_line(
    tmp_path: Path,
) -> None:
    with pytest.raises(JobError, match=r"job\.json cannot be read"):
        read_job(tmp_path)
    (tmp_path / JOB).write_text("[]")
    with pytest.raises(JobError, match="expected an object"):
        read_job(tmp_path)
    good = json.dumps({"task": "a", "prompt": "b"})
    (tmp_path / TASKS).write_text(good + '\n{"task": "b"}\n')
    with pytest.raises(JobError, match=r"tasks\.jsonl, line 2: expected task, prompt"):
        read_tasks(tmp_path)


def test_both_sides_can_be_read_without_django_numpy_and_torch() -> None:
    program = (
        "import sys\n"
        "import apps.training.conductor.protocol, apps.training.conductor.rewards\n"
        "heavy = {'django', 'numpy', 'torch', 'pydantic'} & set(sys.modules)\n"
        "sys.exit(' '.join(sorted(heavy)) or 0)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")
