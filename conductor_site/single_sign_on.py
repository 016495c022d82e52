"""Configures django-allauth for the site's OpenID provider."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ImproperlyConfigured

PROVIDER_ID = "sso"
"""Part of the callback's address, which the provider has to know."""


def openid_providers(
    *, issuer: str, client_id: str, client_secret: str, name: str, trusts_email: bool
) -> dict[str, Any]:
    """Return the setting SOCIALACCOUNT_PROVIDERS; without an issuer there are none."""
    if not issuer:
        return {}
    if not (client_id and client_secret):
        raise ImproperlyConfigured(
            "OIDC_ISSUER is set: OIDC_CLIENT_ID and OIDC_CLIENT_SECRET are needed too"
        )
    values: dict[str, Any] = {"server_url": issuer}
    if trusts_email:
        values["verified_email"] = True
    app = {
        "provider_id": PROVIDER_ID,
        "name": name,
        "client_id": client_id,
        "secret": client_secret,
        "settings": values,
    }
    return {"openid_connect": {"APPS": [app], "OAUTH_PKCE_ENABLED": True}}
