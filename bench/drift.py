"""What becomes of a light planner when its world shifts, and how soon it is noticed.

In each of two worlds a planner learns from 2,000 runs. Then something shifts, and live
requests come, of which a fifth is graded: only their last answer, as with ratings and
verifiers. Success is exact, of held-out questions. Nothing was chosen on these seeds;
`--seeds 100 105` are those of the choices. Set `OPENBLAS_NUM_THREADS=1`.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from apps.planners.light.live.adaptation import Adaptation, GradedObservation, adapted
from apps.planners.light.model import LightModel
from apps.planners.light.planner import LightPlanner
from bench.drift_live import (
    HELD_OUT,
    HELD_OUT_SEED,
    Affected,
    Live,
    Lived,
    Plans,
    learned,
    lived,
    scores,
)
from bench.drift_worlds import DEAD, WORLDS, World
from bench.figures import keep, say

SEEDS = 20
RUNS = 2_000
ANEW_EVERY = 2
"""Seeds up to the next planner that is fitted anew, which takes longest."""
ANEW_SEED = 5_000
"""Added to a seed, for what that planner learns from."""
LEAST_DROP = 0.2
"""Success of a family that goes with a worker on which it depends."""
CALM_RUNS = 500
"""All of them graded."""
WORSE, DEARER = 0.4, 50
OBSERVED = 5_000
SPARSE = Live(requests=2_400, graded=0.05, every=800)
"""As many grades as usual, among four times as many requests."""


@dataclass(frozen=True)
class Shift:
    """What happens to a world."""

    name: str
    world: World
    """Afterwards."""
    where: Affected
    fingerprints: dict[str, str]
    """Afterwards; before, each worker's is its name."""


def main() -> None:
    """Measure, and keep the figures of the reported seeds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, SEEDS))
    first, last = parser.parse_args().seeds
    figures: dict[str, Any] = {
        "held_out": HELD_OUT,
        "runs": RUNS,
        "calm_runs": CALM_RUNS,
    }
    rows: list[dict[str, Any]] = []
    calm: list[dict[str, Any]] = []
    for seed in range(first, last):
        for world in WORLDS:
            model = learned(world, RUNS, seed)
            rows += shifted_rows(world, model, seed)
            calm.append(calm_row(world, model, seed))
            if seed == first:
                figures |= _times(world, model, seed)
        if first == 0:
            figures["rounds"] = seed + 1
            keep("drift", {**figures, "shifts": rows, "calm": calm})


def shifted_rows(world: World, model: LightModel, seed: int) -> list[dict[str, Any]]:
    """Return the figures of each shift of a seed."""
    chance = random.Random(f"shifts {seed}")  # nosec B311
    carried = list(_carried(world, model))
    usual = Live(seed=seed)
    rows = list(_lost_rows(world, model, chance.choice(carried), usual))
    worker = chance.choice(sorted({name for name, _ in carried}))
    families = [family for name, family in carried if name == worker]
    everything = _lost(world, "all skills lost", worker, world.families)
    rows.append(_row(world, model, everything, usual))
    for shift in _others(world, worker, families):
        live = replace(usual, fingerprints=shift.fingerprints)
        rows.append(_row(world, model, shift, live))
    return rows


def _lost_rows(
    world: World, model: LightModel, lost: tuple[str, str], usual: Live
) -> Iterator[dict[str, Any]]:
    """Yield the figures of a skill that is lost, with many grades and with few."""
    worker, family = lost
    shift = _lost(world, "skill lost", worker, [family])
    row = _row(world, model, shift, usual)
    if usual.seed % ANEW_EVERY == 0:
        anew = learned(shift.world, RUNS, ANEW_SEED + usual.seed)
        row["anew"] = scores(Plans(anew, shift.world, {}), shift.world).success
    yield row
    rarely = replace(shift, name="skill lost, 5 % graded")
    sparse = replace(SPARSE, seed=usual.seed, places=usual.places)
    yield _row(world, model, rarely, sparse)


def _lost(world: World, name: str, worker: str, families: Sequence[str]) -> Shift:
    after = world.weakened(worker, families, DEAD)
    return Shift(name, after, Affected(worker, families), {})


def _others(world: World, worker: str, families: Sequence[str]) -> Iterator[Shift]:
    """Yield the shifts that the site knows of by itself: of models and prices."""
    where = Affected(worker, families)
    now = {name: name for name in world.names} | {worker: "another"}
    worse = world.weakened(worker, world.families, WORSE)
    yield Shift("another model, worse", worse, where, now)
    yield Shift("another model, better", world.strengthened(worker), where, now)
    dearer = world.dearer(worker, DEARER)
    yield Shift(f"{DEARER} times dearer", dearer, where, {})


def _carried(world: World, model: LightModel) -> Iterator[tuple[str, str]]:
    """Yield the workers on which the plans for a family depend, with the family."""
    plans = Plans(model, world, {})
    for family in world.families:
        asked = (each for each in world.questions(HELD_OUT, HELD_OUT_SEED))
        question = next(each.question for each in asked if each.family == family)
        template, names, _ = plans.best(question)
        before = world.success(template, names, family)
        for name in dict.fromkeys(names):
            without = world.weakened(name, [family], DEAD)
            if before - without.success(template, names, family) >= LEAST_DROP:
                yield name, family


def _row(world: World, model: LightModel, shift: Shift, live: Live) -> dict[str, Any]:
    before = scores(Plans(replace(model), world, {}), world)
    known = {name: name for name in world.names} if shift.fingerprints else {}
    adaptation = Adaptation(replace(model, fingerprints=known))
    found = lived(adaptation, shift.world, live, shift.where)
    row = {
        "world": world.name,
        "shift": shift.name,
        "seed": live.seed,
        "worker": shift.where.worker,
        "families": list(shift.where.families),
        "before": before._asdict(),
        "oracle": _oracle(shift.world),
        "scores": [each._asdict() for each in found.scores],
        "gap_first": _gap(found, 0, 100),
        "graded": found.graded,
        "affected": found.affected,
        "is_detected": found.is_detected,
        "others_blamed": _others_blamed(model, found, shift.where.worker),
    }
    say(f"  {world.name} {live.seed} {shift.name}: {_short(row)}")
    return row


def _oracle(world: World) -> float:
    asked = world.questions(HELD_OUT, HELD_OUT_SEED)
    return statistics.fmean(world.oracle(each.family).success for each in asked)


def _gap(found: Lived, first: int, last: int) -> float:
    """Return what was promised of some runs more than their plans deserve."""
    promised, exact = found.promised[first:last], found.exact[first:last]
    return statistics.fmean(promised) - statistics.fmean(exact)


def _others_blamed(model: LightModel, found: Lived, worker: str) -> int:
    return sum(model.workers[each.cell.worker] != worker for each in found.broken)


def _short(row: dict[str, Any]) -> str:
    curve = " ".join(f"{each['success']:.3f}" for each in row["scores"])
    seen = f"{row['affected']} affected, " + (
        "seen" if row["is_detected"] else "unseen"
    )
    return f"{row['before']['success']:.3f} > {curve} of {row['oracle']:.3f}, {seen}"


def calm_row(world: World, model: LightModel, seed: int) -> dict[str, Any]:
    """Return what happens where nothing shifts and each run is graded."""
    live = Live(requests=CALM_RUNS, graded=1.0, every=CALM_RUNS, seed=seed)
    found = lived(Adaptation(model), world, live)
    row = {
        "world": world.name,
        "seed": seed,
        "graded": found.graded,
        "alarms": [
            {
                "worker": model.workers[each.cell.worker],
                "ability": each.cell.ability.value,
                "promised": each.promised,
                "observed": each.observed,
            }
            for each in found.broken
        ],
        "gap": _gap(found, 0, CALM_RUNS),
        "scores": [each._asdict() for each in found.scores],
    }
    say(f"  {world.name} {seed} calm: {len(found.broken)} alarms, {row['gap']:+.3f}")
    return row


def _times(world: World, model: LightModel, seed: int) -> dict[str, Any]:
    """Return what plans and grades take, in CPU time."""
    chance = random.Random(f"observed {seed}")  # nosec B311
    plans = Plans(model, world, {})
    observations = []
    for number, asked in enumerate(world.questions(OBSERVED, 88_000 + seed)):
        template, names, _ = plans.best(asked.question)
        kind = plans.ranking(asked.question).kind
        run = world.run(chance, asked, template, names)
        observations.append(GradedObservation(str(number), kind, run))
    began = time.process_time()
    after = adapted(model, observations).model
    took = time.process_time() - began
    times = {"adapted_s": took, "plan_ms": _plan_ms(world, after)}
    return {f"times of {world.name}": times}


def _plan_ms(world: World, model: LightModel) -> list[float]:
    """Return the median and the 95th percentile; no table is kept between plans."""
    taken = []
    for asked in world.questions(HELD_OUT, HELD_OUT_SEED):
        planner = LightPlanner(replace(model), 1, world.worth_micros)
        request = world.request(asked.question)
        began = time.process_time()
        planner.ranking(request)
        taken.append(1000 * (time.process_time() - began))
    parts = statistics.quantiles(taken, n=20)
    return [statistics.median(taken), parts[-1]]


if __name__ == "__main__":
    main()
