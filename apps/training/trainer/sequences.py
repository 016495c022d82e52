"""Prompts and completions as tokens, their log-probabilities, and greedy completions.

A prompt that several completions share is computed once.
Symbols: B prompts, G completions of each, P and C tokens of the longest prompt and
completion, V words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from transformers import DynamicCache

Tokens = list[int]


class CompletionLogits(NamedTuple):
    """What a model says of the tokens of completions."""

    logits: Any
    """(B·G, C, V)"""
    ids: Any
    """(B·G, C)"""
    mask: Any
    """(B·G, C): 1 for a token, 0 for padding."""


class TokenScores(NamedTuple):
    """What a model thinks of completions; all three are (B·G, C)."""

    log_probabilities: Any
    entropies: Any
    """In nats, of the distribution that each token was drawn from."""
    mask: Any
    """1 for a token, 0 for padding."""


def prompt_tokens(tokenizer: Any, prompt: str) -> Tokens:
    """Return the tokens of a conversation that consists of one user message."""
    text = tokenizer.apply_chat_template(
        [{"role": "user", "content": prompt}],
        tokenize=False,
        add_generation_prompt=True,
    )
    return list(tokenizer(text, add_special_tokens=False)["input_ids"])


def completion_tokens(tokenizer: Any, completion: str) -> Tokens:
    """Return the tokens of an answer, with the one that ends it."""
    ids = tokenizer(completion, add_special_tokens=False)["input_ids"]
    return [*ids, tokenizer.eos_token_id]


def padded(rows: Sequence[Tokens], value: int, *, on_left: bool = False) -> Any:
    """Return rows of one length as a tensor."""
    width = max(map(len, rows))
    fill = [[value] * (width - len(row)) for row in rows]
    both = zip(fill, rows, strict=True)
    return torch.tensor([f + r if on_left else r + f for f, r in both])


class _Prompts(NamedTuple):
    """Prompts that were read: what goes on from there."""

    cache: Any
    logits: Any
    """Of the first token of the completion, (B, 1, V)."""
    mask: Any
    """(B, P)"""
    last: Any
    """Position of the last token, (B, 1)."""


def _read(model: Any, prompts: Sequence[Tokens], pad: int) -> _Prompts:
    ids = padded(prompts, pad, on_left=True).to(model.device)
    mask = padded([[1] * len(row) for row in prompts], 0, on_left=True)
    mask = mask.to(model.device)
    positions = (mask.cumsum(1) - 1).clamp(min=0)
    cache = DynamicCache()
    logits = model(
        input_ids=ids,
        attention_mask=mask,
        position_ids=positions,
        past_key_values=cache,
        use_cache=True,
        logits_to_keep=1,
    ).logits
    return _Prompts(cache, logits, mask, positions[:, -1:])


def _repeated(read: _Prompts, group: int) -> _Prompts:
    if group == 1:
        return read
    read.cache.batch_repeat_interleave(group)
    tensors = (read.logits, read.mask, read.last)
    return _Prompts(read.cache, *(t.repeat_interleave(group, 0) for t in tensors))


def completion_logits(
    model: Any, prompts: Sequence[Tokens], completions: Sequence[Tokens], pad: int
) -> CompletionLogits:
    """Return what `model` says of each prompt's completions, with gradients.

    B prompts, B·G completions, those of one prompt in a row.
    """
    group = len(completions) // len(prompts)
    read = _repeated(_read(model, prompts, pad), group)
    ids = padded(completions, pad).to(model.device)
    mask = padded([[1] * len(row) for row in completions], 0).to(model.device)
    logits = read.logits
    if ids.size(1) > 1:
        after = torch.arange(1, ids.size(1), device=model.device)
        rest = model(
            input_ids=ids[:, :-1],
            attention_mask=torch.cat([read.mask, mask[:, :-1]], 1),
            position_ids=read.last + after,
            past_key_values=read.cache,
            use_cache=True,
        ).logits
        logits = torch.cat([logits, rest], 1)
    return CompletionLogits(logits, ids, mask)


def token_scores(found: CompletionLogits, temperature: float = 1.0) -> TokenScores:
    """Return log-probabilities and entropies at a temperature, with gradients."""
    log = torch.log_softmax(found.logits.float() / temperature, -1)
    chosen = log.gather(-1, found.ids.unsqueeze(-1)).squeeze(-1)
    return TokenScores(chosen, -(log.exp() * log).sum(-1), found.mask.float())


def greedy_completions(
    model: Any, tokenizer: Any, prompts: Sequence[str], max_tokens: int
) -> list[str]:
    """Return the most probable answer to each prompt, cut off at `max_tokens`."""
    ids = [prompt_tokens(tokenizer, prompt) for prompt in prompts]
    drawn = drawn_completions(model, tokenizer, ids, max_tokens, temperature=0.0)
    return [text_of(tokenizer, row) for row in drawn]


def text_of(tokenizer: Any, completion: Tokens) -> str:
    """Return a completion as text, without the token that ends it."""
    return str(tokenizer.decode(completion, skip_special_tokens=True))


def drawn_completions(
    model: Any,
    tokenizer: Any,
    prompts: Sequence[Tokens],
    max_tokens: int,
    *,
    temperature: float,
    group: int = 1,
) -> list[Tokens]:
    """Return `group` completions of each prompt, in a row; temperature 0: greedy.

    Each has its ending token, unless `max_tokens` cut it off. Draws with torch's own
    source of chance.
    """
    pad, end = tokenizer.pad_token_id, tokenizer.eos_token_id
    with torch.no_grad():
        read = _repeated(_read(model, prompts, pad), group)
        logits, mask, position = read.logits[:, -1], read.mask, read.last
        is_open = torch.ones(len(logits), dtype=torch.bool, device=model.device)
        columns = []
        for _ in range(max_tokens):
            ids = _next(logits, temperature)  # (B·G, 1)
            ids = torch.where(is_open[:, None], ids, pad)
            columns.append(ids)
            is_open &= ids[:, 0] != end
            if not is_open.any():
                break
            mask = torch.cat([mask, torch.ones_like(ids)], 1)
            position = position + 1
            logits = model(
                input_ids=ids,
                attention_mask=mask,
                position_ids=position,
                past_key_values=read.cache,
                use_cache=True,
            ).logits[:, -1]
    rows = torch.cat(columns, 1).tolist()
    return [row[: row.index(end) + 1] if end in row else row for row in rows]


def _next(logits: Any, temperature: float) -> Any:
    if temperature == 0:
        return logits.argmax(-1, keepdim=True)
    return torch.multinomial(torch.softmax(logits.float() / temperature, -1), 1)
