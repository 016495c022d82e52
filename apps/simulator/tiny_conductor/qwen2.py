"""The forward pass of a Qwen2 model in numpy, with a cache of keys and values.

One sequence at a time, in float32. Source: transformers 5.19, `modeling_qwen2.py`;
rotary embeddings: arXiv 2104.09864; grouped-query attention: arXiv 2305.13245.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from apps.simulator.tiny_conductor.errors import WeightsInvalid
from apps.simulator.tiny_conductor.weights import Array

DEFAULT_THETA = 10_000.0
"""Of a configuration that names none, as in transformers."""


@dataclass(frozen=True, slots=True)
class Qwen2Shape:
    """The sizes of a model. H is its width, D the width of one head."""

    layers: int
    heads: int
    key_heads: int
    """Heads of keys and values, each of which several heads share."""
    head_width: int
    epsilon: float
    """Of the normalisations."""
    theta: float
    """Base of the rotary embeddings."""
    context: int
    """Tokens, prompt and answer together."""
    is_tied: bool
    """True: the embeddings also read the last states."""

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read a `config.json`. Raises: WeightsInvalid."""
        try:
            values = json.loads(text)
            _check_kind(values)
            heads = values["num_attention_heads"]
            rotary = values.get("rope_parameters") or {}
            theta = rotary.get("rope_theta", values.get("rope_theta", DEFAULT_THETA))
            return cls(
                layers=int(values["num_hidden_layers"]),
                heads=int(heads),
                key_heads=int(values.get("num_key_value_heads") or heads),
                head_width=int(
                    values.get("head_dim") or values["hidden_size"] // heads
                ),
                epsilon=float(values["rms_norm_eps"]),
                theta=float(theta),
                context=int(values["max_position_embeddings"]),
                is_tied=bool(values.get("tie_word_embeddings", False)),
            )
        except (AttributeError, KeyError, TypeError, ValueError) as exc:
            raise WeightsInvalid(f"the configuration cannot be read: {exc}") from exc


def _check_kind(values: Mapping[str, Any]) -> None:
    """Return if the model is one of those that are computed here."""
    rotary = values.get("rope_parameters") or values.get("rope_scaling") or {}
    wanted = {
        "model_type": (values["model_type"], "qwen2"),
        "hidden_act": (values.get("hidden_act", "silu"), "silu"),
        "use_sliding_window": (bool(values.get("use_sliding_window")), False),
        "rope_type": (rotary.get("rope_type", "default"), "default"),
    }
    for name, (found, expected) in wanted.items():
        if found != expected:
            raise ValueError(f"{name}: expected {expected!r}, got {found!r}")


@dataclass(frozen=True, slots=True)
class _Layer:
    """The weights of a layer, turned so that states are multiplied from the left."""

    before: Array  # (H,)
    inputs: Array  # (H, (heads + 2 key_heads) D): queries, keys, values
    biases: Array
    outputs: Array  # (heads D, H)
    between: Array  # (H,)
    gate_and_up: Array  # (H, 2 I)
    down: Array  # (I, H)


class Memory:
    """Keys and values of the tokens so far."""

    def __init__(self, shape: Qwen2Shape, capacity: int) -> None:
        size = (shape.layers, shape.key_heads, capacity, shape.head_width)
        self.keys: Array = np.empty(size, np.float32)
        self.values: Array = np.empty(size, np.float32)
        self.cosines, self.sines = _rotations(shape, capacity)
        self.capacity = capacity
        self.length = 0


class Qwen2:
    """A model. Its weights do not change, so several threads may share it."""

    def __init__(self, shape: Qwen2Shape, tensors: Mapping[str, Array]) -> None:
        """Take the tensors of a folder. Raises: WeightsInvalid."""
        self.shape = shape
        try:
            self._embeddings = tensors["model.embed_tokens.weight"]  # (V, H)
            self._norm = tensors["model.norm.weight"]
            name = "model.embed_tokens.weight" if shape.is_tied else "lm_head.weight"
            self._read_out = np.ascontiguousarray(tensors[name].T)  # (H, V)
            self._layers = [_layer(tensors, n) for n in range(shape.layers)]
        except (KeyError, ValueError) as exc:
            raise WeightsInvalid(f"a tensor is missing or misshapen: {exc}") from exc
        self._check_sizes()

    @property
    def vocabulary(self) -> int:
        """Return how many tokens the model knows."""
        return len(self._embeddings)

    def memory(self, capacity: int) -> Memory:
        """Return an empty memory for so many tokens."""
        return Memory(self.shape, capacity)

    def states(self, tokens: Sequence[int], memory: Memory) -> Array:
        """Return the last states (T, H) of the next T tokens, and remember them.

        Raises: ValueError if the memory has no place for them.
        """
        if memory.length + len(tokens) > memory.capacity:
            raise ValueError(f"the memory is full: it holds {memory.capacity} tokens")
        states = self._embeddings[np.asarray(tokens)]  # (T, H)
        for number, layer in enumerate(self._layers):
            states = states + self._attended(states, layer, number, memory)
            found = self._normalized(states, layer.between) @ layer.gate_and_up
            gate, up = np.split(found, 2, axis=-1)  # (T, I) each
            states = states + (_silu(gate) * up) @ layer.down
        memory.length += len(tokens)
        return self._normalized(states, self._norm)

    def logits(self, states: Array) -> Array:
        """Return the logits (…, V) that last states (…, H) give."""
        return states @ self._read_out

    def _attended(
        self, states: Array, layer: _Layer, number: int, memory: Memory
    ) -> Array:
        """Return what the tokens (T, H) read of each other and of those before them."""
        shape, count = self.shape, len(states)
        begin, end = memory.length, memory.length + count
        mixed = self._normalized(states, layer.before) @ layer.inputs + layer.biases
        heads = mixed.reshape(count, -1, shape.head_width).transpose(1, 0, 2)
        values = shape.heads + shape.key_heads
        turned = _rotated(
            heads[:values], memory.cosines[begin:end], memory.sines[begin:end]
        )
        memory.keys[number, :, begin:end] = turned[shape.heads :]
        memory.values[number, :, begin:end] = heads[values:]
        seen = memory.keys[number, :, :end]  # (K, S, D)
        queries = turned[: shape.heads].reshape(shape.key_heads, -1, shape.head_width)
        scores = queries @ seen.transpose(0, 2, 1)  # (K, heads / K * T, S)
        scores = scores.reshape(shape.heads, count, end) / np.float32(
            shape.head_width**0.5
        )
        if count > 1:
            scores += _later(begin, end)
        weights = _softmax(scores).reshape(shape.key_heads, -1, end)
        read = (weights @ memory.values[number, :, :end]).reshape(
            shape.heads, count, shape.head_width
        )
        joined: Array = read.transpose(1, 0, 2).reshape(count, -1)
        return joined @ layer.outputs

    def _normalized(self, states: Array, scale: Array) -> Array:
        mean_square = np.mean(states * states, axis=-1, keepdims=True)
        normal = states / np.sqrt(mean_square + np.float32(self.shape.epsilon))
        scaled: Array = normal * scale
        return scaled

    def _check_sizes(self) -> None:
        """Run one token, so that sizes that do not fit show up at once."""
        try:
            self.logits(self.states([0], self.memory(1)))
        except ValueError as exc:
            raise WeightsInvalid(f"the tensors do not fit together: {exc}") from exc


def _layer(tensors: Mapping[str, Array], number: int) -> _Layer:
    def get(name: str) -> Array:
        return tensors[f"model.layers.{number}.{name}"]

    parts = ("q_proj", "k_proj", "v_proj")
    inputs = np.concatenate([get(f"self_attn.{part}.weight") for part in parts])
    up = np.concatenate([get("mlp.gate_proj.weight"), get("mlp.up_proj.weight")])
    return _Layer(
        before=get("input_layernorm.weight"),
        inputs=np.ascontiguousarray(inputs.T),
        biases=np.concatenate([get(f"self_attn.{part}.bias") for part in parts]),
        outputs=np.ascontiguousarray(get("self_attn.o_proj.weight").T),
        between=get("post_attention_layernorm.weight"),
        gate_and_up=np.ascontiguousarray(up.T),
        down=np.ascontiguousarray(get("mlp.down_proj.weight").T),
    )


def _rotations(shape: Qwen2Shape, capacity: int) -> tuple[Array, Array]:
    """Return cosines and sines (capacity, D) of the angles at each place."""
    powers = np.arange(0, shape.head_width, 2, dtype=np.float32) / shape.head_width
    speeds = (1.0 / shape.theta**powers).astype(np.float32)  # (D / 2,)
    angles = np.arange(capacity, dtype=np.float32)[:, None] * speeds
    both = np.concatenate([angles, angles], axis=-1)
    return np.cos(both).astype(np.float32), np.sin(both).astype(np.float32)


def _rotated(heads: Array, cosines: Array, sines: Array) -> Array:
    """Turn heads (N, T, D) by the angles of their places."""
    half = heads.shape[-1] // 2
    swapped: Array = np.concatenate([-heads[..., half:], heads[..., :half]], axis=-1)
    return heads * cosines + swapped * sines


def _later(begin: int, end: int) -> Array:
    """Return (T, S): minus infinity where a token would read a later one."""
    places = np.arange(end)
    hidden = places[None, :] > places[begin:end, None]
    return np.where(hidden, -np.inf, 0).astype(np.float32)


def _softmax(scores: Array) -> Array:
    shares: Array = np.exp(scores - scores.max(axis=-1, keepdims=True))
    total: Array = shares.sum(axis=-1, keepdims=True)
    return shares / total


def _silu(values: Array) -> Array:
    """Return x * sigmoid(x), written so that no power overflows."""
    half = np.float32(0.5)
    result: Array = values * (half + half * np.tanh(half * values))
    return result
