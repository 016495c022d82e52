"""Where the palette looks, each source within the rights of the member who asks."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence

from django.db.models import Q
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from apps.accounts.models import Permission, Role
from apps.accounts.selectors import member_list, role_allows
from apps.console.palette.matching import MOST, Hit, HitGroup, matching
from apps.conversations.selectors import conversation_list, titles_of
from apps.core.errors import NotFound
from apps.pools.selectors import conductor_list, pool_list, worker_list
from apps.presets.selectors import preset_list
from apps.runs.models import Run
from apps.runs.selectors import access_run, run_list
from apps.runs.types import RunFilters
from apps.web.documentation.library import doc_list
from apps.web.navigation import nav_places
from apps.web.team_access import TeamRequest, site_places

RUN_WORDS = 2
"""Characters from which on titles of runs and conversations are searched."""
P = Permission
ACTIONS = (
    (_("New chat"), "playground:index", P.RUN, "ask prompt"),
    (_("New preset"), "console:preset_new", P.RUN, "prompt template"),
    (_("Add a worker"), "console:worker_new", P.MANAGE_POOLS, "new model provider"),
    (_("Add a conductor"), "console:conductor_new", P.MANAGE_POOLS, "new planner"),
    (_("Make a pool"), "console:pool_new", P.MANAGE_POOLS, "new"),
    (_("Invite a member"), "console:invitation_create", P.MANAGE_MEMBERS, "new person"),
    (_("Create an API key"), "console:key_create", P.MANAGE_KEYS, "new token"),
    (_("Set a budget"), "console:budget_create", P.MANAGE_BUDGETS, "new limit"),
    (_("Stop all runs"), "console:runs_suspend", P.STOP_RUNS, "suspend emergency"),
)
OWN_PAGES = (
    (_("Account & security"), "account", "name email profile"),
    (_("Password"), "account_change_password", "change"),
    (_("Second factor"), "mfa_index", "mfa two-factor passkeys totp"),
    (_("Sessions"), "usersessions_list", "sign out browsers devices"),
    (_("Documentation"), "docs", "help manual"),
    (_("API reference"), "rest:docs", "rest openapi help"),
    (_("Status of the site"), "console:status", "health database redis checkpoint"),
)


def palette_search(request: TeamRequest, query: str) -> list[HitGroup]:
    """Return what a member may open that has every word of `query`.

    Without a query: the pages, and the member's newest conversations.
    """
    words = query.lower().split()
    groups = [
        HitGroup(gettext("Pages"), _pages(request, words)),
        HitGroup(gettext("Conversations"), _conversations(request, query)),
    ]
    if words:
        groups += [
            HitGroup(gettext("Actions"), _actions(request, words)),
            HitGroup(gettext("Presets"), _presets(request, query)),
            *_models(request.team.id, query),
            HitGroup(gettext("Runs"), _runs(request.team.id, query)),
            HitGroup(gettext("Members"), _members(request, query)),
            HitGroup(gettext("Documentation"), matching(_docs(), words)),
        ]
    return [group for group in groups if group.hits]


def _pages(request: TeamRequest, words: Sequence[str]) -> list[Hit]:
    team = [
        Hit(
            page.title,
            page.url,
            "" if place.title == page.title else place.title,
            f"{page.english_title} {page.also}",
        )
        for place in [*nav_places(request.membership.role), *site_places(request)]
        for page in place.pages
    ]
    own = [
        Hit(gettext(title), reverse(route), gettext("Yours"), f"{title} {also}")
        for title, route, also in OWN_PAGES
    ]
    return matching([*team, *own], words)


def _actions(request: TeamRequest, words: Sequence[str]) -> list[Hit]:
    role = request.membership.role
    hits = (
        Hit(gettext(title), reverse(route), "", f"{title} {also}")
        for title, route, permission, also in ACTIONS
        if role_allows(role, permission)
    )
    return matching(hits, words)


def _conversations(request: TeamRequest, query: str) -> list[Hit]:
    if request.membership.role == Role.REVIEWER or 0 < len(query) < RUN_WORDS:
        return []
    rows = conversation_list(request.team.id, request.actor, query=query)
    found = list(rows.order_by("-id")[:MOST])
    titles = titles_of(found)
    return [
        Hit(titles[each.id], reverse("playground:conversation", args=[each.id]))
        for each in found
    ]


def _presets(request: TeamRequest, query: str) -> list[Hit]:
    rows = preset_list(request.principal).filter(name__icontains=query)
    return [
        Hit(name, reverse("console:preset", args=[preset_id]))
        for preset_id, name in rows.values_list("id", "name")[:MOST]
    ]


def _runs(team_id: uuid.UUID, query: str) -> list[Hit]:
    """Return the newest runs of that title, or the one of that id."""
    if len(query) < RUN_WORDS:
        return []
    try:
        found = [access_run(team_id=team_id, run_id=uuid.UUID(query))]
    except ValueError:
        runs = run_list(team_id=team_id, filters=RunFilters(query=query))
        found = list(runs[:MOST])
    except NotFound:
        return []
    return [_run_hit(run) for run in found]


def _run_hit(run: Run) -> Hit:
    address = reverse("playground:run_detail", args=[run.id])
    return Hit(run.title or str(run.id), address, gettext(run.get_state_display()))


def _models(team_id: uuid.UUID, query: str) -> Iterator[HitGroup]:
    sources = (
        (gettext("Workers"), worker_list(team_id), "console:worker"),
        (gettext("Conductors"), conductor_list(team_id), "console:conductor"),
        (gettext("Pools"), pool_list(team_id), "console:pool"),
    )
    for title, rows, route in sources:
        named = rows.filter(name__icontains=query).order_by("name")
        found = named.values_list("id", "name")[:MOST]
        yield HitGroup(
            title, [Hit(name, reverse(route, args=[i])) for i, name in found]
        )


def _members(request: TeamRequest, query: str) -> list[Hit]:
    role = request.membership.role
    if not role_allows(role, P.READ_TEAM):
        return []
    may_edit = role_allows(role, P.MANAGE_MEMBERS)
    asked = Q(user__name__icontains=query) | Q(user__email__icontains=query)
    found = member_list(request.team.id).filter(asked)[:MOST]
    return [
        Hit(
            each.user.get_full_name(),
            reverse("console:member_edit", args=[each.user_id])
            if may_edit
            else reverse("console:member_list"),
            each.user.email,
        )
        for each in found
    ]


def _docs() -> Iterator[Hit]:
    for doc in doc_list().values():
        address = reverse("doc", args=[doc.name])
        yield Hit(doc.title, address)
        for heading in doc.headings:
            yield Hit(heading.text, f"{address}#{heading.anchor}", doc.title)
