"""Lines of the log: their shape, their ids, and what they never hold."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, OperationalError
from django.test import Client, RequestFactory
from django.urls import resolve

from apps.core.errors import InvalidInput
from apps.core.logs import JSON, TEXT, Formatter, bind, log_context
from tests.observing.conftest import Lines

CONTENT = "the prompt of somebody"
logger = logging.getLogger("tests.observing")


@pytest.fixture(autouse=True)
def _no_context() -> Iterator[None]:
    token = log_context.set({})
    yield
    log_context.reset(token)


def record(message: object, *args: object, exc: BaseException | None = None) -> Any:
    info = None if exc is None else (type(exc), exc, exc.__traceback__)
    return logging.LogRecord(
        "apps.somewhere", logging.ERROR, __file__, 1, message, args, info
    )


def line(message: object, *args: object, exc: BaseException | None = None) -> Any:
    """Return what a production process logs, as the object its line is."""
    text = Formatter(JSON, hides=True).format(record(message, *args, exc=exc))
    assert "\n" not in text
    return json.loads(text)


def raised(exc: Exception, cause: Exception | None = None) -> Exception:
    """Return an exception with a traceback."""
    try:
        raise exc from cause
    except Exception as caught:  # noqa: BLE001
        return caught


def test_line_says_when_what_where_and_how_bad():
    told = line("run %s broke", "x")
    assert told.pop("timestamp").endswith("Z")
    assert told == {
        "event": "run x broke",
        "level": "error",
        "logger": "apps.somewhere",
    }


def test_line_carries_the_ids_of_its_context():
    bind(request_id=b"r-1")
    bind(run_id="u-2")
    told = line("broke")
    assert (told["request_id"], told["run_id"]) == ("r-1", "u-2")


def test_text_is_for_people():
    bind(run_id="u-2")
    text = Formatter(TEXT, hides=True).format(record("run broke"))
    assert "run broke" in text
    assert "run_id=u-2" in text
    assert not text.startswith("{")


@pytest.mark.parametrize("form", [JSON, TEXT])
@pytest.mark.parametrize(
    ("message", "secret"),
    [
        ("key cdk_4b1d0c77e24b1d0c77e2", "4b1d0c77e2"),
        ("key sk-canary-4b1d0c77e2", "canary-4b1d0c77e2"),
        ("Authorization: Bearer 4b1d0c77e2", "4b1d0c77e2"),
        ("Authorization: Basic 4b1d0c77e2==", "4b1d0c77e2"),
        ("{'password': '4b1d0c77e2'}", "4b1d0c77e2"),
        ('"api_key": "4b1d0c77e2"', "4b1d0c77e2"),
        ("x-api-key=4b1d0c77e2", "4b1d0c77e2"),
        ("postgres://me:4b1d0c77e2@host/db", "4b1d0c77e2"),
        ("redis://:4b1d0c77e2@host:6379/0", "4b1d0c77e2"),
        ("redis://:4b1d@0c77e2@host:6379/0", "0c77e2"),
        ("GET https://host/v1beta?alt=sse&key=4b1d0c77e2", "4b1d0c77e2"),
    ],
)
def test_what_looks_like_a_secret_is_hidden(form, message, secret):
    assert secret not in Formatter(form, hides=False).format(record(message))
    assert secret not in Formatter(form, hides=False).format(record("%s", message))
    exc = raised(OSError(message))
    assert secret not in Formatter(form, hides=False).format(record("x", exc=exc))


def test_the_sites_own_secrets_are_hidden_wherever_they_stand(settings):
    settings.SECRET_KEY = "one-of-the-site"  # nosec
    settings.METRICS_TOKEN = "another-one"  # nosec
    settings.REDIS_URL = "redis://:third%2Fone@host/0"
    told = line("it is one-of-the-site, or another-one, or third/one")
    assert told["event"] == "it is [hidden], or [hidden], or [hidden]"


@pytest.mark.parametrize(
    "exc",
    [
        raised(ValueError(CONTENT)),
        raised(KeyError(CONTENT)),
        raised(DatabaseError(CONTENT)),
        raised(RuntimeError("x"), cause=ValueError(CONTENT)),
        raised(ExceptionGroup(CONTENT, [ValueError(CONTENT)])),
        raised(UnicodeDecodeError("utf-8", CONTENT.encode(), 0, 1, CONTENT)),
    ],
)
def test_exceptions_that_may_quote_content_are_not_quoted(exc):
    told = line("broke: %s", exc, exc=exc)
    assert CONTENT not in str(told)
    assert type(exc).__name__ in told["exception"]
    assert f'File "{__file__}"' in told["exception"]


@pytest.mark.parametrize(
    "exc",
    [
        raised(OperationalError("the server is gone")),
        raised(ImproperlyConfigured("X is not set")),
        raised(ConnectionRefusedError(111, "Connection refused")),
    ],
)
def test_exceptions_of_the_machine_are_quoted(exc):
    told = line("broke: %s", exc, exc=exc)
    assert str(exc) in told["event"]
    assert str(exc) in told["exception"]


def test_our_own_errors_are_told_by_their_code():
    exc = raised(InvalidInput(f"what is {CONTENT!r}?"))
    told = line("broke", exc=exc)
    assert "InvalidInput: (invalid_" in told["exception"]
    assert CONTENT not in told["exception"]


def test_exceptions_of_one_group_and_chain_are_told_once_each():
    inner = raised(ValueError("a"))
    outer = raised(ExceptionGroup("b", [inner, raised(TypeError("c"))]), cause=inner)
    told = line("broke", exc=outer)["exception"]
    assert told.count("ValueError: ") == 1
    assert "TypeError: c" in told


def test_asyncio_prints_no_exception_into_its_message():
    one = record(
        f"Task exception was never retrieved\nfuture: <x exception=V({CONTENT})>"
    )
    one.name = "asyncio"
    assert CONTENT not in Formatter(JSON, hides=True).format(one)


def test_nobody_writes_a_line_of_their_own():
    text = Formatter(TEXT, hides=True).format(record("a\r\nfake line\nanother"))
    assert len(text.splitlines()) == 1


def test_address_is_told_by_its_pattern(rf: RequestFactory):
    request = rf.get("/invitations/4b1d0c77e2/")
    request.resolver_match = resolve(request.path)
    one = record("%s: %s", "Not Found", request.path)
    one.request = request
    told = json.loads(Formatter(JSON, hides=True).format(one))
    assert told["event"] == "Not Found: /invitations/<str:token>/"


def test_address_that_leads_nowhere_is_told_by_its_beginning(rf: RequestFactory):
    request = rf.get("/nowhere/4b1d0c77e2/")
    one = record("%s: %s", "Not Found", request.path)
    one.request = request
    told = json.loads(Formatter(JSON, hides=True).format(one))
    assert told["event"] == "Not Found: /nowhere/…"


def test_lone_surrogates_do_not_stop_a_line():
    assert line("a \ud800 b")["event"] == "a \ud800 b"


def test_fields_of_structlog_loggers_are_held_to_the_same(caplog):
    import structlog

    structlog.get_logger("tests.observing").error("x", prompt=CONTENT, n=1)
    (one,) = caplog.records
    told = json.loads(Formatter(JSON, hides=True).format(one))
    assert (told["prompt"], told["n"]) == ("[hidden]", 1)


@pytest.mark.django_db
def test_django_logs_once_and_without_the_token(client: Client, lines: Lines):
    client.get("/invitations/4b1d0c77e2/")
    (told,) = [one for one in lines() if one["logger"] == "django.request"]
    assert told["event"] == "Not Found: /invitations/<str:token>/"
