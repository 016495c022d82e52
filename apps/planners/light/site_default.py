"""The site's default: a light planner for teams without enough runs of their own.

The weights of the step model are fitted on simulated workers (`bench.site_default`),
and depend on no worker. Of the team's own workers it knows what a calibration measured:
how often each is right alone, by family of tasks. Families are the kinds of prompts.
Pure numpy.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from apps.planners.light.familiar_words import familiar_words
from apps.planners.light.kinds import Kinds
from apps.planners.light.logged_runs import StepRole
from apps.planners.light.model import LightModel
from apps.planners.light.profiles import ProfileRole, Profiles
from apps.planners.light.situation_counts import SituationCounts
from apps.planners.light.sources import ModelSource
from apps.planners.light.step_model import StepModel
from apps.planners.light.text_features import WIDTH, Floats, text_features
from apps.planners.light.token_costs import ROLES, TokenModel, prompt_tokens

PATH = Path(__file__).parent / "site_default.json"
FORMAT = 1
NEARLY_ALL = 0.05
"""Share of a family's prompts that may be less like its centre than its nearness."""


@dataclass(frozen=True, slots=True)
class FamilyProfile:
    """How a worker did alone on the tasks of one family."""

    tasks: int
    """At least 1."""
    right: int
    tokens: int
    """Of all tasks, input and output."""


Calibrated = Mapping[str, Mapping[str, FamilyProfile]]
"""Profiles by worker and family."""


def calibrated_profiles(seen: Floats, right: Floats) -> Profiles:
    """Return profiles from answers given alone, both (worker, kind).

    They stand for all roles: whoever answers well alone is expected to check, plan and
    follow plans better too. How much better, the weights of the default say.
    """
    roles = len(ProfileRole)
    return Profiles(np.stack([seen] * roles), np.stack([right] * roles))


def site_default_digest() -> str:
    """Return the SHA-256 of the default's file, in hexadecimal."""
    return hashlib.sha256(PATH.read_bytes()).hexdigest()


def site_default_model(
    calibrated: Calibrated, prompts: Mapping[str, Sequence[str]]
) -> LightModel:
    """Return a light planner's model of calibrated workers.

    `prompts` has some of each family that a worker was measured on, at least one.
    """
    default = json.loads(PATH.read_text())
    families = tuple(sorted(prompts))
    seen = np.zeros((len(calibrated), len(families)))
    right = np.zeros_like(seen)
    for worker, by_family in enumerate(calibrated.values()):
        for kind, family in enumerate(families):
            if found := by_family.get(family):
                seen[worker, kind], right[worker, kind] = found.tasks, found.right
    kinds, nearness = _kinds(families, prompts)
    return LightModel(
        tuple(calibrated),
        kinds,
        calibrated_profiles(seen, right),
        StepModel(np.array(default["weights"]), float(default["intercept"])),
        SituationCounts.empty(len(calibrated), len(families)),
        _tokens(default, calibrated, prompts),
        nearness,
        ModelSource.SITE_DEFAULT,
        words=familiar_words([each for some in prompts.values() for each in some]),
    )


def _kinds(
    families: Sequence[str], prompts: Mapping[str, Sequence[str]]
) -> tuple[Kinds, Floats]:
    """Return one kind for each family, and how like its centre nearly all prompts are.

    Its centre is the mean of its prompts.
    """
    centres = np.zeros((len(families), WIDTH))
    nearness = np.ones(len(families))
    for kind, family in enumerate(families):
        found = [text_features(prompt) for prompt in prompts[family]]
        for each in found:
            centres[kind, each.places] += each.values / len(found)
        length = max(float(np.linalg.norm(centres[kind])), 1e-9)
        like = [centres[kind, each.places] @ each.values / length for each in found]
        nearness[kind] = np.quantile(like, NEARLY_ALL)
    words = tuple(family.replace("_", " ") for family in families)
    return Kinds(centres, np.arange(len(families)), words), nearness


def _tokens(
    default: Mapping[str, Any],
    calibrated: Calibrated,
    prompts: Mapping[str, Sequence[str]],
) -> TokenModel:
    """Return the default's tokens by role, in proportion to each worker's answers."""
    outputs = np.array([default["outputs"][role.value] for role in ROLES])
    usual = outputs[ROLES.index(StepRole.SOLVE)]
    read = {
        family: float(np.mean([prompt_tokens(each) for each in some]))
        for family, some in prompts.items()
    }
    lengths = []
    for by_family in calibrated.values():
        known = {f: each for f, each in by_family.items() if f in read}
        tasks = sum(each.tasks for each in known.values())
        written = sum(each.tokens - each.tasks * read[f] for f, each in known.items())
        lengths.append(max(1.0, written / tasks) / usual if tasks else 1.0)
    overhead = np.array([default["overhead"][role.value] for role in ROLES])
    return TokenModel(outputs[:, None] * np.array(lengths), overhead)
