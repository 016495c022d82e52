"""A fit by the vectors of prompts, where their words say nothing of their kinds."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest

from apps.planners.light.logged_runs import LoggedRun, LoggedStep, StepRole
from apps.planners.light.model import LightModel
from apps.planners.light.text_features import Floats, text_features

pytest.importorskip("sklearn")

from apps.training.fitting.curve import fitted_with_curve
from apps.training.fitting.gathering import PromptEmbedding
from apps.training.fitting.light import FittedLight, fit_light

NAMES = ("ada", "ben")
WORDS = ("alpha", "bravo", "delta", "echo", "golf", "hotel", "india", "kilo", "lima")


def prompts(count: int = 200) -> list[str]:
    chance = random.Random(5)
    return [" ".join(chance.sample(WORDS, 5)) + f" case {n}" for n in range(count)]


def is_even(prompt: str) -> bool:
    return int(prompt.split()[-1]) % 2 == 0


def unit(*numbers: float) -> Floats:
    row = np.array(numbers)
    return np.asarray(row / np.linalg.norm(row))


def vector(prompt: str, chance: random.Random) -> Floats:
    """Return a vector whose direction says whether the number is even."""
    near, far = 1.0, 0.2 * chance.random()
    return unit(near, far, 0.1) if is_even(prompt) else unit(far, near, 0.1)


def runs(some: list[str]) -> Iterator[LoggedRun]:
    """Yield runs: ada knows even cases alone, ben odd ones."""
    for prompt in some:
        for name in NAMES:
            grade = float(is_even(prompt) == (name == "ada"))
            yield LoggedRun(prompt, (LoggedStep(name, StepRole.SOLVE, (), grade),))


def embedding(some: list[str]) -> PromptEmbedding:
    chance = random.Random(1)
    vectors = {prompt: vector(prompt, chance) for prompt in some}
    return PromptEmbedding("e", "small-1", vectors)


def fitted(embedded: PromptEmbedding | None) -> FittedLight:
    return fit_light(list(runs(prompts())), NAMES, embedding=embedded)


def success(model: LightModel, prompt: str, given: Floats | None) -> float:
    """Return what the model expects of ada alone."""
    kind, _ = model.placed(prompt, given)
    return float(model.tables(kind).solve[0])


def test_vectors_tell_kinds_apart_that_words_do_not():
    model = fitted(embedding(prompts())).model
    even, odd = unit(1.0, 0.1, 0.1), unit(0.1, 1.0, 0.1)
    assert success(model, "anything", even) > 0.9
    assert success(model, "anything", odd) < 0.1
    assert model.kinds.embedded is not None
    assert (model.kinds.embedded.worker, model.kinds.embedded.width) == ("e", 3)


def test_each_kind_has_the_mean_of_its_prompts_n_grams():
    some = prompts()
    given = embedding(some)
    model = fitted(given).model
    found = model.kinds.embedded
    assert found is not None
    assert len(model.kinds.centres) == len(found.centres) == len(model.kinds.kinds)
    nearest = {each: found.nearest(given.vectors[each])[0] for each in some}
    for centre in range(len(found.centres)):
        own = [each for each in some if nearest[each] == centre]
        mean = np.zeros(model.kinds.centres.shape[1])
        for each in own:
            features = text_features(each)
            mean[features.places] += features.values / len(own)
        assert own
        assert np.allclose(model.kinds.centres[centre], mean)


def test_prompts_without_a_vector_belong_to_the_nearest_kind_by_n_grams():
    some = prompts()
    given = embedding(some[:150])
    found = fitted(given)
    assert found.runs == 2 * len(some)
    seen = found.model.profiles.seen[0, :, :].sum()
    assert seen == 2 * len(some)


def test_without_any_vector_n_grams_find_the_kinds():
    model = fitted(PromptEmbedding("e", "small-1", {})).model
    assert model.kinds.embedded is None
    assert model.to_bytes() == fitted(None).model.to_bytes()


def test_the_curve_is_of_vectors_too():
    some = list(runs(prompts()))
    _, by_vectors = fitted_with_curve(some, NAMES, 0, embedding(prompts()))
    _, by_words = fitted_with_curve(some, NAMES, 0)
    assert by_vectors[-1]["expected"] > 0.9 > by_words[-1]["expected"]
    assert by_vectors[-1]["log_loss"] < by_words[-1]["log_loss"]


def test_the_same_seed_gives_the_same_model():
    one, other = (fitted(embedding(prompts())).model.to_bytes() for _ in range(2))
    assert one == other
