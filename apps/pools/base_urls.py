"""Base URLs of model servers. Pure functions.

The origin of a URL (scheme, host and port, the port always written) is what a
credential is bound to: so a key for `https://api.example.com` goes to no other host, no
other port, and not out in clear over http, whatever the port.
"""

from __future__ import annotations

from urllib.parse import SplitResult, urlsplit

DEFAULT_PORTS = {"https": 443, "http": 80}
MAX_HOST_LENGTH = 253
"""No name in DNS is longer, and with its port it fits its column."""


def base_url_clean(text: str) -> str:
    """Return a base URL without its final slashes.

    Raises: ValueError saying what is wrong, without quoting the URL, which may hold a
    secret.
    """
    if any(c.isspace() or not c.isprintable() for c in text):
        raise ValueError("must not contain blanks or control characters")
    parts = _split(text)
    if parts.scheme not in DEFAULT_PORTS or not parts.hostname:
        raise ValueError("must be an http or https URL with a host")
    if len(parts.hostname) > MAX_HOST_LENGTH:
        raise ValueError(f"must have a host of at most {MAX_HOST_LENGTH} characters")
    if "@" in parts.netloc:
        raise ValueError("must not contain a user name or password")
    if "?" in text or "#" in text:
        raise ValueError("must not contain a query or a fragment")
    return text.rstrip("/")


def origin(base_url: str) -> str:
    """Return `scheme://host:port` of a base URL, in lower case."""
    return f"{scheme_of(base_url)}://{authority(base_url)}"


def scheme_of(base_url: str) -> str:
    """Return `https` or `http`."""
    return _split(base_url).scheme


def authority(base_url: str) -> str:
    """Return `host:port` of a base URL, in lower case."""
    parts = _split(base_url)
    port = parts.port or DEFAULT_PORTS.get(parts.scheme, 0)
    return f"{(parts.hostname or '').lower()}:{port}"


def host_of(base_url: str) -> str:
    """Return the host of a base URL in lower case, without the dot that may end it."""
    return (_split(base_url).hostname or "").rstrip(".").lower()


def _split(text: str) -> SplitResult:
    try:
        parts = urlsplit(text)
        if parts.port == 0:  # asking for it raises for one that is no number
            raise ValueError
    except ValueError:
        raise ValueError("must be an http or https URL with a host") from None
    return parts
