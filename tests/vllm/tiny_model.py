"""Makes a tiny Qwen2 chat model on disk, in seconds and without a download.

    python tests/vllm/tiny_model.py FOLDER

Beside the model, in FOLDER-adapter, an adapter that makes another model of it.
For the environment of vLLM, not the project's own. The weights are random but for one
thing: every state of the model leans towards the end of its answer and towards the
signs of JSON. So sampled strings end after some words, arrays after some entries, free
answers after a sentence; what they say means nothing. Held to a schema, the model gives
plans that keep to it and now and then break a rule no schema can say.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    AutoTokenizer,
    GenerationConfig,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen2Tokenizer,
)

END = "<|im_end|>"
SPECIAL = ("<|endoftext|>", "<|im_start|>", END)
CHAT_TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
VOCABULARY = 2048
HIDDEN = 64
LAYERS = 2
ADAPTER_RANK = 8
MAX_LENGTH = 131_072
SIGNS = '"[]{},0123456789'
"""What the text of a JSON plan is held together by."""
LEAN = 3.0
"""How much more than other words these are liked: e to the power of it."""
END_LEAN = 5.0
SPREAD = 0.25
"""Deviation of the entries that make the next word depend on the last ones."""
VERBS = [
    "solve",
    "write",
    "check",
    "prove",
    "derive",
    "refine",
    "summarise",
    "verify",
    "compare",
    "list",
]
NOUNS = [
    "equation",
    "program",
    "answer",
    "proof",
    "bound",
    "draft",
    "claim",
    "table",
    "graph",
    "sum",
]


def main() -> None:
    """Write the model, and see that its tokenizer survives being loaded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    folder = parser.parse_args().folder
    torch.manual_seed(0)
    tokenizer = make_tokenizer()
    make_model(tokenizer).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    check_tokenizer(tokenizer, folder)
    write_adapter(Path(f"{folder}-adapter"), folder)


def make_tokenizer() -> Any:
    """Return a byte-level BPE with all bytes, so that any text can be written."""
    tokenizer = Tokenizer(models.BPE())
    # A "qwen2" folder is loaded with Qwen2's own splitting, whatever tokenizer.json
    # says. Another one here would lose on loading what was learned.
    splitting = Qwen2Tokenizer().backend_tokenizer.pre_tokenizer
    tokenizer.pre_tokenizer = splitting
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=list(SPECIAL),
        show_progress=False,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
    )
    tokenizer.train_from_iterator(corpus(), trainer)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=None,
        eos_token=END,
        pad_token=SPECIAL[0],
        additional_special_tokens=[SPECIAL[1]],
        model_max_length=MAX_LENGTH,
        clean_up_tokenization_spaces=False,
    )
    fast.chat_template = CHAT_TEMPLATE
    return fast


def corpus() -> Iterator[str]:
    """Yield plans, and the words of the prompts: so those become few tokens."""
    planners = Path(__file__).resolve().parents[2] / "apps" / "planners"
    prompts = [path.read_text() for path in sorted(planners.glob("*.py"))]
    rng = random.Random(0)
    for number in range(4000):
        steps = [
            {
                "subtask": f"{rng.choice(VERBS)} the {rng.choice(NOUNS)}",
                "worker": rng.randrange(8),
                "access": [j for j in range(i) if rng.random() < 0.5],
            }
            for i in range(rng.randint(1, 4))
        ]
        plan = {"reasoning": "It is plain.", "steps": steps}
        yield json.dumps(plan, separators=(",", ":"))
        if number % 200 == 0:
            yield from prompts


def make_model(tokenizer: Any) -> Any:
    """Return the model: 0.3 million random weights, leaning as said above."""
    heads = HIDDEN // 32  # 32 is the least the CPU's attention kernel takes
    model = Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=len(tokenizer),
            hidden_size=HIDDEN,
            intermediate_size=2 * HIDDEN,
            num_hidden_layers=LAYERS,
            num_attention_heads=heads,
            num_key_value_heads=heads // 2,
            max_position_embeddings=MAX_LENGTH,
            tie_word_embeddings=False,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
            dtype="float32",
        )
    )
    model.generation_config = GenerationConfig(
        eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id
    )
    with torch.no_grad():
        lean(model, tokenizer)
    return model


def lean(model: Any, tokenizer: Any) -> None:
    """Make one direction of every state constant, and let the liked words read it."""
    read, written = model.lm_head.weight, model.model.embed_tokens.weight  # (V, H) each
    written.normal_(0.0, 0.02)
    written[:, 0] = 0.02 * HIDDEN**0.5  # as long as all other directions together
    constant = (HIDDEN / 2) ** 0.5  # what the last normalisation makes of it
    read.normal_(0.0, SPREAD)
    read[:, 0] = 0.0
    for text, token in tokenizer.get_vocab().items():
        if text[0] in SIGNS:
            read[token, 0] = LEAN / constant
    read[tokenizer.eos_token_id, 0] = END_LEAN / constant


def write_adapter(folder: Path, base: str) -> None:
    """Write a LoRA adapter of random weights, as a training would leave it."""
    folder.mkdir()
    config = {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": base,
        "r": ADAPTER_RANK,
        "lora_alpha": ADAPTER_RANK,
        "lora_dropout": 0.0,
        "bias": "none",
        "target_modules": ["o_proj"],
    }
    (folder / "adapter_config.json").write_text(json.dumps(config))
    weights = {}
    for layer in range(LAYERS):
        name = f"base_model.model.model.layers.{layer}.self_attn.o_proj"
        weights[f"{name}.lora_A.weight"] = torch.randn(ADAPTER_RANK, HIDDEN)
        weights[f"{name}.lora_B.weight"] = torch.randn(HIDDEN, ADAPTER_RANK)
    save_file(weights, folder / "adapter_model.safetensors")


def check_tokenizer(tokenizer: Any, folder: str) -> None:
    """Raise if the folder's tokenizer splits otherwise than the one that was made."""
    loaded = AutoTokenizer.from_pretrained(folder)
    for text in ("worker 2 sees step 10.", '{"steps":[{"worker":1}]}', "Ä \n\t<|x|>"):
        if loaded(text)["input_ids"] != tokenizer(text)["input_ids"]:
            raise SystemExit(f"the loaded tokenizer splits {text!r} otherwise")


if __name__ == "__main__":
    main()
