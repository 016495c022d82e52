"""One suite: its versions, and the tasks of one of them."""

from __future__ import annotations

from urllib.parse import urlencode
from uuid import UUID

from django.core.paginator import Paginator
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_GET

from apps.accounts.models import Permission
from apps.console.evaluations.suite_rows import task_views
from apps.console.layout import console_page, require
from apps.evaluation.models import SuiteVersion
from apps.evaluation.selectors import access_suite_by_id, access_version, suite_versions
from apps.evaluation.suites.reads import task_counts, task_lines, task_rows
from apps.web.downloads import download
from apps.web.team_access import TeamRequest, team_view

TAB = "evaluations"
TASKS_PER_PAGE = 50
FILE_TYPE = "application/jsonl"


@require_GET
@team_view
def suite_page(request: TeamRequest, suite_id: UUID) -> HttpResponseBase:
    """Show the versions of a suite, and the tasks of the newest or another one."""
    version = _version(request, suite_id)
    asked = {name: request.GET.get(name, "") for name in ("family", "split")}
    rows = task_rows(version, **asked)
    found = Paginator(rows, TASKS_PER_PAGE).get_page(request.GET.get("page"))
    versions = list(suite_versions(version.suite))
    kept = {"version": version.number, **asked}
    context = {
        "suite": version.suite,
        "version": version,
        "versions": versions,
        "is_newest": version.number == versions[0].number,
        "counts": task_counts(version),
        "asked": asked,
        "found": found,
        "tasks": task_views(found),
        "query": urlencode({name: value for name, value in kept.items() if value}),
    }
    return console_page(request, "console/suite.html", context, tab=TAB)


@require_GET
@team_view
def suite_file(request: TeamRequest, suite_id: UUID) -> HttpResponseBase:
    """Return the tasks of a version as JSON Lines."""
    version = _version(request, suite_id)
    name = f"suite-{version.suite_id}-v{version.number}.jsonl"
    return download(request, task_lines(version), name=name, kind=FILE_TYPE)


def _version(request: TeamRequest, suite_id: UUID) -> SuiteVersion:
    """Return the version that is asked for, or the newest. Raises: NotFound."""
    require(request, Permission.READ_RUNS)
    suite = access_suite_by_id(team_id=request.team.id, suite_id=suite_id)
    number = request.GET.get("version", "")
    is_number = number.isascii() and number.isdecimal() and len(number) < 10
    return access_version(suite, int(number) if is_number else None)
