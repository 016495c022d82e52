"""Plans that find out what a worker can do that a light planner does not know. Pure.

First the newcomer does each kind of step, with partners that are good at theirs. Then,
once a planner has been fitted on that, it has a part in the plan that would be best if
the newcomer is as good as a draw from what is still possible.
Source: W. R. Thompson, "On the likelihood that one unknown probability exceeds another
in view of the evidence of two samples" (Biometrika, 1933): what looks promising is
tried again, and what does not soon is not.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from apps.planners.light.model import LightModel
from apps.planners.light.profiles import STRENGTH
from apps.planners.light.templates import CHECKED, ONE, PLANNED, Template
from apps.planners.light.text_features import Floats

LEAST = 0.05
"""Answers, right or wrong, that a draw counts at least."""
PROBES = ("solve", "guided", "check", "plan")
"""What a newcomer does, in turn: answers alone, answers with a plan in sight, checks an
answer, plans for somebody else."""


def role_probe(
    probe: str,
    newcomer: str,
    others: Sequence[str],
    prompt: str,
    model: LightModel | None,
    chance: random.Random,
) -> tuple[Template, tuple[str, ...]]:
    """Return a template and its workers, of which the newcomer is one.

    `probe` is one of `PROBES`; a newcomer without others solves. The partners are the
    best of `others` for the prompt, as far as `model` knows them; without it, they are
    drawn. So a check is of answers that plans would have checked: how many faults are
    found depends on who made them.
    """
    if probe == "solve" or not others:
        return ONE, (newcomer,)
    partner = _best(probe, model, prompt, others) or chance.choice(others)
    if probe == "plan":
        return PLANNED, (newcomer, partner)
    return (CHECKED if probe == "check" else PLANNED), (partner, newcomer)


def _best(
    probe: str, model: LightModel | None, prompt: str, others: Sequence[str]
) -> str | None:
    """Return the best partner for a probe; None: none is known."""
    known = [each for each in others if model is not None and each in model.workers]
    if model is None or not known:
        return None
    tables = model.tables(model.kinds.kind_of(prompt))
    success = {
        "guided": tables.guided.max(axis=1),  # of plans, by who made them
        "plan": tables.guided.max(axis=0),  # of answers with a plan in sight
        "check": tables.solve,
    }[probe]
    return max(known, key=lambda name: float(success[model.workers.index(name)]))


def drawn_belief(model: LightModel, worker: str, chance: random.Random) -> LightModel:
    """Return the model with a draw of what a worker's profile may be.

    Each cell is drawn by the answers that were seen, around what is expected of it. Of
    a worker that the model does not know, there is nothing to draw.
    """
    if worker not in model.workers:
        return model
    place = model.workers.index(worker)
    table = model.profiles.table()
    mean, answers = table[:, place], model.profiles.seen[:, place] + STRENGTH
    draws = np.random.default_rng(chance.getrandbits(32))
    right, wrong = (_at_least(share * answers) for share in (mean, 1 - mean))
    table[:, place] = draws.beta(right, wrong)
    return replace(model, believed=table)


def _at_least(answers: Floats) -> Floats:
    return np.asarray(np.maximum(answers, LEAST))
