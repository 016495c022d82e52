"""The places of a team and of the site: the rail, tabs and palette show these.

A place is what a person goes to; its pages are tabs of it. Members and viewers have few
places: what others manage for them is in one, *Team*. Operators have *Site* as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from apps.accounts.models import Permission, Role
from apps.accounts.selectors import role_allows


@dataclass(frozen=True, slots=True)
class NavPage:
    """A page that the navigation leads to."""

    tab: str
    """Names it among the pages; a page says which one it belongs to."""
    english_title: str
    route: str
    icon: str
    """A symbol of `web/_icons.html`, without its prefix."""
    also: str = ""
    """Other words that people look for it by."""
    permission: Permission = Permission.READ_TEAM
    not_for: str = ""
    """A role that has no use for it, whatever it may read."""

    @property
    def title(self) -> str:
        """Return its title in the language of the page."""
        return gettext(self.english_title)

    @property
    def url(self) -> str:
        """Return its address."""
        return reverse(self.route)

    def is_for(self, role: str) -> bool:
        """Say whether members with `role` are led to it."""
        return role != self.not_for and role_allows(role, self.permission)


@dataclass(frozen=True, slots=True)
class NavPlace:
    """Pages that belong together: one entry of the rail, which leads to the first."""

    name: str
    english_title: str
    icon: str
    pages: Sequence[NavPage]

    @property
    def title(self) -> str:
        """Return its title in the language of the page."""
        return gettext(self.english_title)

    @property
    def url(self) -> str:
        """Return the address of its first page."""
        return self.pages[0].url

    def has(self, tab: str) -> bool:
        """Say whether a page is one of its pages."""
        return any(page.tab == tab for page in self.pages)


P = Permission
_PLACES = (
    NavPlace(
        *("home", _("Home"), "home"),
        (
            NavPage(
                *("home", _("Home"), "console:home", "home"),
                also="dashboard overview status",
                permission=P.MANAGE_BUDGETS,
            ),
        ),
    ),
    NavPlace(
        *("chat", _("Chat"), "chat"),
        (
            NavPage(
                *("playground", _("Chat"), "playground:index", "chat"),
                also="playground prompt ask conversation",
                permission=P.READ_RUNS,
                not_for=Role.REVIEWER,
            ),
        ),
    ),
    NavPlace(
        *("presets", _("Presets"), "braces"),
        (
            NavPage(
                *("presets", _("Presets"), "console:preset_list", "braces"),
                also="prompt templates variables library",
                permission=P.READ_RUNS,
            ),
        ),
    ),
    NavPlace(
        *("runs", _("Runs"), "list"),
        (
            NavPage(
                *("runs", _("Runs"), "playground:run_list", "list"),
                also="history search",
                permission=P.READ_RUNS,
            ),
            NavPage(
                *(
                    "comparisons",
                    _("Comparisons"),
                    "playground:comparison_list",
                    "columns",
                ),
                also="compare side by side vote blind judge",
                permission=P.READ_RUNS,
            ),
        ),
    ),
    NavPlace(
        *("review", _("Review"), "inbox"),
        (
            NavPage(
                *("review", _("Queue"), "playground:review_list", "inbox"),
                also="review verdict",
                permission=P.REVIEW_RUNS,
            ),
            NavPage(
                *("approvals", _("Approvals"), "playground:approval_list", "hand"),
                also="plans waiting",
                permission=P.APPROVE_PLANS,
            ),
            NavPage(
                *(
                    "review_settings",
                    _("Review rules"),
                    "console:review_settings",
                    "star",
                ),
                also="rubric",
            ),
        ),
    ),
    NavPlace(
        *("models", _("Models"), "chip"),
        (
            NavPage(
                *("workers", _("Workers"), "console:worker_list", "chip"),
                also="models health",
            ),
            NavPage(
                *("conductors", _("Conductors"), "console:conductor_list", "branch"),
                also="planner models",
            ),
            NavPage(
                *("credentials", _("Credentials"), "console:credential_list", "lock"),
                also="provider keys secrets",
            ),
        ),
    ),
    NavPlace(
        *("pools", _("Pools"), "layers"),
        (NavPage(*("pools", _("Pools"), "console:pool_list", "layers"), also="tiers"),),
    ),
    NavPlace(
        *("quality", _("Quality"), "flask"),
        (
            NavPage(
                *("evaluations", _("Evaluations"), "console:evaluation_list", "flask"),
                also="suites benchmarks shadow A/B tests",
            ),
            NavPage(
                *("learning", _("Learning"), "console:learning", "trend"),
                also="training light planner",
            ),
        ),
    ),
    NavPlace(
        *("usage", _("Usage"), "bars"),
        (
            NavPage(
                *("usage", _("Usage"), "console:usage", "bars"), also="cost tokens"
            ),
            NavPage(
                *("insights", _("Insights"), "console:insights", "pulse"),
                also="failures plans latency",
            ),
            NavPage(
                *("budgets", _("Budgets"), "console:budget_list", "wallet"),
                also="limits spending money",
            ),
        ),
    ),
    NavPlace(
        *("policy", _("Policy"), "shield"),
        (NavPage(*("policy", _("Policy"), "console:policy", "shield"), also="rules"),),
    ),
    NavPlace(
        *("ledger", _("Ledger"), "book"),
        (
            NavPage(
                *("ledger", _("Ledger"), "console:ledger", "book"),
                also="audit log export verify",
                permission=P.READ_AUDIT,
            ),
            NavPage(
                *("retention", _("Retention"), "console:retention", "archive"),
                also="legal holds erase",
            ),
        ),
    ),
    NavPlace(
        *("settings", _("Settings"), "gear"),
        (
            NavPage(
                *("team", _("Team"), "console:team", "gear"),
                also="settings name rates stop delete",
            ),
            NavPage(
                *("members", _("Members"), "console:member_list", "people"),
                also="invite users roles",
            ),
            NavPage(
                *("keys", _("API keys"), "console:key_list", "key"),
                also="tokens programs",
            ),
            NavPage(
                *("alerts", _("Alerts"), "console:alert_list", "bell"),
                also="warnings notifications bell mail rules",
            ),
            NavPage(
                *("webhooks", _("Webhooks"), "console:webhook_list", "plug"),
                also="events siem",
                permission=P.MANAGE_WEBHOOKS,
            ),
            NavPage(
                *("share_links", _("Share links"), "console:share_links", "link"),
                also="public shared revoke",
                permission=P.MANAGE_SHARING,
            ),
        ),
    ),
)
_SITE = NavPlace(
    *("site", _("Site"), "pulse"),
    (
        NavPage(
            *("site", _("Overview"), "admin:index", "pulse"),
            also="operator administration users teams records",
        ),
        NavPage(
            *("site_operations", _("Operations"), "site_operations", "pulse"),
            also="operator processes warnings",
        ),
        NavPage(
            *("site_policy", _("Site policy"), "site_policy", "shield"),
            also="operator rules of all teams",
        ),
        NavPage(
            *("site_suspensions", _("Stop runs"), "site_suspensions", "stop"),
            also="operator emergency suspend",
        ),
        NavPage(
            *("site_ledger", _("Ledger"), "site_ledger", "book"),
            also="operator chains",
        ),
        NavPage(
            *("site_settings", _("Settings"), "site_settings", "gear"),
            also="operator environment",
        ),
    ),
)
STAFF_TABS = frozenset({"site", "site_ledger", "site_settings"})
"""What operators see who are not superusers."""
OWN_PLACES = frozenset({"chat", "presets", "runs"})
"""What members and viewers go to; all else is in *Team*."""
FEW_PLACES = frozenset({Role.MEMBER, Role.VIEWER})


def nav_places(role: str) -> list[NavPlace]:
    """Return the places with the pages that members with `role` may open."""
    places = _allowed_places(role)
    if role not in FEW_PLACES:
        return places
    own = [place for place in places if place.name in OWN_PLACES]
    others = [place for place in places if place not in own]
    others.sort(key=lambda place: place.name != "settings")
    rest = [page for place in others for page in place.pages]
    return [*own, NavPlace("team", _("Team"), "people", rest)] if rest else own


def place_address(role: str, name: str) -> str | None:
    """Return where a place begins for members with `role`; None: they have none."""
    places = (place.url for place in _allowed_places(role) if place.name == name)
    return next(places, None)


def _allowed_places(role: str) -> list[NavPlace]:
    allowed = (
        replace(place, pages=[page for page in place.pages if page.is_for(role)])
        for place in _PLACES
    )
    return [place for place in allowed if place.pages]


def site_place(*, is_superuser: bool) -> NavPlace:
    """Return the place of the operator's pages."""
    if is_superuser:
        return _SITE
    return replace(_SITE, pages=[p for p in _SITE.pages if p.tab in STAFF_TABS])


def place_of(places: Sequence[NavPlace], tab: str) -> NavPlace | None:
    """Return the place that a page belongs to; None: it is in none of these."""
    return next((place for place in places if place.has(tab)), None)
