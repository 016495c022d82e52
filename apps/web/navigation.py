"""The pages of a team in groups: the side navigation and the palette show the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
class NavGroup:
    """Pages that belong together."""

    english_title: str
    pages: Sequence[NavPage]

    @property
    def title(self) -> str:
        """Return its title in the language of the page."""
        return gettext(self.english_title)


P = Permission
_GROUPS = (
    NavGroup(
        _("Work"),
        (
            NavPage(
                *("home", _("Home"), "console:home", "home"),
                also="dashboard overview status",
                permission=P.MANAGE_BUDGETS,
            ),
            NavPage(
                *("playground", _("Playground"), "playground:index", "chat"),
                also="chat prompt ask conversation",
                permission=P.READ_RUNS,
                not_for=Role.REVIEWER,
            ),
            NavPage(
                *("presets", _("Presets"), "console:preset_list", "braces"),
                also="prompt templates variables library",
                permission=P.READ_RUNS,
            ),
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
            NavPage(
                *("review", _("Review"), "playground:review_list", "inbox"),
                also="queue verdict",
                permission=P.REVIEW_RUNS,
            ),
            NavPage(
                *("approvals", _("Approvals"), "playground:approval_list", "hand"),
                also="plans waiting",
                permission=P.APPROVE_PLANS,
            ),
            NavPage(
                *("alerts", _("Alerts"), "console:alert_list", "bell"),
                also="warnings notifications bell mail rules",
            ),
        ),
    ),
    NavGroup(
        _("Models"),
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
                *("pools", _("Pools"), "console:pool_list", "layers"), also="tiers"
            ),
            NavPage(
                *("credentials", _("Credentials"), "console:credential_list", "lock"),
                also="provider keys secrets",
            ),
            NavPage(
                *("learning", _("Learning"), "console:learning", "trend"),
                also="training light planner",
            ),
            NavPage(
                *("evaluations", _("Evaluations"), "console:evaluation_list", "flask"),
                also="suites benchmarks tests",
            ),
        ),
    ),
    NavGroup(
        _("People"),
        (
            NavPage(
                *("members", _("Members"), "console:member_list", "people"),
                also="invite users roles",
            ),
            NavPage(
                *("keys", _("API keys"), "console:key_list", "key"),
                also="tokens programs",
            ),
            NavPage(
                *("team", _("Settings"), "console:team", "gear"),
                also="team name rates stop delete",
            ),
        ),
    ),
    NavGroup(
        _("Money"),
        (
            NavPage(
                *("budgets", _("Budgets"), "console:budget_list", "wallet"),
                also="limits spending",
            ),
            NavPage(
                *("usage", _("Usage"), "console:usage", "bars"), also="cost tokens"
            ),
            NavPage(
                *("insights", _("Insights"), "console:insights", "pulse"),
                also="failures plans latency",
            ),
        ),
    ),
    NavGroup(
        _("Governance"),
        (
            NavPage(*("policy", _("Policy"), "console:policy", "shield"), also="rules"),
            NavPage(
                *("ledger", _("Ledger"), "console:ledger", "book"),
                also="audit log export verify",
                permission=P.READ_AUDIT,
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
            NavPage(
                *("retention", _("Retention"), "console:retention", "archive"),
                also="legal holds erase",
            ),
            NavPage(
                *("share_links", _("Share links"), "console:share_links", "link"),
                also="public shared revoke",
                permission=P.MANAGE_SHARING,
            ),
            NavPage(
                *("webhooks", _("Webhooks"), "console:webhook_list", "plug"),
                also="events siem",
                permission=P.MANAGE_WEBHOOKS,
            ),
        ),
    ),
)


def nav_groups(role: str) -> list[NavGroup]:
    """Return the groups with the pages that members with `role` may open."""
    groups = (
        NavGroup(
            group.english_title, [page for page in group.pages if page.is_for(role)]
        )
        for group in _GROUPS
    )
    return [group for group in groups if group.pages]
