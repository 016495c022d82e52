"""A fit on logged runs of the simulated benchmark: what it must reach, and refuse.

Success of plans is exact: it is summed over everything that may happen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="needs requirements/learning.txt")

from apps.planners.light.logged_runs import StepRole
from apps.planners.light.planner import LightPlanner
from apps.planners.light.profiles import ProfileRole, Profiles
from apps.planners.light.token_costs import FIRST_GUESS, ROLES, fit_token_model
from apps.simulator.benchmark.tasks import recognise
from apps.simulator.benchmark.workers import ROSTERS
from apps.training.fitting.families import UNLABELLED, family_labels
from apps.training.fitting.kinds import merged_centres
from apps.training.fitting.light import FitSettings, TooFewRuns, fit_light
from bench.learning import learned
from bench.learning_rewording import reworded
from bench.learning_scores import baseline_figures, held_out, planned
from bench.learning_world import explored, request, tasks
from tests.planners.light.builders import CHECK, PLAN, SOLVE, run, step

STRONG = ROSTERS["strong"]
NAMES = [worker.name for worker in STRONG]
COUNT, SEED = 2_000, 0


@pytest.fixture(scope="module")
def found():
    """2,000 runs in two rounds, and the model of them."""
    return learned(STRONG, COUNT, SEED)


@pytest.fixture(scope="module")
def few():
    return list(explored(300, 3, STRONG))


# --- what is reached ------------------------------------------------------------------


@pytest.mark.parametrize(("pool", "least"), [("fixed", 0.78), ("k of n", 0.76)])
def test_plans_are_better_than_every_rule_and_cheap(found, pool, least):
    held = held_out(STRONG, pool)
    rules = baseline_figures(held)
    plans = planned(found.model, held)
    best_rule = max(rule["success"] for name, rule in rules.items() if name != "oracle")
    reflection = rules["self-reflection x 5"]
    assert plans["success"] >= max(least, best_rule + 0.05)
    assert plans["success"] <= rules["oracle"]["success"] + 1e-9
    assert plans["cost_micros"] <= reflection["cost_micros"] / 4
    assert plans["tokens"] <= 0.7 * rules["Mixture-of-Agents"]["tokens"]
    assert plans["plan_ms"][1] < 50


def test_other_words_change_little(found):
    held = held_out(STRONG, "fixed")
    plain = planned(found.model, held)["success"]
    assert planned(found.model, held, reworded)["success"] >= plain - 0.05


def test_each_question_is_in_other_words():
    asked = [task.question for task in tasks(300, 1)]
    assert all(reworded(question) != question for question in asked)


def test_kinds_are_families_that_workers_tell_apart(found):
    """No family that needs a plan or a check shares its kind with a simple one."""
    hard = {"word_problems", "tracing"}
    by_kind: dict[int, list[str]] = {}
    for each in found.runs:
        task = recognise(each.prompt)
        assert task is not None
        by_kind.setdefault(found.model.kinds.kind_of(each.prompt), []).append(
            task.family
        )
    mixed = sum(
        min(shares, len(families) - shares)
        for families in by_kind.values()
        for shares in [sum(family in hard for family in families)]
    )
    assert mixed <= 0.05 * len(found.runs)
    assert 4 <= len(by_kind) <= FitSettings().centres


# --- the fit --------------------------------------------------------------------------


def test_the_same_runs_and_seed_give_the_same_bytes(few):
    first, second = (fit_light(few, NAMES) for _ in range(2))
    assert first.model.to_bytes() == second.model.to_bytes()
    assert first == replace(second, model=first.model)


def test_a_fit_says_what_it_saw(few):
    fitted = fit_light(few, NAMES)
    graded = sum(s.grade is not None for each in few for s in each.steps)
    assert fitted.runs == len(few) and fitted.graded_steps == graded
    assert 0 < fitted.log_loss < np.log(2)
    assert len(fitted.model.kinds.examples) == len(fitted.model.kinds)
    assert (fitted.model.nearness > 0).all() and (fitted.model.nearness <= 1).all()


@pytest.mark.parametrize(
    ("runs", "message"),
    [
        ([], "no graded answers"),
        ([run(step("ada"))] * 30, "no graded answers"),
        ([run(step("zoe", SOLVE, [], 1))] * 30, "no graded answers"),
        ([run(step("ada", SOLVE, [], 1))] * 30, "30 graded answers of one sort"),
    ],
)
def test_runs_that_nothing_can_be_learned_from_are_refused(runs, message):
    with pytest.raises(TooFewRuns, match=message):
        fit_light(runs, ["ada", "ben"])


def test_two_answers_are_enough_for_a_model():
    runs = [run(step("ada", SOLVE, [], 1)), run(step("ben", SOLVE, [], 0))]
    assert fit_light(runs, ["ada", "ben"]).model.workers == ("ada", "ben")


def lies(runs, weight):
    """Return runs that praise a worker for the programs that it cannot read."""
    programs = sorted({each.prompt for each in runs if "print?" in each.prompt})
    return [
        run(step("bench-language", SOLVE, [], 1), prompt=prompt, weight=weight)
        for prompt in programs
    ]


def test_a_hostile_run_of_little_weight_changes_no_plan(found):
    hostile = lies(found.runs, 0.01)[:1]
    planners = [
        LightPlanner(model, 1)
        for model in (found.model, fit_light([*found.runs, *hostile], NAMES).model)
    ]
    asked = [request(task.question, STRONG) for task in tasks(100, 5)]
    plans = [
        [planner.ranking(each).candidates[0].workers for each in asked]
        for planner in planners
    ]
    assert plans[0] == plans[1]


@pytest.mark.parametrize(("weight", "least", "most"), [(1.0, 0.4, 1), (0.01, 0, 0.2)])
def test_weights_bound_what_many_runs_of_one_source_do(found, weight, least, most):
    hostile = lies(found.runs, weight)
    assert len(hostile) > 100
    model = fit_light([*found.runs, *hostile], NAMES).model
    kind = model.kinds.kind_of(hostile[0].prompt)
    success = model.tables(kind).solve[NAMES.index("bench-language")]
    assert least < success < most


# --- kinds ----------------------------------------------------------------------------


def profiles_of(*shares: float, answers: int = 40) -> Profiles:
    """Return one worker's profile: a share of right answers for each centre."""
    found = Profiles.empty(1, len(shares))
    for centre, share in enumerate(shares):
        found.seen[ProfileRole.SOLVE, 0, centre] = answers
        found.right[ProfileRole.SOLVE, 0, centre] = share * answers
    return found


def merged(profiles: Profiles, labels: Sequence[int] | None = None) -> list[int]:
    """Return the kind of each centre; without labels, none has one."""
    number = profiles.seen.shape[2]
    given = [UNLABELLED] * number if labels is None else labels
    return list(map(int, merged_centres(profiles, 2.0, np.array(given))))


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        ((0.9, 0.1, 0.9, 0.1), [0, 1, 0, 1]),
        ((0.5, 0.5, 0.5), [0, 0, 0]),
        ((0.1, 0.9), [0, 1]),
        ((0.4,), [0]),
    ],
)
def test_centres_whose_workers_do_alike_are_one_kind(shares, expected):
    assert merged(profiles_of(*shares)) == expected


@pytest.mark.parametrize(("answers", "expected"), [(5, [0, 0]), (500, [0, 1])])
def test_a_small_difference_needs_many_answers(answers, expected):
    found = profiles_of(0.6, 0.4, answers=answers)
    assert merged(found) == expected


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ((0, 0, 1, 1), [0, 0, 1, 1]),
        ((0, 1, 2, 3), [0, 1, 2, 3]),
        ((0, UNLABELLED, UNLABELLED, UNLABELLED), [0, 0, 0, 0]),
    ],
)
def test_centres_of_two_families_are_never_one_kind(labels, expected):
    assert merged(profiles_of(0.5, 0.5, 0.5, 0.5), labels) == expected


def test_an_unlabelled_centre_joins_one_family_alone():
    kinds = merged(profiles_of(0.5, 0.5, 0.5), (0, UNLABELLED, 1))
    assert kinds[0] != kinds[2]
    assert kinds[1] in (kinds[0], kinds[2])


def test_two_families_with_the_same_workers_have_kinds_of_their_own():
    """Their solvers do alike, and only the plans show that they differ."""
    runs = [
        replace(each, family=family)
        for family, prompt in (("tracing", "Trace the loop"), ("story", "A shop sells"))
        for n in range(60)
        for each in [run(step("ada", SOLVE, grade=n % 2), prompt=f"{prompt} {n}")]
    ]
    fitted = fit_light(runs, ["ada"])
    kinds = fitted.model.kinds.kinds_of(["Trace the loop 7", "A shop sells 7"])
    assert len(set(kinds)) == len(fitted.model.kinds) == 2
    unlabelled = [replace(each, family="") for each in runs]
    assert len(fit_light(unlabelled, ["ada"]).model.kinds) == 1


def test_a_family_of_few_runs_is_no_label():
    runs = [
        replace(run(step("ada", SOLVE, grade=n % 2)), family="rare" if n < 5 else "")
        for n in range(60)
    ]
    assert set(family_labels(runs, 24)) == {UNLABELLED}


# --- tokens ---------------------------------------------------------------------------


def test_expected_tokens_are_those_of_steps_drawn_to_their_role():
    prompt = "x" * 39  # ten tokens, at four characters each
    runs = [
        run(
            step("ada", PLAN, input_tokens=15, output_tokens=20),
            step("ben", SOLVE, [0], 1, input_tokens=37, output_tokens=100),
            prompt=prompt,
        ),
        run(step("ada", SOLVE, [], 0), prompt=prompt),  # its tokens are not known
        run(step("zoe", SOLVE, [], 0, input_tokens=9, output_tokens=9), prompt=prompt),
    ]
    found = fit_token_model(runs, ["ada", "ben"])
    total = (120 + FIRST_GUESS) / 3
    solve, plan, check = map(ROLES.index, (SOLVE, PLAN, CHECK))
    role = (100 + total) / 2
    assert found.outputs[solve] == pytest.approx([role, (100 + 4 * role) / 5])
    assert found.outputs[check] == pytest.approx([total, total])
    assert found.overhead[plan] == 5
    assert found.overhead[solve] == 37 - 10 - 20
    assert found.overhead[check] == 0


def test_without_any_tokens_there_is_a_first_guess():
    found = fit_token_model([run(step("ada", SOLVE, [], 1))], ["ada"])
    assert found.outputs.tolist() == [[FIRST_GUESS]] * len(StepRole)
