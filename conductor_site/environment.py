"""Typed readers of environment variables. A bad value stops the process at start.

`NAME_FILE` may name a file that holds the value of `NAME`, for secrets.
"""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured


def read_text(name: str, default: str = "") -> str:
    """Return the variable `name`, or what the file in `name`_FILE holds."""
    path = os.environ.get(f"{name}_FILE")
    if not path:
        return os.environ.get(name, default)
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError as exc:
        raise ImproperlyConfigured(f"{name}_FILE={path!r} cannot be read") from exc


def is_given(name: str) -> bool:
    """Say whether the variable `name` is set, or a file for it, even if it is empty."""
    return name in os.environ or bool(os.environ.get(f"{name}_FILE"))


def read_bool(name: str, *, default: bool) -> bool:
    """Return the variable as a truth value: 1, true, yes, on or 0, false, no, off."""
    text = read_text(name).strip().lower()
    if not text:
        return default
    if text in {"1", "true", "yes", "on"}:
        return True
    if text in {"0", "false", "no", "off"}:
        return False
    raise ImproperlyConfigured(f"{name}={text!r}: expected true or false")


def read_choice(name: str, choices: tuple[str, ...]) -> str:
    """Return the variable, which must be one of `choices`; the first is the default."""
    text = read_text(name).strip() or choices[0]
    if text not in choices:
        raise ImproperlyConfigured(f"{name}={text!r}: expected {' or '.join(choices)}")
    return text


def read_int(name: str, default: int, *, highest: int | None = None) -> int:
    """Return the variable as a whole number from zero to `highest`."""
    text = read_text(name).strip()
    if not text:
        return default
    if not text.isdecimal():
        raise ImproperlyConfigured(f"{name}={text!r}: expected a whole number")
    number = int(text)
    if highest is not None and number > highest:
        raise ImproperlyConfigured(f"{name}={number}: expected at most {highest}")
    return number


def read_days(name: str, lowest: int, highest: int) -> int:
    """Return the variable as a number of days in bounds, or 0 for no limit."""
    days = read_int(name, 0)
    if days and not lowest <= days <= highest:
        raise ImproperlyConfigured(
            f"{name}={days}: expected {lowest} to {highest} days, or 0 for no limit"
        )
    return days


def read_list(name: str, default: tuple[str, ...] = ()) -> list[str]:
    """Return the comma-separated parts of the variable, without blanks."""
    text = read_text(name)
    return [part.strip() for part in text.split(",") if part.strip()] or list(default)


def read_url(name: str, schemes: tuple[str, ...], default: str = "") -> str:
    """Return the address of a service; a bad one is not quoted, it may hold a secret.

    `schemes` are what it may begin with. Empty is as if not set.
    """
    text = read_text(name) or default
    try:
        parts = urlsplit(text)
        is_good = parts.scheme in schemes and (parts.port or 1) > 0
    except ValueError:
        is_good = False
    if text and not is_good:
        raise ImproperlyConfigured(
            f"{name}: not an address like {schemes[0]}://user:password@host:port/name"
        )
    return text


def read_web_address(name: str) -> str:
    """Return an http or https address to fetch something from; empty: none.

    A bad one is not quoted, it may hold a secret.
    """
    text = read_text(name).strip()
    try:
        parts = urlsplit(text)
        is_good = parts.scheme in ("http", "https") and (parts.port or 1) > 0
        is_good = is_good and bool(parts.hostname) and "@" not in parts.netloc
    except ValueError:
        is_good = False
    if text and not (is_good and text.isprintable() and " " not in text):
        raise ImproperlyConfigured(f"{name}: not an address like https://host/path")
    return text


def read_origins(name: str) -> list[str]:
    """Return a list of web origins (`https://host[:port]`), or `*` alone for all."""
    origins = read_list(name)
    for origin in origins:
        parts = urlsplit(origin)
        is_origin = parts.scheme in ("http", "https") and bool(parts.hostname)
        if origin != "*" and (
            not is_origin or origin != f"{parts.scheme}://{parts.netloc}"
        ):
            raise ImproperlyConfigured(
                f"{name}: {origin!r} is no origin; expected https://host without a path"
            )
    return origins
