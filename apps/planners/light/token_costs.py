"""What steps come to in tokens and money, from what logged steps took. Pure numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from apps.planners.light.fingerprints import (
    FORMER_SHARE,
    NOT_KNOWN,
    is_another_model,
)
from apps.planners.light.logged_runs import LoggedRun, StepRole
from apps.planners.light.step_model import Ints
from apps.planners.light.templates import Template
from apps.planners.light.text_features import Floats

CHARS_PER_TOKEN = 4
STRENGTH = 4.0
"""Answers that the mean of a role is worth for one worker."""
FIRST_GUESS = 300.0
"""Output tokens of an answer before any is known."""
ROLES = tuple(StepRole)
MILLION = 1_000_000


class TokenModel(NamedTuple):
    """Expected tokens of a step."""

    outputs: Floats
    """By role (in the order of `ROLES`) and worker."""
    overhead: Floats
    """By role: input beside the prompt and the answers in sight."""


class Prices(NamedTuple):
    """Of the workers of a pool, in micro-dollars for a million tokens."""

    input: Floats
    output: Floats


def prompt_tokens(prompt: str) -> int:
    """Return about how many tokens a prompt has."""
    return len(prompt) // CHARS_PER_TOKEN + 1


def fit_token_model(
    runs: Sequence[LoggedRun],
    workers: Sequence[str],
    fingerprints: Mapping[str, str] = NOT_KNOWN,
) -> TokenModel:
    """Return the means of what logged steps took; steps without tokens do not count.

    Those of other models than those of `fingerprints` count little.
    """
    index_of = {name: index for index, name in enumerate(workers)}
    seen = np.zeros((len(ROLES), len(workers)))
    written = np.zeros_like(seen)
    beside = np.zeros((2, len(ROLES)))
    for run in runs:
        prompt = prompt_tokens(run.prompt)
        for step in run.steps:
            if not step.output_tokens or step.worker not in index_of:
                continue
            role = ROLES.index(step.role)
            now = fingerprints.get(step.worker, "")
            weight = FORMER_SHARE if is_another_model(now, step.fingerprint) else 1.0
            seen[role, index_of[step.worker]] += weight
            written[role, index_of[step.worker]] += weight * step.output_tokens
            read = sum(run.steps[earlier].output_tokens for earlier in step.access)
            beside[0, role] += max(0, step.input_tokens - prompt - read)
            beside[1, role] += 1
    total = (written.sum() + FIRST_GUESS) / (seen.sum() + 1)
    role_mean = (written.sum(1) + total) / (seen.sum(1) + 1)
    outputs = (written + STRENGTH * role_mean[:, None]) / (seen + STRENGTH)
    return TokenModel(outputs, beside[0] / np.maximum(beside[1], 1))


def template_costs(
    template: Template, chosen: Ints, tokens: TokenModel, prices: Prices, prompt: int
) -> Floats:
    """Return what plans of a template come to, in micro-dollars.

    `chosen` has a row for each plan and a column for each step: indices of workers, for
    which `tokens` and `prices` have a place. `prompt` is in tokens.
    """
    total = np.zeros(len(chosen))
    outputs: list[Floats] = []
    for column, step in enumerate(template):
        role, worker = ROLES.index(step.role), chosen[:, column]
        read = sum((outputs[earlier] for earlier in step.access), np.zeros(len(chosen)))
        outputs.append(tokens.outputs[role, worker])
        inputs = prompt + tokens.overhead[role] + read
        total += inputs * prices.input[worker] + outputs[-1] * prices.output[worker]
    return np.asarray(total / MILLION)
