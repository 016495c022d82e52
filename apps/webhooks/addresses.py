"""Addresses that webhooks may have: public ones, and those the operator allows."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit

from django.conf import settings

from apps.llm.address_policy import AddressPolicy, ForbiddenAddress
from apps.webhooks.models import MAX_URL


def url_clean(value: str) -> str:
    """Return the URL of a webhook.

    https, or http to an address inside of WEBHOOK_NETWORKS. Raises: ValueError that
    quotes nothing of the URL, which may hold a secret.
    """
    if any(c.isspace() or not c.isprintable() for c in value) or not value.isascii():
        raise ValueError("must be ASCII without blanks or control characters")
    if len(value) > MAX_URL:
        raise ValueError(f"has at most {MAX_URL} characters")
    address, _, _ = value.partition("?")
    try:
        policy = AddressPolicy(settings.WEBHOOK_NETWORKS, settings.WEBHOOK_PORTS)
        policy.check_url(address)
    except ForbiddenAddress as exc:
        raise ValueError(str(exc)) from None
    parts = urlsplit(value)
    if parts.fragment:
        raise ValueError("must not contain a fragment")
    if parts.scheme != "https" and not _is_local(parts.hostname or ""):
        raise ValueError("must begin with https://")
    return value


def origin_of(url: str) -> str:
    """Return `scheme://host:port` of a URL: what may be told of it."""
    parts = urlsplit(url)
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{parts.hostname}{port}"


def _is_local(host: str) -> bool:
    """Say whether a host is an address that is not public; its network was checked."""
    if host == "localhost":
        return True
    try:
        return not ip_address(host).is_global
    except ValueError:
        return False
