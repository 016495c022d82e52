"""Which results of an evaluation are wanted: those behind one figure of its report."""

from __future__ import annotations

from dataclasses import dataclass, fields

from django.db.models import Exists, OuterRef, Q, QuerySet

from apps.core.scoping import TeamQuerySet
from apps.engine.errors import PlanFault
from apps.evaluation.models import GRADED, Evaluation, EvaluationResult, ResultState
from apps.evaluation.selectors import results_of
from apps.runs.models import Step

WITHOUT, REJECTED = "without", "rejected"
"""What can be asked about plans, beside a `PlanFault`."""
ORACLE = "oracle"
"""Stands for all systems together, where a system is compared with another."""


@dataclass(frozen=True, slots=True)
class ResultFilters:
    """What results must be. Empty: anything."""

    system: str = ""
    """Its place in the settings."""
    family: str = ""
    state: str = ""
    plan: str = ""
    """WITHOUT, REJECTED or a `PlanFault`."""
    worker: str = ""
    """Did one of the steps."""
    against: str = ""
    """Place of a system of which one was right and the other was not; or `ORACLE`:
    another system was right, and this one was not."""

    @property
    def given(self) -> dict[str, str]:
        """Return those that are not empty, by name."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: value for name, value in values.items() if value}


def results_found(
    evaluation: Evaluation, filters: ResultFilters
) -> QuerySet[EvaluationResult]:
    """Return the results that have ended and fit, with their tasks, in order.

    Filters that make no sense are left out.
    """
    systems = len(evaluation.settings["systems"])
    rows = results_of(evaluation).filter(state__in=GRADED)
    if (place := _place(filters.system, systems)) is not None:
        rows = rows.filter(system=place)
    if filters.family:
        rows = rows.filter(task__family=filters.family)
    if filters.state in GRADED:
        rows = rows.filter(state=filters.state)
    if filters.plan == WITHOUT:
        rows = rows.filter(is_unplanned=True)
    elif filters.plan == REJECTED:
        rows = rows.filter(rejected_plans__gt=0)
    elif filters.plan in set(PlanFault):
        rows = rows.filter(plan_faults__has_key=filters.plan)
    if filters.worker:
        steps = Step.objects.for_team(evaluation.team_id).exclude(state="skipped")
        its_own = steps.filter(run_id=OuterRef("run_id"), worker=filters.worker)
        rows = rows.filter(Exists(its_own))
    if filters.against:
        rows = _differing(evaluation, rows, filters.against)
    return rows.select_related("task").order_by("place")


def _place(given: str, systems: int) -> int | None:
    if given.isdecimal() and given.isascii() and int(given) < systems:
        return int(given)
    return None


def _differing(
    evaluation: Evaluation, rows: TeamQuerySet[EvaluationResult], against: str
) -> TeamQuerySet[EvaluationResult]:
    """Keep the results that another system, or the oracle, has differently.

    The results of a task lie side by side, so others are found by their places.
    """
    systems = len(evaluation.settings["systems"])
    first = OuterRef("place") - OuterRef("system")
    others = results_of(evaluation).filter(state__in=GRADED)
    right, is_right = others.filter(state=ResultState.RIGHT), Q(state=ResultState.RIGHT)
    if against == ORACLE:
        any_right = right.filter(place__gte=first, place__lt=first + systems)
        return rows.filter(~is_right, Exists(any_right))
    if (place := _place(against, systems)) is None:
        return rows
    other = others.filter(place=first + place)
    was_right = Exists(other.filter(state=ResultState.RIGHT))
    was_wrong = Exists(other.exclude(state=ResultState.RIGHT))
    return rows.filter((is_right & was_wrong) | (~is_right & was_right))
