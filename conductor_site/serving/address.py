"""The address at which this process serves the site, while `CONDUCTOR_URL` is not set.

It is known before the settings are read, and handed on to processes that this one
starts.
"""

from __future__ import annotations

import ipaddress
import os

DEFAULT_PORT, HTTP_PORT = 8000, 80
_VARIABLE = "CONDUCTOR_SERVED_URL"


def note_served_address(host: str, port: int) -> None:
    """Note where this process is about to listen."""
    name = _reachable(host)
    os.environ[_VARIABLE] = f"http://{name}" + f":{port}" * (port != HTTP_PORT)


def served_url() -> str:
    """Return the address; the usual one in a process that serves nothing."""
    return os.environ.get(_VARIABLE) or f"http://127.0.0.1:{DEFAULT_PORT}"


def _reachable(host: str) -> str:
    """Return what a link needs to name: this machine if `host` is every address."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host or "127.0.0.1"
    if address.is_unspecified:
        return "127.0.0.1" if address.version == 4 else "[::1]"
    return str(address) if address.version == 4 else f"[{address}]"
