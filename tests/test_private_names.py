"""Private names of libraries that the code uses: they exist, and are on record.

The record is docs/adr/0013-private-parts-of-libraries.md. A test that fails here after
an upgrade says that what the name was used for must be done in another way.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import genai_prices.types
import pytest
from aiohttp.client_proto import ResponseHandler
from celery.worker import state
from csp.middleware import CSPMiddleware
from django.db.backends.postgresql.base import DatabaseWrapper
from django.db.models import QuerySet
from django.http import HttpResponse
from httpx_aiohttp.transport import AiohttpResponseStream
from psycopg_pool import ConnectionPool
from rest_framework.request import Request
from rest_framework.serializers import Serializer
from rest_framework.utils.serializer_helpers import BindingDict
from uvicorn import Server
from uvicorn.protocols.http.httptools_impl import (
    HttpToolsProtocol,
    RequestResponseCycle,
)

from apps.accounts.models import Team

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / "docs/adr/0013-private-parts-of-libraries.md"
PUBLIC = {
    "_asdict",
    "_base_manager",
    "_db",
    "_default_manager",
    "_exit",
    "_fields",
    "_replace",
}
"""Documented by Python or Django, underscore or not."""
ROWS: Any = QuerySet
WRAPPER: Any = DatabaseWrapper
"""Their types leave private names out."""


def parameters(function: Callable[..., Any]) -> list[str]:
    return list(inspect.signature(function).parameters)


# --- The libraries --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (ROWS._clone, ["self"]),
        (ROWS._fetch_all, ["self"]),
        (WRAPPER._set_autocommit, ["self", "autocommit"]),
        (Server._wait_tasks_to_complete, ["self"]),
        (HttpToolsProtocol.connection_made, ["self", "transport"]),
        (HttpToolsProtocol.connection_lost, ["self", "exc"]),
        (HttpToolsProtocol.on_headers_complete, ["self"]),
        (HttpToolsProtocol.on_message_complete, ["self"]),
        (HttpToolsProtocol.on_response_complete, ["self"]),
        (HttpToolsProtocol.handle_websocket_upgrade, ["self"]),
        (ResponseHandler.feed_data, ["self", "data", "size"]),
        (genai_prices.types._providers_from_raw, ["raw_providers", "registry"]),
        (BindingDict.__init__, ["self", "serializer"]),
        (Serializer.get_fields, ["self"]),
        (ConnectionPool.check_connection, ["conn"]),
    ],
    ids=lambda value: getattr(value, "__qualname__", ""),
)
def test_method_has_the_form_that_is_relied_on(function, expected):
    assert parameters(function) == expected


def test_query_has_a_result_and_hints():
    rows = ROWS(Team)
    assert (rows._result_cache, rows._hints) == (None, {})


def test_response_knows_what_to_close_and_for_whom():
    response: Any = HttpResponse()
    assert (response._resource_closers, response._handler_class) == ([], None)


def test_request_of_the_framework_holds_djangos_own(rf):
    own = rf.get("/")
    assert Request(own)._request is own


def test_policy_of_one_response_can_be_changed(rf, settings):
    settings.CONTENT_SECURITY_POLICY = {"DIRECTIVES": {"default-src": ["'self'"]}}
    response: Any = HttpResponse()
    response._csp_update = {"img-src": ["data:"]}
    sent: Any = CSPMiddleware(lambda request: response)(rf.get("/"))
    assert "img-src data:" in sent["Content-Security-Policy"]
    other: Any = HttpResponse()
    other._csp_replace = {"default-src": ["'none'"]}
    sent = CSPMiddleware(lambda request: other)(rf.get("/"))
    assert "default-src 'none'" in sent["Content-Security-Policy"]


def test_pool_holds_its_check():
    pool = ConnectionPool(open=False, check=ConnectionPool.check_connection)
    assert pool._check == ConnectionPool.check_connection


def test_worker_of_celery_runs_until_a_status_is_set():
    assert state.should_stop is None


def test_answer_of_a_model_comes_in_pieces_of_a_size():
    assert isinstance(AiohttpResponseStream.CHUNK_SIZE, int)


def test_server_of_the_simulator_knows_its_connection():
    assert "transport" in parameters(RequestResponseCycle.__init__)


async def test_connector_makes_its_connections_by_a_factory():
    connector = aiohttp.TCPConnector()
    try:
        assert isinstance(connector._factory(), ResponseHandler)
        assert connector._loop is not None
    finally:
        await connector.close()


# --- The record -----------------------------------------------------------------------


def trees() -> Iterator[tuple[str, ast.AST]]:
    for folder in ("apps", "conductor_site"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield str(path.relative_to(ROOT)), ast.parse(path.read_text("utf-8"))


def names_of(tree: ast.AST) -> set[str]:
    """Return what a module defines: functions, and names that are assigned."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.update([node.attr] if is_name(node.value, "self") else [])
    return names


def is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def is_inherited(node: ast.Attribute) -> bool:
    """Say whether a name is asked of the class above: `super().name`."""
    return isinstance(node.value, ast.Call) and is_name(node.value.func, "super")


def foreign_names() -> Iterator[tuple[str, str]]:
    """Yield private names of others, with the file that uses them."""
    own = {path: names_of(tree) for path, tree in trees()}
    all_own = set().union(*own.values())
    for path, tree in trees():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Attribute) or node.attr in PUBLIC:
                continue
            known = all_own if is_name(node.value, "self") else own[path]
            is_private = re.match(r"_[^_]", node.attr)
            if is_private and (node.attr not in known or is_inherited(node)):
                yield node.attr, path


def test_every_private_name_that_is_used_is_on_record():
    rows = [row for row in RECORD.read_text("utf-8").splitlines() if row[:1] == "|"]
    found = set(foreign_names())
    assert {"_check", "_clone", "_csp_update"} <= {name for name, _ in found}
    places = {
        (name, place)
        for row in rows
        for name in re.findall(r"`(_\w+)`", row)
        for place in re.findall(r"`((?:apps|conductor_site)[\w/.]*)`", row)
    }
    missing = {
        (name, path)
        for name, path in found
        if not any(name == known and path.startswith(at) for known, at in places)
    }
    assert missing == set()
