"""Lets systems learn from earlier evaluations, once, when an evaluation starts."""

from __future__ import annotations

from apps.audit.models import JobState
from apps.core.errors import InvalidInput
from apps.evaluation.earlier import RecordedEvaluation
from apps.evaluation.models import Evaluation, SuiteVersion
from apps.evaluation.selectors import access_evaluation
from apps.evaluation.settings import EvaluationSettings
from apps.evaluation.systems.base import MeasuredSystem
from apps.evaluation.systems.kinds import System


def with_measured(
    settings: EvaluationSettings, version: SuiteVersion
) -> EvaluationSettings:
    """Return the settings with what their systems have to know of workers.

    Raises: NotFound; InvalidInput if there is too little to know, or if it comes from
    the very tasks that are to be run.
    """
    systems = [_measured(system, settings, version) for system in settings.systems]
    return settings.model_copy(update={"systems": tuple(systems)})


def _measured(
    system: System, settings: EvaluationSettings, version: SuiteVersion
) -> System:
    if not isinstance(system, MeasuredSystem):
        return system
    earlier = access_evaluation(
        team_id=version.team_id, evaluation_id=system.measured_by
    )
    _require_other_tasks(system, earlier, settings, version)
    if earlier.state != JobState.DONE:
        raise _refused(system, f"evaluation {earlier.id} has not ended")
    try:
        return system.learned(RecordedEvaluation(earlier))
    except ValueError as exc:
        raise _refused(system, f"evaluation {earlier.id}: {exc}") from exc


def _require_other_tasks(
    system: MeasuredSystem,
    earlier: Evaluation,
    settings: EvaluationSettings,
    version: SuiteVersion,
) -> None:
    was = EvaluationSettings.model_validate(earlier.settings)
    if earlier.version.suite_id == version.suite_id and was.split == settings.split:
        raise _refused(
            system,
            f"evaluation {earlier.id} ran the same tasks; measure the workers on the "
            "training tasks or on another suite",
        )


def _refused(system: MeasuredSystem, why: str) -> InvalidInput:
    return InvalidInput(f"{system.label}: {why}", param="systems")
