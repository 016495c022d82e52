"""Fits a tiny conductor on examples, and writes down its plans. For one process.

    PYTHON -m bench.conductor_fit FOLDER

PYTHON is one of the training environment. FOLDER holds `settings.json`,
`examples.jsonl` and prompts by name; `model/`, replies and `fit.json` are added.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import torch
from transformers import AutoTokenizer, Qwen2ForCausalLM

from apps.training.trainer.sequences import greedy_completions
from apps.training.trainer.sft import SftExample, SftProgress, SftSettings, fit
from apps.training.trainer.tiny_base import TinySettings, write_tiny_base

AT_ONCE = 50
"""Prompts that are answered together."""
MAX_TOKENS = 160
CORPUS = 2_000
"""Examples that the tokenizer is made of."""


def main() -> None:
    """Fit, plan and write."""
    folder = Path(sys.argv[1])
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)  # tiny numbers are slow, and mean nothing
    settings = json.loads((folder / "settings.json").read_text())
    lines = (folder / "examples.jsonl").read_text().splitlines()
    examples = [
        SftExample(each["prompt"], tuple(each["completions"]))
        for each in map(json.loads, lines)
    ]
    base = folder / "base"
    corpus = (t for e in examples[:CORPUS] for t in (e.prompt, *e.completions))
    write_tiny_base(base, corpus, TinySettings(**settings["tiny"]))
    model = Qwen2ForCausalLM.from_pretrained(base, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(base)
    figures = _fitted(model, tokenizer, examples, SftSettings(**settings["sft"]))
    model.save_pretrained(folder / "model")
    tokenizer.save_pretrained(folder / "model")
    for name in settings["held_out"]:
        prompts = json.loads((folder / f"{name}.json").read_text())
        replies = _replies(model, tokenizer, prompts)
        (folder / f"{name}.replies.json").write_text(json.dumps(replies))
    (folder / "fit.json").write_text(json.dumps(figures))


def _fitted(
    model: Any, tokenizer: Any, examples: list[SftExample], settings: SftSettings
) -> dict[str, Any]:
    losses: list[float] = []
    tokens = 0

    def report(progress: SftProgress) -> None:
        nonlocal tokens
        tokens += progress.tokens
        losses.append(progress.loss)
        if progress.step % 50 == 0:
            print(f"{progress.step} {progress.loss:.4f}", file=sys.stderr, flush=True)

    began = time.perf_counter(), time.process_time()
    fit(model, tokenizer, examples, settings, report=report)
    return {
        "steps": settings.steps,
        "parameters": sum(p.numel() for p in model.parameters()),
        "vocabulary": len(tokenizer),
        "tokens": tokens,
        "loss": sum(losses[-20:]) / len(losses[-20:]),
        "cpu_s": time.process_time() - began[1],
        "wall_s": time.perf_counter() - began[0],
    }


def _replies(model: Any, tokenizer: Any, prompts: list[str]) -> list[str]:
    replies: list[str] = []
    for first in range(0, len(prompts), AT_ONCE):
        some = prompts[first : first + AT_ONCE]
        replies += greedy_completions(model, tokenizer, some, MAX_TOKENS)
    return replies


if __name__ == "__main__":
    main()
