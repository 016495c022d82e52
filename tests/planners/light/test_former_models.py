"""What a planner knows of a worker whose model is another one now."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from apps.engine.ports import Pool, Task
from apps.planners.light.former_models import FORMER_MOST
from apps.planners.light.model import LightModel
from apps.planners.light.planner import LightPlanner
from apps.planners.worker_cards import measured_cards
from tests.planners.light.builders import (
    CHECK,
    NAMES,
    PLAN,
    SOLVE,
    SUM,
    asked,
    model,
    run,
    step,
    worker,
)

OLD, NEW = "0" * 16, "1" * 16
RUNS = [
    run(step("ada", SOLVE, [], 1)),
    run(step("ben", SOLVE, [], 0)),
    run(step("cat", SOLVE, [], 0)),
    run(step("ada", PLAN), step("ben", SOLVE, [0], 1)),
    run(step("ada", SOLVE, [], 0), step("ben", CHECK, [0], 1)),
    run(step("ben", SOLVE, [], 0), step("cat", CHECK, [0], 0)),
]


def known(times: int = 40) -> LightModel:
    return replace(model(*RUNS * times), fingerprints=dict.fromkeys(NAMES, OLD))


def pool(**fingerprints: str):
    return [worker(name, fingerprint=fingerprints.get(name, OLD)) for name in NAMES]


def test_of_the_same_models_everything_counts():
    found = known()
    assert found.known_now(dict.fromkeys(NAMES, OLD)) is found
    assert found.known_now({"ada": ""}) is found  # not known which model it is
    assert replace(found, fingerprints={}).known_now({"ada": NEW}).fingerprints == {}


def test_a_former_model_is_a_weak_prior_wherever_it_had_a_part():
    before = known()
    after = before.known_now({"ada": NEW, "ben": OLD})
    assert after.profiles.seen[:, 0].sum() == pytest.approx(FORMER_MOST)
    assert np.array_equal(after.profiles.seen[:, 1:], before.profiles.seen[:, 1:])
    for name, pair in (("guided", (0, 1)), ("check", (0, 0, 0, 1))):
        old, new = (getattr(each.counts, name)[0] for each in (before, after))
        assert 0 < new[pair].sum() < 0.1 * old[pair].sum()
    kept = after.counts.check[0, 0, 0, 1, 2]
    assert np.array_equal(kept, before.counts.check[0, 0, 0, 1, 2])
    assert after.known_now({"ada": NEW}) is after
    assert before.known_now({"ada": NEW, "ben": OLD}) is after  # remembered


def test_few_answers_of_it_count_a_tenth_each():
    after = known(1).known_now({"cat": NEW})
    assert after.profiles.seen[:, 2].sum() == pytest.approx(0.2)


def success(*, of: str, **fingerprints: str) -> float:
    ranking = LightPlanner(known(), 1).ranking(asked(*pool(**fingerprints)))
    (alone,) = (c for c in ranking.alone if ranking.workers[c.workers[0]] == of)
    return alone.success


def test_a_plan_no_longer_promises_what_another_model_could():
    at_first, changed = success(of="ben"), success(of="ben", ben=NEW)
    assert at_first < 0.1
    assert changed > at_first + 0.1
    assert success(of="cat", ben=NEW) == pytest.approx(success(of="cat"), abs=0.05)
    assert success(of="ben", ben=OLD) == at_first  # undone: it is known again


async def test_it_is_unsure_of_a_plan_with_a_model_it_does_not_know():
    planner = LightPlanner(known(), 1)
    assert not await planner.is_unsure(asked(*pool(), max_steps=1))
    changed = pool(**dict.fromkeys(NAMES, NEW))
    assert await planner.is_unsure(asked(*changed, max_steps=1))


def test_a_conductor_reads_little_of_a_former_model():
    cards = measured_cards(known())

    def card(**fingerprints: str) -> str:
        workers = tuple(pool(**fingerprints))
        return cards(Task(SUM), Pool(workers, "ada"))[1]

    assert "solve0" in card()
    assert "solve0" not in card(ben=NEW)


# --- other names ----------------------------------------------------------------------

OTHERS = {"ada": "2" * 16, "ben": "3" * 16, "cat": "4" * 16}


def test_a_renamed_worker_is_still_known():
    before = replace(known(), fingerprints=OTHERS)
    after = before.known_now({"adele": OTHERS["ada"], "ben": OTHERS["ben"], "cat": NEW})
    assert after.workers == ("adele", "ben", "cat")
    assert np.array_equal(after.profiles.seen[:, 0], before.profiles.seen[:, 0])
    assert after.fingerprints == {"adele": "2" * 16, "ben": "3" * 16, "cat": NEW}


@pytest.mark.parametrize(
    "now",
    [
        {"ada": OTHERS["ada"], "adele": OTHERS["ada"]},  # another one of the same model
        {"adele": OTHERS["ada"], "adam": OTHERS["ada"]},  # it may be either
        {"adele": NEW},
        {"adele": ""},
    ],
)
def test_a_new_name_without_one_that_is_gone_is_a_stranger(now):
    before = replace(known(), fingerprints=OTHERS)
    assert before.known_now(now) is before
