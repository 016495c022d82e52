"""A database that is away is told as 503 with a time to come back, everywhere."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import InterfaceError, InternalError, OperationalError
from django.http import HttpResponse
from django.test import RequestFactory
from psycopg import errors

from apps.core.database_outage import is_outage
from apps.rest.errors import answer_failure
from apps.web.middleware import DomainErrorMiddleware

SECRET = "connection to server at 10.1.2.3 failed"
STOOD_STILL = InternalError(SECRET)
STOOD_STILL.__cause__ = errors.IdleInTransactionSessionTimeout(SECRET)
OUTAGES = [OperationalError(SECRET), InterfaceError(SECRET), STOOD_STILL]
NAMES = ["operational", "interface", "stood still"]


@pytest.mark.parametrize("error", OUTAGES, ids=NAMES)
def test_g6_pages_say_so(rf: RequestFactory, error: Exception) -> None:
    request = rf.get("/runs/", headers={"accept": "application/json"})
    middleware = DomainErrorMiddleware(lambda _: HttpResponse())
    answer = middleware.process_exception(request, error)
    assert answer is not None
    assert (answer.status_code, answer["Retry-After"]) == (503, "2")
    assert SECRET not in answer.content.decode()


@pytest.mark.parametrize("error", OUTAGES, ids=NAMES)
def test_g6_the_rest_api_says_so(error: Exception) -> None:
    answer = answer_failure(error, {})
    assert answer is not None
    assert (answer.status_code, answer["Retry-After"]) == (503, "2")
    assert SECRET not in str(answer.data)


@pytest.mark.parametrize("error", OUTAGES, ids=NAMES)
async def test_g6_the_gateway_says_so(error: Exception, monkeypatch: Any) -> None:
    from tests.gateway.conftest import Client

    client = Client()

    async def away(*_: Any) -> None:
        raise error

    monkeypatch.setattr(client.backend, "start_run", away)
    answer = await client.chat()
    assert (answer.status, answer.headers["retry-after"]) == (503, "2")
    assert SECRET.encode() not in answer.body
    assert answer.error["code"] == "overloaded"


def test_a_fault_of_the_program_is_no_outage() -> None:
    fault = InternalError(SECRET)
    fault.__cause__ = errors.InFailedSqlTransaction(SECRET)
    assert not any(map(is_outage, (fault, InternalError(SECRET), ValueError(SECRET))))
