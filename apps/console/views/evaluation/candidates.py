"""What the pages of shadow tests and of A/B tests share."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from uuid import UUID

from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from apps.accounts.models import Permission
from apps.accounts.principal import Principal
from apps.console.layout import change_and_tell, console_page, require
from apps.evaluation.models import CandidateTest
from apps.evaluation.promotions.promotion import (
    promotion_of,
    why_not_demotable,
    why_not_promotable,
)
from apps.pools.errors import PoolUnusable
from apps.pools.selectors import conductor_list, pool_list, pool_snapshot
from apps.pools.types import PoolSnapshot
from apps.web.team_access import TeamRequest

TAB = "evaluations"


def usable_pools(team_id: UUID) -> dict[str, PoolSnapshot]:
    """Return the pools that have a worker, by name; the default comes first."""
    found = {}
    for pool in pool_list(team_id).order_by("-is_default", "name"):
        with suppress(PoolUnusable):
            found[pool.name] = pool_snapshot(team_id, pool.name)
    return found


def conductor_names(team_id: UUID) -> list[str]:
    """Return the names of the team's conductors."""
    return [conductor.name for conductor in conductor_list(team_id)]


def candidate_change(
    request: TeamRequest,
    test: CandidateTest,
    change: Callable[..., None],
    *,
    obstacle: str = "",
    back: str,
    title: str,
    done: str,
    label: str,
) -> HttpResponseBase:
    """Promote a candidate or take that back, after asking.

    `obstacle`: a sentence that says why it is not possible yet, besides other reasons.
    """
    require(request, Permission.MANAGE_POOLS)
    principal: Principal = request.principal
    if request.method == "POST":
        return change_and_tell(
            request, lambda: change(test=test, principal=principal), done, back
        )
    context = {
        "title": title,
        "why_not": _why_not(test) or obstacle,
        "points": [*promotion_of(test), _("Runs in progress are not changed.")],
        "label": label,
        "back": back,
        "is_harmless": True,
    }
    return console_page(request, "console/confirm.html", context, tab=TAB)


def _why_not(test: CandidateTest) -> str:
    """Say why the change is impossible now; empty: it is possible."""
    if reason := why_not_promotable(test):
        words = _("The candidate cannot be promoted: %(reason)s.")
    elif reason := why_not_demotable(test):
        words = _("The promotion cannot be taken back: %(reason)s.")
    else:
        return ""
    return words % {"reason": reason}
