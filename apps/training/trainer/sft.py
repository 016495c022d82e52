"""Supervised fitting of a conductor on expert plans (expert iteration).

Takes a model and a tokenizer of Hugging Face with a chat template. Weights that need a
gradient are trained: all of them, or those of a LoRA adapter. They have to be fp32,
because a small step of AdamW is lost in the rounding of bf16.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch

from apps.training.trainer.checkpoints import Checkpoints
from apps.training.trainer.sequences import (
    Tokens,
    completion_logits,
    completion_tokens,
    prompt_tokens,
)

IGNORED = -100
"""Words that count nothing in a loss, as torch has it."""
LIKE_LENGTH = 16
"""Batches among which prompts change places."""


@dataclass(frozen=True, slots=True)
class SftExample:
    """A prompt and answers to learn for it."""

    prompt: str
    """Text of the user's message."""
    completions: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.completions:
            raise ValueError("completions: expected at least one")


@dataclass(frozen=True, slots=True)
class SftSettings:
    """How long and how fast."""

    steps: int
    learning_rate: float = 2e-3
    """Highest one, of a one-cycle schedule."""
    batch: int = 16
    """Prompts of one step."""
    group: int = 2
    """Completions of each prompt in one step, drawn from those of its example."""
    micro_batch: int = 16
    """Prompts that are computed at once: fewer take less memory."""
    warm_up: float = 0.1
    """Share of the steps in which the learning rate rises."""
    weight_decay: float = 0.01
    max_norm: float = 1.0
    """Gradients are clipped to it."""
    save_every: int = 100
    """Steps between checkpoints."""
    seed: int = 0


@dataclass(frozen=True, slots=True)
class SftProgress:
    """How far a fit is after a step."""

    step: int
    of: int
    loss: float
    """Mean negative log-probability of the step's completion tokens, in nats."""
    tokens: int
    """Of the step: prompts once, and completions."""


Report = Callable[[SftProgress], None]


@dataclass(slots=True)
class _Fit:
    model: Any
    tokenizer: Any
    examples: Sequence[SftExample]
    settings: SftSettings
    optimizer: Any
    schedule: Any


def fit(
    model: Any,
    tokenizer: Any,
    examples: Sequence[SftExample],
    settings: SftSettings,
    *,
    checkpoints: Checkpoints | None = None,
    report: Report = lambda progress: None,
    should_stop: Callable[[], bool] = lambda: False,
) -> int:
    """Fit the model in place; return the steps done, fewer if it was to stop.

    With checkpoints it goes on from the latest one, on the same examples in the same
    order.  Raises: ValueError without examples, or for trained weights of bf16.
    """
    _check(model, examples)
    run = _started(model, tokenizer, examples, settings)
    step = checkpoints.load(model, run.optimizer, run.schedule) if checkpoints else 0
    model.train()
    while step < settings.steps and not should_stop():
        loss, tokens = _step(run, _batch(run, step))
        step += 1
        report(SftProgress(step, settings.steps, loss, tokens))
        if checkpoints and step % settings.save_every == 0:
            checkpoints.save(step, model, run.optimizer, run.schedule)
    if checkpoints and step % settings.save_every:
        checkpoints.save(step, model, run.optimizer, run.schedule)
    model.eval()
    return step


def _check(model: Any, examples: Sequence[SftExample]) -> None:
    if not examples:
        raise ValueError("examples: expected at least one")
    kinds = {p.dtype for p in model.parameters() if p.requires_grad}
    if kinds != {torch.float32}:
        raise ValueError(
            f"trained weights: expected float32, got {sorted(map(str, kinds))}"
        )


def _started(
    model: Any, tokenizer: Any, examples: Sequence[SftExample], settings: SftSettings
) -> _Fit:
    torch.manual_seed(settings.seed)
    optimizer = torch.optim.AdamW(
        [p for p in model.parameters() if p.requires_grad],
        lr=settings.learning_rate,
        weight_decay=settings.weight_decay,
    )
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer,
        settings.learning_rate,
        total_steps=max(2, settings.steps),
        pct_start=settings.warm_up,
    )
    return _Fit(model, tokenizer, examples, settings, optimizer, schedule)


def _batch(run: _Fit, step: int) -> list[tuple[str, list[str]]]:
    """Return the step's prompts with completions, the same whenever it is asked for."""
    settings = run.settings
    lengths = tuple(len(example.prompt) for example in run.examples)
    per_turn = max(1, len(lengths) // settings.batch)
    batches = _batches(settings.seed, step // per_turn, settings.batch, lengths)
    chance = random.Random(f"completions {settings.seed} {step}")  # nosec B311
    chosen = [run.examples[index] for index in batches[step % per_turn]]
    return [
        (each.prompt, chance.choices(each.completions, k=settings.group))
        for each in chosen
    ]


@lru_cache(maxsize=2)
def _batches(
    seed: int, turn: int, size: int, lengths: tuple[int, ...]
) -> list[list[int]]:
    """Return the batches of one turn through all examples, in another order each time.

    Prompts of like length go together, since what is padded is computed for nothing.
    What makes no whole batch is left out of the turn.
    """
    chance = random.Random(f"order {seed} {turn}")  # nosec B311
    order = list(range(len(lengths)))
    chance.shuffle(order)
    some = LIKE_LENGTH * size
    alike = [
        index
        for first in range(0, len(order), some)
        for index in sorted(order[first : first + some], key=lengths.__getitem__)
    ]
    cuts = range(0, max(1, len(alike) - size + 1), size)
    batches = [alike[first : first + size] for first in cuts]
    chance.shuffle(batches)
    return batches


def _step(run: _Fit, batch: Sequence[tuple[str, list[str]]]) -> tuple[float, int]:
    """Change the weights once; return the loss and how many tokens were read."""
    prompts = [prompt_tokens(run.tokenizer, prompt) for prompt, _ in batch]
    answers = [
        completion_tokens(run.tokenizer, text) for _, texts in batch for text in texts
    ]
    read = sum(map(len, answers))
    run.optimizer.zero_grad(set_to_none=True)
    settings, loss = run.settings, 0.0
    for first in range(0, len(prompts), settings.micro_batch):
        last = first + settings.micro_batch
        some = answers[first * settings.group : last * settings.group]
        # Each token counts alike, however the step is cut.
        part = _summed_loss(run, prompts[first:last], some) / read
        part.backward()
        loss += float(part.detach())
    trained = [p for p in run.model.parameters() if p.requires_grad]
    torch.nn.utils.clip_grad_norm_(trained, settings.max_norm)
    run.optimizer.step()
    run.schedule.step()
    return loss, read + sum(map(len, prompts))


def _summed_loss(
    run: _Fit, prompts: Sequence[Tokens], answers: Sequence[Tokens]
) -> Any:
    with _bf16_products(run.model.device):
        found = completion_logits(
            run.model, prompts, answers, run.tokenizer.pad_token_id
        )
    words = found.ids.masked_fill(found.mask == 0, IGNORED)
    return torch.nn.functional.cross_entropy(
        found.logits.float().transpose(1, 2), words, reduction="sum"
    )


def _bf16_products(device: Any) -> AbstractContextManager[Any]:
    """Let a GPU multiply in bf16; the weights stay as they are."""
    if device.type == "cuda":
        autocast: AbstractContextManager[Any] = torch.autocast("cuda", torch.bfloat16)
        return autocast
    return nullcontext()
