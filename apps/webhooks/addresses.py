"""Addresses that webhooks may have: public ones, and those the operator allows."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit

from django.conf import settings

from apps.llm.address_policy import AddressPolicy, ForbiddenAddress
from apps.webhooks.models import MAX_URL

SYSLOG_SCHEME = "syslog+tls"
SYSLOG_PORT = 6514
"""If a URL names none. Source: RFC 5425, section 4.1."""


def url_clean(value: str) -> str:
    """Return the URL of a webhook.

    https, or http to an address inside of WEBHOOK_NETWORKS, or syslog over TLS. Raises:
    ValueError that quotes nothing of the URL, which may hold a secret.
    """
    if any(c.isspace() or not c.isprintable() for c in value) or not value.isascii():
        raise ValueError("must be ASCII without blanks or control characters")
    if len(value) > MAX_URL:
        raise ValueError(f"has at most {MAX_URL} characters")
    is_syslog = value.startswith(f"{SYSLOG_SCHEME}://")
    address, _, _ = value.partition("?")
    if is_syslog:
        address = f"https://{value.removeprefix(f'{SYSLOG_SCHEME}://')}"
    try:
        receiver_addresses().check_url(address)
    except ForbiddenAddress as exc:
        raise ValueError(str(exc)) from None
    parts = urlsplit(value)
    if parts.fragment:
        raise ValueError("must not contain a fragment")
    if is_syslog and parts.path not in ("", "/"):
        raise ValueError(f"must be like {SYSLOG_SCHEME}://host:{SYSLOG_PORT}")
    if is_syslog:
        return value
    if parts.scheme != "https" and not _is_local(parts.hostname or ""):
        raise ValueError("must begin with https://")
    return value


def receiver_addresses() -> AddressPolicy:
    """Return which addresses receivers may have."""
    return AddressPolicy(settings.WEBHOOK_NETWORKS, settings.WEBHOOK_PORTS)


def origin_of(url: str) -> str:
    """Return `scheme://host:port` of a URL: the part that may be shown."""
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
