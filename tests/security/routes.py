"""Every address the site answers, read from its own configuration."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.urls import URLPattern, URLResolver, get_resolver

from apps.comparisons.routing import (
    websocket_urlpatterns as comparison_sockets,
)
from apps.gateway.app import create_app
from apps.runs.routing import websocket_urlpatterns as run_sockets

PERSONAL_PREFIXES = ("accounts/", "admin/", "api/v1/site/")
"""About the visitor alone, or for the site's operator; no team is behind them."""


@dataclass(frozen=True)
class Route:
    """One address of the pages or the REST API."""

    name: str
    """Namespace and name; the pattern for an address that has none."""
    pattern: str
    arguments: tuple[str, ...]

    @property
    def is_personal(self) -> bool:
        return self.pattern.startswith(PERSONAL_PREFIXES)

    @property
    def is_api(self) -> bool:
        return self.pattern.startswith("api/")


def django_routes() -> list[Route]:
    """Return every route of the URL configuration."""
    return list(_walk(get_resolver().url_patterns, "", ""))


def _walk(
    patterns: Sequence[URLPattern | URLResolver], prefix: str, namespace: str
) -> Iterator[Route]:
    for item in patterns:
        path = prefix + str(item.pattern)
        if isinstance(item, URLResolver):
            inner = ":".join(filter(None, (namespace, item.namespace)))
            yield from _walk(item.url_patterns, path, inner)
            continue
        name = ":".join(filter(None, (namespace, item.name or "")))
        arguments = tuple(item.pattern.converters)
        yield Route(name if item.name else path, path, arguments)


def socket_routes() -> list[str]:
    """Return the patterns of the websockets."""
    return [str(route.pattern) for route in (*run_sockets, *comparison_sockets)]


def gateway_routes() -> list[str]:
    """Return the paths of the OpenAI-compatible surface."""
    return [route.path for route in create_app().routes]  # type: ignore[attr-defined]
