"""The look of the operator's pages, in the colours of the other ones."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.urls import reverse_lazy

PRIMARY = {
    "50": "#edf1fe",
    "100": "#dde5fd",
    "200": "#c2d0fb",
    "300": "#adc5ff",
    "400": "#8fb0ff",
    "500": "#5f84ee",
    "600": "#2549c9",
    "700": "#1b3aa8",
    "800": "#1a3288",
    "900": "#18223c",
    "950": "#0a1430",
}
BASE = {
    "50": "#f6f7f9",
    "100": "#eef0f4",
    "200": "#e2e6ec",
    "300": "#b4bdca",
    "400": "#909bab",
    "500": "#5d6776",
    "600": "#414a58",
    "700": "#262d38",
    "800": "#1a1f28",
    "900": "#14181f",
    "950": "#0d1015",
}


def _link(title: str, icon: str, url_name: str) -> dict[str, Any]:
    return {"title": title, "icon": icon, "link": reverse_lazy(url_name)}


def _never(request: HttpRequest) -> bool:
    return False


BACK = {
    **_link("Back to Conductor", "arrow_back", "playground:index"),
    "active": _never,
}
"""The way to the teams' pages; it is never the page that is open."""


def _is_superuser(request: HttpRequest) -> bool:
    return bool(request.user.is_superuser)


ADMIN_LOOK: dict[str, Any] = {
    "SITE_TITLE": "Conductor",
    "SITE_HEADER": "Conductor",
    "SITE_SUBHEADER": "Administration",
    "SITE_ICON": "/static/icon.svg",
    "SITE_FAVICONS": [
        {"rel": "icon", "type": "image/svg+xml", "href": "/static/icon.svg"}
    ],
    "STYLES": ["/static/css/admin.css"],
    "SHOW_VIEW_ON_SITE": False,
    "BORDER_RADIUS": "9px",
    "COLORS": {"base": BASE, "primary": PRIMARY},
    "SIDEBAR": {
        "navigation": [
            {"items": [BACK]},
            {
                "title": "People",
                "items": [
                    _link("Users", "person", "admin:accounts_user_changelist"),
                    _link("Teams", "groups", "admin:accounts_team_changelist"),
                    _link(
                        "Memberships", "badge", "admin:accounts_membership_changelist"
                    ),
                    _link(
                        "Invitations", "mail", "admin:accounts_invitation_changelist"
                    ),
                    _link("API keys", "key", "admin:accounts_apikey_changelist"),
                ],
            },
            {
                "title": "Models and spending",
                "items": [
                    _link("Pools", "lan", "admin:pools_pool_changelist"),
                    _link("Workers", "smart_toy", "admin:pools_worker_changelist"),
                    _link("Budgets", "savings", "admin:budgets_budget_changelist"),
                ],
            },
            {
                "title": "Records",
                "items": [
                    _link("Runs", "play_circle", "admin:runs_run_changelist"),
                    _link("Ledger", "receipt_long", "site_ledger"),
                    _link(
                        "Retention",
                        "auto_delete",
                        "admin:governance_retention_changelist",
                    ),
                    _link(
                        "Legal holds", "gavel", "admin:governance_legalhold_changelist"
                    ),
                ],
            },
            {
                "title": "Site",
                "items": [
                    {
                        **_link("Operations", "monitoring", "site_operations"),
                        "permission": _is_superuser,
                    },
                    {
                        **_link("Stop runs", "stop_circle", "site_suspensions"),
                        "permission": _is_superuser,
                    },
                    {
                        **_link("Site policy", "policy", "site_policy"),
                        "permission": _is_superuser,
                    },
                    _link("Settings", "tune", "site_settings"),
                ],
            },
        ]
    },
}
