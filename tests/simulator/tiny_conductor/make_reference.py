"""Makes what the numpy model is compared with, by transformers.

    PYTHON tests/simulator/tiny_conductor/make_reference.py FOLDER

For an environment with torch and transformers (`.venv-vllm`), not the project's own.
FOLDER gets `model/`, a tiny Qwen2 of random weights as Hugging Face has it, and
`reference.json`: words and tokens of texts, logits, and answers. The same versions
give the same files.
"""

from __future__ import annotations

import argparse
import json
import random
import unicodedata
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    GenerationConfig,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen2Tokenizer,
)

PAD, START, END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
CHAT_TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
VOCABULARY, HIDDEN, LAYERS, HEADS, KEY_HEADS = 352, 32, 2, 4, 2
CONTEXT = 512
RANDOM_TEXTS, LONGEST = 200, 40
ANSWERS, MOST_TOKENS = 12, 80
TRIED = 100
"""Prompts among which some must have an answer that ends by itself."""
CORPUS = (
    "Model 0: price 9, solve 6, guided 8, check 3, plan 4\nSteps: at most 5\n"
    'model_id = [0, 1]\nsubtasks = ["Solve the problem.", "Check the answer."]\n'
    "access_list = [[], [0]]\nWrite the plan for the user's question now."
)
TEXTS = (
    "",
    " ",
    CORPUS,
    "it's I'M we'LL they'Re 'ſ 'S x'd ' s can't've",
    "a  b   c\n\n  d \r\n\te \u00a0f\u2003g\u3000\x1c\x1d\x85\u2028",
    "12345 ١٢٣ Ⅷ ½ ²",
    "e\u0301 \u00e9 \u1e9b\u0323 \uac01 \u1100\u1161\u11a8 \u2126",
    "e\u0899\u0301 \u0915\u093c \U00011935\U00011930 a\u0315\u0300\u05ae\u0334b",
    "日本語の文章。Привет, мир! שלום 🎉👩‍👩‍👧 \U000323af \U0001e900",
    f"{START}system\nYou obey.{END}\n{PAD}",
    "!?#…—“quoted”\n\n\n// x\r\n",
    "word" * 200,
    "\x00\x7f\ufffd\ufeff",
)
PROMPTS = (
    ({"role": "user", "content": CORPUS},),
    (
        {"role": "system", "content": "Plan."},
        {"role": "user", "content": "What is 2 + 2?"},
        {"role": "assistant", "content": "Four."},
        {"role": "user", "content": "Und auf Französisch? 🎉"},
    ),
    ({"role": "user", "content": "long " * 80},),
)


def main() -> None:
    """Write the model and the reference."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    torch.manual_seed(0)
    torch.set_num_threads(1)
    make_folder(folder / "model")
    tokenizer = AutoTokenizer.from_pretrained(folder / "model")
    model = AutoModelForCausalLM.from_pretrained(folder / "model", dtype=torch.float32)
    reference = {
        "texts": [text_case(tokenizer, text) for text in (*TEXTS, *random_texts())],
        "prompts": [logits_case(model, tokenizer, p) for p in PROMPTS],
        "answers": answers(model, tokenizer),
        "continued": answer(model, tokenizer, "What is 2 + 2?", "model_id = [0"),
    }
    text = json.dumps(reference, separators=(",", ":"))
    (folder / "reference.json").write_text(text + "\n")


def make_folder(folder: Path) -> None:
    """Write a model whose weights float16 holds exactly."""
    tokenizer = make_tokenizer()
    model = Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=len(tokenizer),
            hidden_size=HIDDEN,
            intermediate_size=2 * HIDDEN,
            num_hidden_layers=LAYERS,
            num_attention_heads=HEADS,
            num_key_value_heads=KEY_HEADS,
            max_position_embeddings=CONTEXT,
            rope_parameters={"rope_type": "default", "rope_theta": 1000.0},
            rms_norm_eps=1e-5,
            tie_word_embeddings=True,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )
    with torch.no_grad():
        for name, weights in model.named_parameters():
            is_norm = "norm" in name
            # Biases and scales too, which a new model has at 0 and 1.
            weights.normal_(1.0 if is_norm else 0.0, 0.3 if is_norm else 0.15)
    ends = tokenizer.eos_token_id
    model.generation_config = GenerationConfig(
        eos_token_id=ends, pad_token_id=tokenizer.pad_token_id
    )
    model.half().save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def make_tokenizer() -> Any:
    """Return a byte-level BPE with all bytes and some words of plans."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = Qwen2Tokenizer().backend_tokenizer.pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=[PAD, START, END],
        show_progress=False,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
    )
    corpus = [CORPUS, "wordwordword it's they're été 日本語 \n\n  12 🎉🎉"] * 4
    tokenizer.train_from_iterator(corpus, trainer)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=None,
        eos_token=END,
        pad_token=PAD,
        additional_special_tokens=[START],
        model_max_length=CONTEXT,
        clean_up_tokenization_spaces=False,
    )
    fast.chat_template = CHAT_TEMPLATE
    return fast


def random_texts() -> list[str]:
    """Return texts of odd characters: marks, spaces, control and private ones, any."""
    rng = random.Random(0)
    everything = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    composed = [c for c in everything if unicodedata.decomposition(chr(c))]
    marks = [c for c in everything if unicodedata.combining(chr(c))]
    spaces = [*range(9, 14), *range(28, 33), 0x85, 0xA0, 0x200B, 0x2028, 0x3000]
    quotes = [ord(c) for c in "'sSſtTrReEvVmMlLdDK’ "]
    kinds = [everything, composed, marks, spaces, quotes, list(range(128))]
    texts = []
    for _ in range(RANDOM_TEXTS):
        mixed = rng.choices(kinds, k=3)
        size = rng.randint(1, LONGEST)
        texts.append("".join(chr(rng.choice(rng.choice(mixed))) for _ in range(size)))
    return texts


def text_case(tokenizer: Any, text: str) -> dict[str, Any]:
    """Return a text's words and tokens, no control token among them."""
    backend = tokenizer.backend_tokenizer
    normal = backend.normalizer.normalize_str(text)
    pieces = backend.pre_tokenizer.pre_tokenize_str(normal)
    backend.encode_special_tokens = True
    tokens = backend.encode(text, add_special_tokens=False).ids
    backend.encode_special_tokens = False
    return {
        "text": text,
        "words": [normal[begin:end] for _, (begin, end) in pieces],
        "tokens": tokens,
    }


def asked(tokenizer: Any, messages: Any) -> list[int]:
    """Return the tokens that ask for an answer."""
    found = tokenizer.apply_chat_template(
        list(messages), add_generation_prompt=True, return_dict=True
    )
    return list(found["input_ids"])


def logits_case(model: Any, tokenizer: Any, messages: Any) -> dict[str, Any]:
    """Return the logits after a prompt, and the likeliest token at each place."""
    tokens = asked(tokenizer, messages)
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([tokens])).logits[0]
    return {
        "messages": messages,
        "tokens": tokens,
        "likeliest": logits.argmax(-1).tolist(),
        "last": [round(value, 6) for value in logits[-1].tolist()],
    }


def answers(model: Any, tokenizer: Any) -> list[dict[str, Any]]:
    """Return greedy answers, some of which end by themselves."""
    cases = [answer(model, tokenizer, f"Question {n}") for n in range(TRIED)]
    ended = [case for case in cases if case["finish"] == "stop"]
    if not ended:
        raise SystemExit("no answer ends by itself: take another seed")
    return [*ended[: ANSWERS // 2], *cases[: ANSWERS // 2]]


def answer(model: Any, tokenizer: Any, prompt: str, begun: str = "") -> dict[str, Any]:
    """Return the greedy answer to one prompt, or the rest of one that has begun."""
    messages = [{"role": "user", "content": prompt}]
    tokens = asked(tokenizer, messages)
    if begun:
        messages.append({"role": "assistant", "content": begun})
        found = tokenizer.apply_chat_template(
            messages, continue_final_message=True, return_dict=True
        )
        tokens = list(found["input_ids"])
    with torch.no_grad():
        whole = model.generate(
            torch.tensor([tokens]),
            attention_mask=torch.ones(1, len(tokens), dtype=torch.long),
            do_sample=False,
            max_new_tokens=MOST_TOKENS,
        )
    written = whole[0, len(tokens) :].tolist()
    is_ended = written[-1] == tokenizer.eos_token_id
    return {
        "prompt": prompt,
        "begun": begun,
        "asked": len(tokens),
        "tokens": written,
        "text": tokenizer.decode(written, skip_special_tokens=True),
        "finish": "stop" if is_ended else "length",
    }


if __name__ == "__main__":
    main()
