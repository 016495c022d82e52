"""Answers prompts with transformers: the most probable token each time.

    PYTHON tests/learning_stage/greedy_answers.py FOLDER

FOLDER holds a model as Hugging Face has it, and `prompts.json`; `answers.json` is
added.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

MOST_TOKENS = 256


def main() -> None:
    """Read, answer, write."""
    folder = Path(sys.argv[1])
    torch.set_num_threads(1)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    answers = []
    for prompt in json.loads((folder / "prompts.json").read_text()):
        messages = [{"role": "user", "content": prompt}]
        asked = tokenizer.apply_chat_template(
            messages, add_generation_prompt=True, return_dict=True, return_tensors="pt"
        )
        whole = model.generate(**asked, do_sample=False, max_new_tokens=MOST_TOKENS)
        written = whole[0, asked["input_ids"].shape[1] :]
        answers.append(tokenizer.decode(written, skip_special_tokens=True))
    (folder / "answers.json").write_text(json.dumps(answers))


if __name__ == "__main__":
    main()
