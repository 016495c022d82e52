"""The site's status for its operator: processes, queue, workers, ledger, warnings.

For superusers: it names all teams and their workers, and shows no content of runs. It
shows the database's view; what one process counts is at `/metrics`.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import timedelta
from importlib.metadata import version
from typing import Any
from urllib.parse import urlsplit

import django
from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.db import connection
from django.db.models import Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from apps.accounts.models import Team
from apps.audit.checkpoints.creation import uncovered_s
from apps.audit.models import ChainHead
from apps.pools.selectors import price_list_checked_at
from apps.runs.coordination.site_status import (
    ENOUGH_CALLS,
    LATELY,
    SHOWN,
    HourOfRuns,
    SiteStatus,
    TroubledRun,
    WorkerStatus,
    runs_by_hour,
    site_status,
    troubled_runs,
    worker_statuses,
)
from apps.runs.models import ProcessKind
from apps.web.documentation.library import site_version
from apps.web.formats import duration

REFRESH_S = 10
SLOT = 10
"""Width of an hour in the picture's own units."""
BAR_HEIGHT = 100
PATIENCE_S = 30.0
"""A run that has waited longer than this is worth a warning."""
COVERED_S = 60.0
"""The ledger's promise: within this time an entry has a copied checkpoint."""
STALE = timedelta(days=3)
"""A price list is fetched once a day; two days may be the fault of its server."""
PACKAGES = ("django", "channels", "uvicorn", "celery", "redis", "psycopg")


@require_safe
def site_operations(request: HttpRequest) -> HttpResponse:
    """Show how the site stands; with `?live=1` the page loads itself again."""
    if not request.user.is_superuser:
        raise PermissionDenied
    standing, troubled, workers = site_status(), troubled_runs(), worker_statuses()
    behind_s = uncovered_s()
    context = {
        "tab": "site_operations",
        "title": "Operations",
        "standing": standing,
        "live_runs": standing.unfinished - standing.waiting,
        "oldest_waiting": _seconds(standing.oldest_waiting_s),
        "troubled": troubled,
        "workers": [(worker, duration(worker.latency_ms)) for worker in workers],
        "enough_calls": ENOUGH_CALLS,
        "hours": int(LATELY.total_seconds() // 3600),
        "warnings": _all_warnings(standing, troubled, workers, behind_s),
        "checkpoints_behind": _seconds(behind_s) if behind_s else None,
        "chains": _chains(),
        "entries": ChainHead.objects.aggregate(sum=Sum("seq"))["sum"] or 0,
        "versions": _versions(),
        **_chart(runs_by_hour()),
        "refresh_s": REFRESH_S if request.GET.get("live") == "1" else None,
        "now": timezone.now(),
    }
    return render(request, "site/operations.html", context)


def site_warnings() -> list[str]:
    """Return what needs an operator's attention, as sentences."""
    found = site_status(), troubled_runs(), worker_statuses()
    return _all_warnings(*found, uncovered_s())


def _all_warnings(
    standing: SiteStatus,
    troubled: Sequence[TroubledRun],
    workers: Sequence[WorkerStatus],
    behind_s: float,
) -> list[str]:
    return [
        *_warnings(standing, troubled, workers),
        *_ledger_warnings(behind_s),
        *_price_warnings(),
    ]


def _chart(hours: Sequence[HourOfRuns]) -> dict[str, Any]:
    """Return the bars of the hours for SVG, with failed runs at the bottom."""
    top = max(hour.runs for hour in hours)
    bars = [
        {
            **asdict(hour),
            "left": SLOT * number,
            "top": BAR_HEIGHT - _height(hour.runs, top),
            "height": _height(hour.runs, top),
            "failed_top": BAR_HEIGHT - _height(hour.failed, top),
            "failed_height": _height(hour.failed, top),
        }
        for number, hour in enumerate(hours)
    ]
    return {"bars": bars, "bars_top": top, "bars_width": SLOT * len(bars)}


def _height(number: int, top: int) -> float:
    return round(BAR_HEIGHT * number / top, 2) if top else 0


def _warnings(
    standing: SiteStatus,
    troubled: Sequence[TroubledRun],
    workers: Sequence[WorkerStatus],
) -> Iterator[str]:
    """Yield warnings for the operator, as sentences."""
    web = standing.live_processes(ProcessKind.WEB)
    workers_at_work = standing.live_processes(ProcessKind.WORKER)
    if standing.oldest_waiting_s > PATIENCE_S:
        age = _seconds(standing.oldest_waiting_s)
        yield f"Runs that wait for a process: {standing.waiting}, the first for {age}."
    if settings.BACKGROUND_RUNS == "workers" and not workers_at_work:
        yield "No worker process holds a lease, so background runs wait for web ones."
    if standing.expired:
        yield f"Leases that ran out, of dead or halted processes: {standing.expired}."
    if given_up := sum(1 for run in troubled if run.is_given_up):
        yield f"Runs given up, because their processes kept dying: {given_up}."
    if web > 1 and not settings.REDIS_URL:
        yield (
            f"There are {web} web processes, and REDIS_URL is not set: pages do not "
            "hear of each other's runs, and rates are counted apart."
        )
    failing = [worker for worker in workers if worker.failures * 2 >= worker.calls]
    if failing:
        names = ", ".join(f"{worker.worker} of {worker.team}" for worker in failing[:5])
        yield f"At least half of the steps failed at {names}."
    if settings.DEBUG:
        yield "DEBUG is on: error pages show settings and code."


def _ledger_warnings(behind_s: float) -> Iterator[str]:
    if behind_s > COVERED_S:
        yield (
            f"Signed checkpoints are {_seconds(behind_s)} behind the ledger: no "
            "process makes them, CHECKPOINT_DIR cannot be written, or the head of a "
            "chain was moved without the site's key; see the log."
        )


def _price_warnings() -> Iterator[str]:
    if not settings.PRICE_LIST_URL:
        return
    host = urlsplit(settings.PRICE_LIST_URL).hostname
    advice = "see the log, or run: python manage.py prices_update"
    checked_at = price_list_checked_at()
    if checked_at is None:
        yield (
            f"The price list of PRICE_LIST_URL has not come from {host} yet, so list "
            f"prices are those of this version: {advice}."
        )
    elif (age := timezone.now() - checked_at) > STALE:
        yield (
            f"The price list of PRICE_LIST_URL last came from {host} "
            f"{age.days} days ago: {advice}."
        )


def _chains() -> list[dict[str, Any]]:
    """Return the longest chains, with the names of their teams."""
    heads = list(ChainHead.objects.order_by("-seq")[:SHOWN])
    teams = Team.objects.filter(id__in=[head.team_id for head in heads])
    names = dict(teams.values_list("id", "name"))
    return [
        {
            "team_id": head.team_id,
            "name": names.get(head.team_id, "A deleted team"),
            "seq": head.seq,
            "hash": head.hash,
        }
        for head in heads
    ]


def _versions() -> list[tuple[str, str]]:
    found = ".".join(map(str, connection.get_database_version()))
    return [
        ("conductor", site_version() or "not known"),
        ("python", platform.python_version()),
        *((name, version(name)) for name in PACKAGES if name != "django"),
        ("django", django.get_version()),
        (connection.vendor, found),
    ]


def _seconds(seconds: float) -> str:
    return duration(round(seconds * 1000))
