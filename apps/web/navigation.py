"""The pages of a team in groups: the side navigation and the palette show the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.urls import reverse

from apps.accounts.models import Permission, Role
from apps.accounts.selectors import role_allows


@dataclass(frozen=True, slots=True)
class NavPage:
    """A page that the navigation leads to."""

    tab: str
    """Names it among the pages; a page says which one it belongs to."""
    title: str
    route: str
    icon: str
    """A symbol of `web/_icons.html`, without its prefix."""
    also: str = ""
    """Other words that people look for it by."""
    permission: Permission = Permission.READ_TEAM
    not_for: str = ""
    """A role that has no use for it, whatever it may read."""

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

    title: str
    pages: Sequence[NavPage]


P = Permission
_GROUPS = (
    NavGroup(
        "Work",
        (
            NavPage(
                *("home", "Home", "console:home", "home"),
                also="dashboard overview status",
                permission=P.MANAGE_BUDGETS,
            ),
            NavPage(
                *("playground", "Playground", "playground:index", "chat"),
                also="chat prompt ask conversation",
                permission=P.READ_RUNS,
                not_for=Role.REVIEWER,
            ),
            NavPage(
                *("presets", "Presets", "console:preset_list", "braces"),
                also="prompt templates variables library",
                permission=P.READ_RUNS,
            ),
            NavPage(
                *("runs", "Runs", "playground:run_list", "list"),
                also="history search",
                permission=P.READ_RUNS,
            ),
            NavPage(
                *(
                    "comparisons",
                    "Comparisons",
                    "playground:comparison_list",
                    "columns",
                ),
                also="compare side by side vote blind judge",
                permission=P.READ_RUNS,
            ),
            NavPage(
                *("review", "Review", "playground:review_list", "inbox"),
                also="queue verdict",
                permission=P.REVIEW_RUNS,
            ),
            NavPage(
                *("approvals", "Approvals", "playground:approval_list", "hand"),
                also="plans waiting",
                permission=P.APPROVE_PLANS,
            ),
            NavPage(
                *("alerts", "Alerts", "console:alert_list", "bell"),
                also="warnings notifications bell mail rules",
            ),
        ),
    ),
    NavGroup(
        "Models",
        (
            NavPage(
                *("workers", "Workers", "console:worker_list", "chip"),
                also="models health",
            ),
            NavPage(
                *("conductors", "Conductors", "console:conductor_list", "branch"),
                also="planner models",
            ),
            NavPage(*("pools", "Pools", "console:pool_list", "layers"), also="tiers"),
            NavPage(
                *("credentials", "Credentials", "console:credential_list", "lock"),
                also="provider keys secrets",
            ),
            NavPage(
                *("learning", "Learning", "console:learning", "trend"),
                also="training light planner",
            ),
            NavPage(
                *("evaluations", "Evaluations", "console:evaluation_list", "flask"),
                also="suites benchmarks tests",
            ),
        ),
    ),
    NavGroup(
        "People",
        (
            NavPage(
                *("members", "Members", "console:member_list", "people"),
                also="invite users roles",
            ),
            NavPage(
                *("keys", "API keys", "console:key_list", "key"), also="tokens programs"
            ),
            NavPage(
                *("team", "Settings", "console:team", "gear"),
                also="team name rates stop delete",
            ),
        ),
    ),
    NavGroup(
        "Money",
        (
            NavPage(
                *("budgets", "Budgets", "console:budget_list", "wallet"),
                also="limits spending",
            ),
            NavPage(*("usage", "Usage", "console:usage", "bars"), also="cost tokens"),
            NavPage(
                *("insights", "Insights", "console:insights", "pulse"),
                also="failures plans latency",
            ),
        ),
    ),
    NavGroup(
        "Governance",
        (
            NavPage(*("policy", "Policy", "console:policy", "shield"), also="rules"),
            NavPage(
                *("ledger", "Ledger", "console:ledger", "book"),
                also="audit log export verify",
                permission=P.READ_AUDIT,
            ),
            NavPage(
                *("review_settings", "Review rules", "console:review_settings", "star"),
                also="rubric",
            ),
            NavPage(
                *("retention", "Retention", "console:retention", "archive"),
                also="legal holds erase",
            ),
            NavPage(
                *("share_links", "Share links", "console:share_links", "link"),
                also="public shared revoke",
                permission=P.MANAGE_SHARING,
            ),
            NavPage(
                *("webhooks", "Webhooks", "console:webhook_list", "plug"),
                also="events siem",
                permission=P.MANAGE_WEBHOOKS,
            ),
        ),
    ),
)


def nav_groups(role: str) -> list[NavGroup]:
    """Return the groups with the pages that members with `role` may open."""
    groups = (
        NavGroup(group.title, [page for page in group.pages if page.is_for(role)])
        for group in _GROUPS
    )
    return [group for group in groups if group.pages]
