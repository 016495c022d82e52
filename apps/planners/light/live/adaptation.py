"""Brings a light planner's model up to date with what was graded since its fit.

Every graded run counts at once: its answers are added to the counts of their cells, in
which older answers lose weight. The promise that the model makes of a cell is watched
meanwhile; where it is broken, what was known before is discounted. The same
observations always lead to the same model, so nothing is stored that could drift, and
whatever was noticed can be taken back. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from apps.planners.light.fingerprints import changed_workers
from apps.planners.light.live.hidden_grades import possibilities
from apps.planners.light.live.promise_monitor import PromiseDetector
from apps.planners.light.logged_runs import LoggedRun
from apps.planners.light.model import LightModel, SuccessTables
from apps.planners.light.profiles import ProfileRole, Profiles, profile_roles
from apps.planners.light.situation_counts import SituationCounts
from apps.planners.light.situations import NONE, Act, Situation

TABLES_AGE = 5
"""Observations of a kind after which its success is computed anew."""
PROMISES_AGE = 40
"""The same of what counts as promised: a model that follows wrong answers at once would
excuse them."""
LEAST_KEPT = 0.2
"""What the age of an observation leaves of its weight, at least: that nothing was seen
for long does not mean that nothing holds any more."""
KEPT_MOST = 1.0
"""Answers that all earlier ones count in a role, at most, once a promise was broken: a
share of hundreds would still outweigh the few wrong ones that broke it."""


@dataclass(frozen=True, slots=True)
class AdaptationSettings:
    """How fast what was observed loses weight."""

    half_life_answers: float = 50.0
    """Answers of a worker in one role and kind after which earlier ones count half."""
    half_life_days: float = 90.0
    discounted: float = 0.05
    """What earlier answers keep of their weight when a promise was broken."""


@dataclass(frozen=True, slots=True)
class GradedObservation:
    """A run that was graded after the fit."""

    run_id: str
    kind: int
    """The model's, of its prompt."""
    run: LoggedRun
    """Its prompt is not read."""
    age_days: float = 0.0
    fingerprints: Mapping[str, str] = field(default_factory=dict)
    """Of the model behind each worker then. One that is not there is not known."""


class Ability(StrEnum):
    """What a worker's success is promised in."""

    ANSWER = "answer"
    """Right answers, with a plan in sight or without."""
    CHECK = "check"
    """Wrong drafts that are corrected."""
    PLAN = "plan"
    """Right answers of others by its plan."""


ROLES: Mapping[Ability, tuple[ProfileRole, ...]] = {
    Ability.ANSWER: (ProfileRole.SOLVE, ProfileRole.GUIDED),
    Ability.CHECK: (ProfileRole.CHECK,),
    Ability.PLAN: (ProfileRole.PLAN,),
}
ABILITIES = {role: ability for ability, roles in ROLES.items() for role in roles}


class Cell(NamedTuple):
    """What is promised of: a worker's ability, for one kind of prompt."""

    ability: Ability
    worker: int
    kind: int


@dataclass(frozen=True, slots=True)
class Shortfall:
    """A cell whose success fell below what was promised."""

    cell: Cell
    run_id: str
    """Of the observation that decided."""
    seen: float
    """Answers since it was last as promised, by weight."""
    promised: float
    """Mean success promised for them, from 0 to 1."""
    observed: float
    """Their mean success."""


Unwatched = Mapping[Cell, str]
"""Cells whose promises are not watched up to a run: the id of the first one after it,
which are in order. So what a person has dismissed does not come again at once."""
NOTHING: Unwatched = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Adapted:
    """A model that is up to date, and what was noticed on the way."""

    model: LightModel
    broken: tuple[Shortfall, ...]


def adapted(
    model: LightModel,
    observations: Sequence[GradedObservation],
    settings: AdaptationSettings = AdaptationSettings(),
    *,
    fit_age_days: float = 0.0,
    unwatched: Unwatched = NOTHING,
) -> Adapted:
    """Return the model after some observations, in the order in which they were graded.

    Answers of workers that the model does not know are left out.
    """
    adaptation = Adaptation(model, settings, fit_age_days, unwatched)
    for observation in observations:
        adaptation.observe(observation)
    return Adapted(adaptation.current(), tuple(adaptation.broken))


class _Aged(NamedTuple):
    """Tables, and how many observations they were used for."""

    tables: SuccessTables
    age: int = 0


@dataclass
class Adaptation:
    """A model on its way through observations."""

    fitted: LightModel
    settings: AdaptationSettings = AdaptationSettings()
    fit_age_days: float = 0.0
    unwatched: Unwatched = field(default_factory=dict)
    broken: list[Shortfall] = field(default_factory=list)

    def __post_init__(self) -> None:
        kept = self._kept_by_age(self.fit_age_days)
        model = self.fitted
        self.profiles = Profiles(
            model.profiles.seen * kept, model.profiles.right * kept
        )
        arrays = model.counts.arrays()
        self.counts = SituationCounts(**{n: a * kept for n, a in arrays.items()})
        self.fingerprints = model.fingerprints
        self.kept_by_answer = 0.5 ** (1 / self.settings.half_life_answers)
        self.index_of = {name: place for place, name in enumerate(model.workers)}
        self.detectors: dict[Cell, PromiseDetector] = {}
        self.run_id = ""
        self._tables: dict[int, _Aged] = {}
        self._promises: dict[int, _Aged] = {}

    def current(self) -> LightModel:
        """Return the model with the present counts; what it computes is its own."""
        return replace(
            self.fitted,
            profiles=self.profiles,
            counts=self.counts,
            fingerprints=self.fingerprints,
        )

    def observe(self, observation: GradedObservation) -> None:
        """Take one graded run in."""
        self._follow_models(observation.fingerprints)
        self.run_id, kind = observation.run_id, observation.kind
        tables, promises = self._tables_of(kind), self._promises_of(kind)
        weight = observation.run.weight * self._kept_by_age(observation.age_days)
        ways = possibilities(
            observation.run, self.index_of, lambda one: success_in(tables, one)
        )
        answers = [(way.share, one) for way in ways for one in way.situations]
        watched = {
            cell: self.detectors[cell]
            for share, situation in answers
            for cell in self._watched(situation, kind, promises, share * weight)
        }
        for share, situation in answers:
            self._count(situation, kind, share * weight)
        blame = sum(detector.evidence for detector in watched.values())
        for cell, detector in watched.items():
            if detector.is_broken:
                self._break(cell, observation.run_id, detector.evidence / blame)

    def _follow_models(self, fingerprints: Mapping[str, str]) -> None:
        """Let what was learned of models count little that others took the place of."""
        changed = changed_workers(self.fingerprints, fingerprints)
        if not changed:
            return
        known = self.current().known_now({**self.fingerprints, **fingerprints})
        self.profiles, self.counts = known.profiles, known.counts
        self.fingerprints = known.fingerprints
        places = {self.index_of[name] for name in changed if name in self.index_of}
        self.detectors = {
            cell: detector
            for cell, detector in self.detectors.items()
            if cell.worker not in places
        }
        self._forget_tables()

    def _watched(
        self, situation: Situation, kind: int, promises: SuccessTables, weight: float
    ) -> Iterator[Cell]:
        """Compare an answer with its promise; yield the cells that had a part in it."""
        promised = success_in(promises, situation)
        for role, worker in profile_roles(situation):
            cell = Cell(ABILITIES[role], worker, kind)
            if self.run_id < self.unwatched.get(cell, ""):
                continue
            detector = self.detectors.setdefault(cell, PromiseDetector())
            detector.observe(promised, float(situation.is_right), min(1.0, weight))
            yield cell

    def _count(self, situation: Situation, kind: int, weight: float) -> None:
        kept = self.kept_by_answer**weight
        self.profiles.add(situation, kind, weight, kept)
        self.counts.add(situation, kind, weight, kept)

    def _break(self, cell: Cell, run_id: str, blame: float) -> None:
        """Note a broken promise, and let what was known before count little.

        `blame` is the share of this cell in what stands against all that had a part in
        the answer: whether a plan or who followed it was wrong, the grade does not say.
        """
        detector = self.detectors.pop(cell)
        self.broken.append(
            Shortfall(
                cell,
                run_id,
                detector.seen,
                detector.promised / detector.seen,
                detector.right / detector.seen,
            )
        )
        self._discount(cell, detector, blame)
        self._forget_tables()

    def _discount(self, cell: Cell, detector: PromiseDetector, blame: float) -> None:
        ability, worker, kind = cell
        kept = self._kept_after(cell, (1 - blame) * detector.seen)
        for role in ROLES[ability]:
            place = role, worker, kind
            for counts, since in (
                (self.profiles.seen, detector.seen),
                (self.profiles.right, detector.right),
            ):
                counts[place] = kept * counts[place] + blame * since
        solve, guided, check, _ = self.counts.arrays().values()
        if ability is Ability.ANSWER:
            solve[:, worker, kind] *= kept
            guided[:, :, worker, kind] *= kept
        elif ability is Ability.PLAN:
            guided[:, worker, :, kind] *= kept
        else:
            check[:, :, 0, :, worker, kind] *= kept

    def _kept_after(self, cell: Cell, innocent: float) -> float:
        """Return what the answers before a broken promise keep of their weight.

        Together they weigh no more than `KEPT_MOST` answers, or than as many as were
        wrong by somebody else's fault.
        """
        seen = self.profiles.seen[list(ROLES[cell.ability]), cell.worker, cell.kind]
        total = float(seen.max())
        share = max(KEPT_MOST, innocent) / total if total > 0 else 0.0
        most = self.settings.discounted if innocent < KEPT_MOST else 1.0
        return min(most, share)

    def _tables_of(self, kind: int) -> SuccessTables:
        return self._aged(self._tables, kind, TABLES_AGE)

    def _promises_of(self, kind: int) -> SuccessTables:
        return self._aged(self._promises, kind, PROMISES_AGE)

    def _aged(self, kept: dict[int, _Aged], kind: int, most: int) -> SuccessTables:
        found = kept.get(kind)
        if found is None or found.age >= most:
            found = _Aged(self.current().tables(kind))
        kept[kind] = found._replace(age=found.age + 1)
        return found.tables

    def _forget_tables(self) -> None:
        self._tables.clear()
        self._promises.clear()

    def _kept_by_age(self, days: float) -> float:
        halvings = days / self.settings.half_life_days
        return float(max(LEAST_KEPT, 0.5**halvings))


def success_in(tables: SuccessTables, situation: Situation) -> float:
    """Return the probability of a right answer in a situation.

    Of many answers that are combined, it is that of three with the same share right.
    """
    worker, planner = situation.worker, situation.planner
    if situation.act is Act.SOLVE:
        solve = (
            tables.solve[worker] if planner == NONE else tables.guided[planner, worker]
        )
        return float(solve)
    if situation.act is Act.CHECK:
        planned, right = int(situation.is_draft_planned), int(situation.was_right)
        return float(tables.check[planned, right, situation.drafter, worker])
    drafts = situation.right + situation.wrong
    if drafts == 2:
        return float(tables.combine_two[situation.right, worker])
    share = round(3 * situation.right / drafts)
    return float(tables.combine_three[share, worker])
