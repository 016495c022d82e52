"""Packs a trained model's folder into the one file that the simulator serves.

    python -m apps.simulator.tiny_conductor.pack FOLDER [--out FILE]

The folder is one of Hugging Face's, as a training leaves it. Prints size and digest.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from pathlib import Path
from typing import Any

from apps.simulator.tiny_conductor.errors import WeightsInvalid
from apps.simulator.tiny_conductor.generation import (
    CONFIGURATION,
    ENDS,
    TOKENIZER,
    LanguageModel,
)
from apps.simulator.tiny_conductor.serving import SHIPPED
from apps.simulator.tiny_conductor.tokenizer import CHAT_TEMPLATE
from apps.simulator.tiny_conductor.weights import (
    WeightFile,
    read_weights,
    weight_bytes,
)

MAX_BYTES = 3_000_000
MODEL_FILE, TEMPLATE_FILE = "model.safetensors", "chat_template.jinja"
LEFT_OUT = {"_name_or_path", "architectures", "dtype", "transformers_version"}
"""Of the configuration: nothing that decides what the model computes."""


def packed(folder: Path) -> bytes:
    """Return the file for a folder. Raises: WeightsInvalid, OSError."""
    _check_template(folder)
    configuration = _json(folder / "config.json")
    texts = {
        CONFIGURATION: _short(
            {k: configuration[k] for k in {*configuration} - LEFT_OUT}
        ),
        TOKENIZER: _short(_json(folder / "tokenizer.json")),
        "format": "pt",  # so that transformers takes the file as the model's own
        ENDS: " ".join(map(str, _ends(folder, configuration))),
    }
    file = WeightFile(read_weights(folder / MODEL_FILE).tensors, texts)
    LanguageModel.from_file(file)  # refuses what could not be served
    data = weight_bytes(file)
    if len(data) > MAX_BYTES:
        raise WeightsInvalid(
            f"the file has {len(data):,} bytes; {MAX_BYTES:,} are the most"
        )
    return data


def _check_template(folder: Path) -> None:
    path = folder / TEMPLATE_FILE
    is_apart = path.exists()
    settings = {} if is_apart else _json(folder / "tokenizer_config.json")
    found = path.read_text("utf-8") if is_apart else settings.get("chat_template")
    if found != CHAT_TEMPLATE:
        raise WeightsInvalid("expected the chat template that this site trains with")


def _ends(folder: Path, configuration: dict[str, Any]) -> list[int]:
    """Return the tokens that end an answer, beside that of the chat template."""
    path = folder / "generation_config.json"
    settings = _json(path) if path.exists() else configuration
    found = settings.get("eos_token_id")
    if found is None:
        return []
    return sorted(found) if isinstance(found, list) else [int(found)]


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text("utf-8"))
    except ValueError as exc:
        raise WeightsInvalid(f"{path.name} is not JSON: {exc}") from exc
    if not isinstance(found, dict):
        raise WeightsInvalid(f"{path.name} holds no object")
    return found


def _short(value: dict[str, Any]) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def main() -> None:
    """Write the file, or say what is wrong with the folder."""
    parser = argparse.ArgumentParser(
        prog="python -m apps.simulator.tiny_conductor.pack",
        description="Pack a trained model for the simulator.",
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, default=SHIPPED)
    args = parser.parse_args()
    try:
        data = packed(args.folder)
        args.out.write_bytes(data)
    except (WeightsInvalid, OSError) as exc:
        raise SystemExit(f"{args.folder}: {exc}") from exc
    digest = hashlib.sha256(data).hexdigest()
    sys.stdout.write(f"{args.out}: {len(data):,} bytes, sha256 {digest}\n")


if __name__ == "__main__":
    main()
