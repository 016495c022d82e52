"""The numpy model says what transformers says: a random one, and the one that ships."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from apps.engine.ports import PlanRequest, Pool, PoolWorker, Task
from apps.planners.plan_formats import LISTS
from apps.planners.prompt import build_messages
from apps.simulator.benchmark.suite import suite_rows
from apps.simulator.request import ChatMessage, SimulatedRequest
from apps.simulator.tiny_conductor.generation import (
    CONFIGURATION,
    TOKENIZER,
    Generation,
    LanguageModel,
)
from apps.simulator.tiny_conductor.pack import packed
from apps.simulator.tiny_conductor.serving import SHIPPED
from apps.simulator.tiny_conductor.tokenizer import CHAT_TEMPLATE
from apps.simulator.tiny_conductor.weights import read_weights

PYTHON = os.environ.get("TRAINER_PYTHON", "")
HERE = Path(__file__).parent
MAKE_REFERENCE = HERE.parent / "simulator" / "tiny_conductor" / "make_reference.py"
MOST_TOKENS = 256
CLOSE = 1e-4
PROMPTS = 60
OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}

pytestmark = pytest.mark.skipif(not PYTHON, reason="no torch: make test-learning")


def test_a_random_model_computes_and_writes_the_same(tmp_path: Path) -> None:
    _run(MAKE_REFERENCE, tmp_path)
    reference = json.loads((tmp_path / "reference.json").read_text())
    path = tmp_path / "weights.safetensors"
    path.write_bytes(packed(tmp_path / "model"))
    model = LanguageModel.load(path)
    for case in reference["texts"]:
        assert model.tokenizer.encode(case["text"]) == case["tokens"]
    for case in reference["prompts"]:
        memory = model.network.memory(len(case["tokens"]))
        logits = model.network.logits(model.network.states(case["tokens"], memory))
        assert np.abs(logits[-1] - case["last"]).max() < CLOSE
    for case in reference["answers"]:
        most = len(case["tokens"])
        assert _answer(model, case["prompt"], most) == case["text"]


def test_the_model_that_ships_writes_the_same_plans(tmp_path: Path) -> None:
    texts = read_weights(SHIPPED).texts
    (tmp_path / "config.json").write_text(texts[CONFIGURATION])
    (tmp_path / "tokenizer.json").write_text(texts[TOKENIZER])
    (tmp_path / "chat_template.jinja").write_text(CHAT_TEMPLATE)
    shutil.copy(SHIPPED, tmp_path / "model.safetensors")
    prompts = [
        _prompt(row, number) for number, row in enumerate(suite_rows(PROMPTS, 5))
    ]
    (tmp_path / "prompts.json").write_text(json.dumps(prompts))
    _run(HERE / "greedy_answers.py", tmp_path)
    model = LanguageModel.load(SHIPPED)
    answers = [_answer(model, prompt, MOST_TOKENS) for prompt in prompts]
    assert answers == json.loads((tmp_path / "answers.json").read_text())


def _run(script: Path, folder: Path) -> None:
    command = [str(Path(PYTHON).absolute()), str(script), str(folder)]
    subprocess.run(command, check=True, env={**os.environ, **OFFLINE})


def _answer(model: LanguageModel, prompt: str, most: int) -> str:
    asked = SimulatedRequest("", (ChatMessage("user", prompt),), max_tokens=most)
    generation = Generation(model, asked)
    while not generation.is_done:
        generation.step()
    return generation.reply.text


def _prompt(row: Any, number: int) -> str:
    """Return a brief prompt about a question, with cards by chance."""
    chance = random.Random(number)
    workers = tuple(PoolWorker(f"w{n}") for n in range(chance.randint(4, 6)))
    request = PlanRequest(Task(row["prompt"]), Pool(workers, "w0"), 5)
    words = ("price", "solve", "guided", "check", "plan")
    cards = tuple(
        ", ".join(f"{word} {chance.randint(0, 9)}" for word in words) for _ in workers
    )
    (message,) = build_messages(request, LISTS, cards=lambda *_: cards)
    return str(message["content"])
