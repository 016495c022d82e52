"""Makes a tiny untrained Qwen2 with a tokenizer of its own, without a download.

For trainings on a CPU and for tests: the folder is one of Hugging Face, as that of a
large model, and vLLM serves it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
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
HEAD_WIDTH = 32
"""The least that vLLM's attention takes on a CPU."""
PROBES = ("Model 2: solve 10.", "access_list = [[], [0]]\n", "Ä \n\t<|x|> don't")


@dataclass(frozen=True, slots=True)
class TinySettings:
    """How large the model is, and what its first weights come from."""

    hidden: int = 128
    """Width; a multiple of 64."""
    layers: int = 2
    vocabulary: int = 768
    """Tokens, at most: the corpus may have fewer."""
    max_length: int = 8_192
    """Tokens of prompt and answer together."""
    spread: float = 0.08
    """Deviation of the first weights; the usual 0.02 learns slowly at this size."""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.hidden < 2 * HEAD_WIDTH or self.hidden % (2 * HEAD_WIDTH):
            raise ValueError(f"hidden: expected a multiple of 64, got {self.hidden}")


def write_tiny_base(
    folder: Path, corpus: Iterable[str], settings: TinySettings
) -> None:
    """Write the model and its tokenizer, which is fitted on `corpus`."""
    tokenizer = make_tokenizer(corpus, settings.vocabulary, settings.max_length)
    make_model(tokenizer, settings).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def make_tokenizer(corpus: Iterable[str], vocabulary: int, max_length: int) -> Any:
    """Return a byte-level BPE with all bytes, so that any text can be written.

    Raises: ValueError if it would split otherwise once it is loaded from a folder.
    """
    tokenizer = Tokenizer(models.BPE())
    # A "qwen2" folder is loaded with Qwen2's own splitting, whatever tokenizer.json
    # says. Another one here would lose on loading what was learned.
    tokenizer.pre_tokenizer = Qwen2Tokenizer().backend_tokenizer.pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[PAD, START, END],
        show_progress=False,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
    )
    tokenizer.train_from_iterator(corpus, trainer)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=None,
        eos_token=END,
        pad_token=PAD,
        additional_special_tokens=[START],
        model_max_length=max_length,
        clean_up_tokenization_spaces=False,
        padding_side="left",
    )
    fast.chat_template = CHAT_TEMPLATE
    _check_splitting(fast)
    return fast


def _check_splitting(tokenizer: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Qwen2Config().save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        loaded = AutoTokenizer.from_pretrained(folder)  # nosec B615
        for text in PROBES:
            if loaded(text)["input_ids"] != tokenizer(text)["input_ids"]:
                raise ValueError(f"the loaded tokenizer splits {text!r} otherwise")


def make_model(tokenizer: Any, settings: TinySettings) -> Any:
    """Return an untrained model in fp32; the same seed gives the same weights."""
    torch.manual_seed(settings.seed)
    heads = settings.hidden // HEAD_WIDTH
    model = Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=len(tokenizer),
            hidden_size=settings.hidden,
            intermediate_size=2 * settings.hidden,
            num_hidden_layers=settings.layers,
            num_attention_heads=heads,
            num_key_value_heads=heads // 2,
            max_position_embeddings=settings.max_length,
            tie_word_embeddings=True,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
            initializer_range=settings.spread,
            dtype="float32",
        )
    )
    model.generation_config = GenerationConfig(
        eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id
    )
    return model
