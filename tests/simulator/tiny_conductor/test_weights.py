"""Files of weights, and packing a folder into one."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from apps.simulator.tiny_conductor import pack
from apps.simulator.tiny_conductor.errors import WeightsInvalid
from apps.simulator.tiny_conductor.weights import (
    WeightFile,
    read_weights,
    weight_bytes,
)
from tests.simulator.tiny_conductor.conftest import FOLDER


def test_weights_that_float16_holds_come_back(weights: Path) -> None:
    stored = read_weights(FOLDER / "model.safetensors").tensors
    served = read_weights(weights).tensors
    assert stored.keys() == served.keys()
    assert all(np.array_equal(stored[name], served[name]) for name in stored)


@pytest.mark.parametrize(
    ("kind", "stored"),
    [
        ("F32", np.array([1.5, -2.0], "<f4").tobytes()),
        ("F16", np.array([1.5, -2.0], "<f2").tobytes()),
        ("BF16", np.array([0x3FC0, 0xC000], "<u2").tobytes()),
    ],
)
def test_each_kind_of_number_is_read(tmp_path: Path, kind: str, stored: bytes) -> None:
    path = tmp_path / "a.safetensors"
    path.write_bytes(_file(kind, [2], stored))
    tensor = read_weights(path).tensors["a"]
    assert tensor.tolist() == [1.5, -2.0]
    assert tensor.dtype == np.float32


@pytest.mark.parametrize("keeps", [0, 20, -1])
def test_a_file_that_was_cut_off_is_refused(tmp_path: Path, keeps: int) -> None:
    path = tmp_path / "a.safetensors"
    whole = weight_bytes(WeightFile({"a": np.ones(3, np.float32)}, {}))
    path.write_bytes(whole[:keeps])
    with pytest.raises(WeightsInvalid, match=r"a\.safetensors"):
        read_weights(path)


def test_other_numbers_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    path.write_bytes(_file("I64", [1], bytes(8)))
    with pytest.raises(WeightsInvalid, match="I64"):
        read_weights(path)


def test_a_weight_that_float16_cannot_hold_is_refused() -> None:
    with pytest.raises(WeightsInvalid, match="float16"):
        weight_bytes(WeightFile({"a": np.array([1e6], np.float32)}, {}))


def test_another_chat_template_is_refused(folder: Path) -> None:
    (folder / "chat_template.jinja").write_text("{{ messages }}")
    with pytest.raises(WeightsInvalid, match="chat template"):
        pack.packed(folder)


def test_a_file_that_is_too_large_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pack, "MAX_BYTES", 1_000)
    with pytest.raises(WeightsInvalid, match="1,000 are the most"):
        pack.packed(folder)


def test_command_packs_a_folder_and_tells_the_digest(
    tmp_path: Path, weights: Path
) -> None:
    out = tmp_path / "out.safetensors"
    done = _pack(str(FOLDER), "--out", str(out))
    assert done.returncode == 0
    assert out.read_bytes() == weights.read_bytes()
    assert hashlib.sha256(out.read_bytes()).hexdigest() in done.stdout


def test_command_says_what_is_missing(tmp_path: Path) -> None:
    done = _pack(str(tmp_path), "--out", str(tmp_path / "out"))
    assert done.returncode == 1
    assert "tokenizer_config.json" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the folder, to be changed."""
    return Path(shutil.copytree(FOLDER, tmp_path / "model"))


def _pack(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "apps.simulator.tiny_conductor.pack", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def _file(kind: str, shape: list[int], stored: bytes) -> bytes:
    about = {"dtype": kind, "shape": shape, "data_offsets": [0, len(stored)]}
    head = json.dumps({"a": about}).encode()
    return len(head).to_bytes(8, "little") + head + stored
