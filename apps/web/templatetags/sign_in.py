"""Tags of the pages for signing in and up: which ways in this site has."""

from __future__ import annotations

from typing import Any

from allauth.account.adapter import get_adapter
from django import template
from django.conf import settings

register = template.Library()


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
    """Say whether this site lets nobody in with one factor alone."""
    return bool(settings.REQUIRE_MFA)
