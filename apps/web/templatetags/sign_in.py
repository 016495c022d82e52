"""Tags of the pages of accounts: which ways in this site has, whether it sends mail."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

from allauth.account.adapter import get_adapter
from django import template
from django.conf import settings
from django.utils.translation import gettext

from apps.accounts.selectors import mail_is_set_up

if TYPE_CHECKING:
    from apps.evaluation.reports.headline import Headline

register = template.Library()

# Sought in this order: most browsers also name the ones they descend from.
BROWSERS = {
    "Edg": "Edge",
    "OPR/": "Opera",
    "Firefox/": "Firefox",
    "Chrom": "Chrome",
    "Safari/": "Safari",
}
SYSTEMS = {
    "Android": "Android",
    "iPhone": "iOS",
    "iPad": "iPadOS",
    "Windows": "Windows",
    "Mac OS": "macOS",
    "Linux": "Linux",
}


@dataclass(frozen=True, slots=True)
class DemoEntrance:
    """What the sign-in page of a demo needs to let anybody in."""

    email: str
    reviewer_email: str
    password: str
    found: Headline | None
    """What conducting brings. None: it was not measured."""


@register.simple_tag
def demo_entrance() -> DemoEntrance | None:
    """Return how to get into the demo; None: this site is none, or it is not ready."""
    path = settings.VAR_DIR / "demo.json"
    if not (settings.IS_DEMO and path.exists()):
        return None
    # Brings all kinds of systems with it, which few requests need.
    from apps.evaluation.reports.headline import headline

    access = json.loads(path.read_text(encoding="utf-8"))
    return DemoEntrance(
        access["email"],
        access["reviewer_email"],
        access["password"],
        headline(UUID(access["team_id"])),
    )


@register.simple_tag(takes_context=True)
def sign_up_is_open(context: dict[str, Any]) -> bool:
    """Say whether this visitor may make an account."""
    request = context["request"]
    return bool(get_adapter(request).is_open_for_signup(request))


@register.simple_tag
def single_sign_on_name() -> str:
    """Return what the OpenID provider is called; empty if there is none."""
    return settings.OIDC_NAME if settings.OIDC_ISSUER else ""


@register.simple_tag
def second_factor_is_required() -> bool:
    """Return True if this site requires a second factor."""
    return bool(settings.REQUIRE_MFA)


@register.simple_tag
def site_sends_mail() -> bool:
    """Return True if a page may announce an email."""
    return mail_is_set_up()


@register.filter
def browser_name(user_agent: str) -> str:
    """Return what a browser calls itself, in words people know, else its own words."""
    browser = next((name for sign, name in BROWSERS.items() if sign in user_agent), "")
    system = next((name for sign, name in SYSTEMS.items() if sign in user_agent), "")
    if browser and system:
        return gettext("%(browser)s on %(system)s") % {
            "browser": browser,
            "system": system,
        }
    return user_agent[:90] or gettext("Unknown browser")
