"""Logits are those of transformers."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from apps.simulator.tiny_conductor.errors import WeightsInvalid
from apps.simulator.tiny_conductor.generation import LanguageModel
from apps.simulator.tiny_conductor.qwen2 import Qwen2, Qwen2Shape
from apps.simulator.tiny_conductor.weights import read_weights
from tests.simulator.tiny_conductor.conftest import FOLDER

CLOSE = 1e-4
"""Both compute in float32, and add in another order; logits are from -6 to 6."""


def test_logits_are_those_of_transformers(reference: Any, model: LanguageModel) -> None:
    for case in reference["prompts"]:
        memory = model.network.memory(len(case["tokens"]))
        logits = model.network.logits(model.network.states(case["tokens"], memory))
        assert np.abs(logits[-1] - case["last"]).max() < CLOSE
        assert logits.argmax(-1).tolist() == case["likeliest"]


def test_tokens_one_by_one_give_the_same(reference: Any, model: LanguageModel) -> None:
    case = reference["prompts"][0]
    memory = model.network.memory(len(case["tokens"]))
    for token in case["tokens"]:
        states = model.network.states([token], memory)
    assert np.abs(model.network.logits(states[-1]) - case["last"]).max() < CLOSE


def test_a_full_memory_takes_no_more(model: LanguageModel) -> None:
    memory = model.network.memory(1)
    model.network.states([0], memory)
    with pytest.raises(ValueError, match="is full"):
        model.network.states([0], memory)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("model_type", "llama"),
        ("hidden_act", "gelu"),
        ("use_sliding_window", True),
        ("rope_parameters", {"rope_type": "yarn", "rope_theta": 1.0}),
        ("num_hidden_layers", None),
    ],
)
def test_another_kind_of_model_is_refused(name: str, value: object) -> None:
    values = json.loads((FOLDER / "config.json").read_text("utf-8"))
    with pytest.raises(WeightsInvalid):
        Qwen2Shape.from_json(json.dumps({**values, name: value}))


@pytest.mark.parametrize(
    ("name", "size"),
    [("hidden_size", 16), ("num_attention_heads", 2), ("num_hidden_layers", 3)],
)
def test_weights_of_another_shape_are_refused(name: str, size: int) -> None:
    values = json.loads((FOLDER / "config.json").read_text("utf-8"))
    shape = Qwen2Shape.from_json(json.dumps({**values, name: size}))
    tensors = read_weights(FOLDER / "model.safetensors").tensors
    with pytest.raises(WeightsInvalid):
        Qwen2(shape, tensors)
