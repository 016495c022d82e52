"""The status of the site, for every member: parts, whether they work, what it means.

It names no host, no other team and none of their runs; the operator's own page does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.core.cache import cache
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_safe

from apps.audit.browsing.chain_status import checkpoint_time
from apps.audit.checkpoints.creation import uncovered_s
from apps.console.home.needs import is_failing
from apps.console.layout import console_page
from apps.console.pool_rows import conductor_rows
from apps.core.redis_outage import redis_outage
from apps.runs.coordination.site_status import SiteStatus, site_status
from apps.runs.models import ProcessKind
from apps.web import formats
from apps.web.team_access import TeamRequest, team_view

WAIT_S = 30.0
"""A run that waits longer for a process is worth a word."""
COVERED_S = 60.0
"""The ledger's promise: within this time an entry has a copied checkpoint."""


@dataclass(frozen=True, slots=True)
class SitePart:
    """A part of the site."""

    title: str
    is_well: bool
    text: str
    url: str = ""
    """Where more about it is; empty: nowhere."""
    checkpoint_at: datetime | None = None
    """When the last checkpoint of the team's own ledger was signed."""


@require_safe
@team_view
def status_page(request: TeamRequest) -> HttpResponseBase:
    """Show whether the site works, part by part."""
    parts = list(_parts(request))
    context = {
        "section": "",
        "parts": parts,
        "is_well": all(part.is_well for part in parts),
        "now": timezone.now(),
    }
    return console_page(request, "console/status.html", context, tab="status")


def _parts(request: TeamRequest) -> Iterator[SitePart]:
    yield SitePart(
        gettext("Pages and database"), True, gettext("This page was read from it.")
    )
    standing = site_status()
    yield _processes(standing)
    yield _queue(standing)
    if settings.REDIS_URL:
        yield _redis()
    yield _ledger(request)
    yield _conductors(request)


def _processes(standing: SiteStatus) -> SitePart:
    web = standing.live_processes(ProcessKind.WEB)
    workers = standing.live_processes(ProcessKind.WORKER)
    needs_workers = settings.BACKGROUND_RUNS == "workers"
    if not web + workers:
        text = gettext("No process executes runs at the moment.")
    elif needs_workers and not workers:
        text = gettext("No worker process is there for runs in the background.")
    else:
        number = web + workers
        text = ngettext(
            "{count} process executes runs.", "{count} processes execute runs.", number
        ).format(count=number)
    is_well = bool(workers if needs_workers else web + workers)
    return SitePart(gettext("Processes"), is_well, text)


def _queue(standing: SiteStatus) -> SitePart:
    late = standing.oldest_waiting_s > WAIT_S
    text = gettext("No run waits long for a process.")
    if late:
        text = gettext("The run that waits longest for a process has waited {time}.")
    shown = text.format(time=_time(standing.oldest_waiting_s))
    return SitePart(gettext("Queue of runs"), not late, shown)


def _redis() -> SitePart:
    cache.get("status")  # notes an outage
    text = (
        gettext(
            "It does not answer: pages hear of runs later, and rates are counted "
            "by each process."
        )
        if redis_outage.is_on
        else gettext("It answers.")
    )
    return SitePart(gettext("Redis"), not redis_outage.is_on, text)


def _ledger(request: TeamRequest) -> SitePart:
    behind_s = uncovered_s()
    late = behind_s > COVERED_S
    text = gettext("Every entry older than {time} has a signed checkpoint.")
    if late:
        text = gettext("The last signed checkpoint is {time} behind the entries.")
    shown = _time(behind_s if late else COVERED_S)
    return SitePart(
        gettext("Ledger"),
        not late,
        text.format(time=shown),
        checkpoint_at=checkpoint_time(request.team.id),
    )


def _conductors(request: TeamRequest) -> SitePart:
    rows = conductor_rows(request.team.id)
    failing = sum(map(is_failing, rows))
    url = reverse("console:conductor_list")
    title = gettext("Conductors of your team")
    if not rows:
        text = gettext("There is none, so one worker answers each prompt.")
    elif failing:
        text = ngettext(
            "{count} failed its last test.", "{count} failed their last test.", failing
        ).format(count=failing)
    else:
        text = gettext("None failed its last test.")
    if untested := sum(row.test is None for row in rows):
        text += " " + ngettext(
            "{count} was never tested and counts as working.",
            "{count} were never tested and count as working.",
            untested,
        ).format(count=untested)
    return SitePart(title, not failing, text, url)


def _time(seconds: float) -> str:
    return formats.duration(round(seconds * 1000))
