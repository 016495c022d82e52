"""Weights in a file: the safetensors format, float16 at rest and float32 in use.

Source: safetensors 0.8, "Format": the header's length in 8 bytes, a JSON header with
dtype, shape and place of each tensor, then the tensors.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from apps.simulator.tiny_conductor.errors import WeightsInvalid

Array = npt.NDArray[np.float32]

LENGTH_BYTES = 8
METADATA = "__metadata__"
STORED = {"F32": "<f4", "F16": "<f2", "BF16": "<u2"}
BYTES_ALIGNED = 8


@dataclass(frozen=True, slots=True)
class WeightFile:
    """What a file holds."""

    tensors: Mapping[str, Array]
    texts: Mapping[str, str]
    """Its metadata."""


def read_weights(path: Path) -> WeightFile:
    """Return the tensors of a file as float32. Raises: WeightsInvalid, OSError."""
    data = path.read_bytes()
    try:
        length = int.from_bytes(data[:LENGTH_BYTES], "little")
        begin = LENGTH_BYTES + length
        header = json.loads(data[LENGTH_BYTES:begin])
        texts = header.pop(METADATA, {})
        body = memoryview(data)[begin:]
        tensors = {name: _tensor(about, body) for name, about in header.items()}
    except (KeyError, TypeError, ValueError, AttributeError) as exc:
        raise WeightsInvalid(f"{path.name} is no safetensors file: {exc}") from exc
    return WeightFile(tensors, texts)


def _tensor(about: Mapping[str, Any], body: memoryview) -> Array:
    begin, end = about["data_offsets"]
    kind, shape = about["dtype"], about["shape"]
    if kind not in STORED:
        raise ValueError(f"expected one of {sorted(STORED)}, got {kind!r}")
    stored = np.frombuffer(body[begin:end], STORED[kind])
    if stored.size != math.prod(shape):
        raise ValueError("a tensor is not as large as its shape says")
    if kind == "BF16":  # the upper half of a float32
        return (stored.astype("<u4") << 16).view("<f4").reshape(shape)
    return stored.astype(np.float32).reshape(shape)


def weight_bytes(file: WeightFile) -> bytes:
    """Return a file with the tensors as float16; equal contents give equal bytes.

    Raises: WeightsInvalid if a weight is too large for float16.
    """
    header: dict[str, Any] = {METADATA: dict(sorted(file.texts.items()))}
    parts: list[bytes] = []
    place = 0
    for name, tensor in sorted(file.tensors.items()):
        with np.errstate(over="ignore"):
            stored = tensor.astype("<f2")
        if not np.isfinite(stored).all():
            raise WeightsInvalid(f"{name} has weights that float16 cannot hold")
        parts.append(stored.tobytes())
        offsets = [place, place := place + len(parts[-1])]
        about = {"dtype": "F16", "shape": list(tensor.shape), "data_offsets": offsets}
        header[name] = about
    head = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    head += b" " * (-len(head) % BYTES_ALIGNED)
    return len(head).to_bytes(LENGTH_BYTES, "little") + head + b"".join(parts)
