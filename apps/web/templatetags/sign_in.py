"""Tags of the pages of accounts: which ways in this site has, whether it sends mail."""

from __future__ import annotations

from typing import Any

from allauth.account.adapter import get_adapter
from django import template
from django.conf import settings
from django.utils.translation import gettext

from apps.accounts.selectors import mail_is_set_up

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
