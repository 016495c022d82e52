"""Offers to calibrate workers that are new to a pool, with what it costs at most."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.console.templatetags.console_money import usd
from apps.core.errors import ConductorError
from apps.evaluation.calibration import TASKS_PER_FAMILY, calibration_values
from apps.evaluation.models import SuiteVersion
from apps.evaluation.selectors import newest_version, suite_list
from apps.evaluation.services import EvaluationEstimate, evaluation_estimate
from apps.pools.models import Pool, Worker, WorkerKind
from apps.pools.worker_figures.profiles import present_profiles
from apps.web.team_access import TeamRequest


def calibration_offer(
    request: TeamRequest, pool: Pool, workers: Sequence[Worker]
) -> None:
    """Say on the next page what a calibration of these workers would cost.

    Says nothing if all are calibrated, or the team has no suite that could do it.
    """
    names = [
        worker.name
        for worker in workers
        if worker.is_enabled
        and worker.kind == WorkerKind.CHAT
        and not present_profiles(worker)
    ]
    found = _possible(request.team.id, pool, names) if names else None
    if found is None:
        return
    version, estimate = found
    if estimate.highest_micros is None:
        takes = _(
            "On training tasks of {suite}, version {number}, that takes {runs} runs, "
            "and its cost is unknown, because a price is missing."
        )
    else:
        takes = _(
            "On training tasks of {suite}, version {number}, that takes {runs} runs, "
            "and it costs at most {cost}, retries apart."
        )
    takes = takes.format(
        suite=version.suite.name,
        number=version.number,
        runs=estimate.runs,
        cost=usd(estimate.highest_micros or 0),
    )
    who = ngettext(
        "{name} is not calibrated yet.",
        "{count} workers are not calibrated yet.",
        len(names),
    ).format(name=names[0], count=len(names))
    address = reverse("console:calibration_new", args=[pool.id])
    if len(names) == 1:
        address += f"?{urlencode({'worker': names[0]})}"
    messages.info(
        request,
        f"{who} {takes}",
        # The page makes it a link.
        extra_tags=address,
    )


def _possible(
    team_id: UUID, pool: Pool, names: Sequence[str]
) -> tuple[SuiteVersion, EvaluationEstimate] | None:
    """Return the first suite whose training tasks can measure the workers."""
    for suite in suite_list(team_id):
        with suppress(ConductorError):  # it has no training tasks, or needs a grader
            version = newest_version(suite)
            values = calibration_values(
                version,
                pool=pool.name,
                workers=names,
                tasks_per_family=TASKS_PER_FAMILY,
            )
            return version, evaluation_estimate(version=version, values=values)
    return None
