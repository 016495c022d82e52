"""Keeping the list of prices fresh, from good servers and bad ones."""

from __future__ import annotations

import asyncio
import socket
import threading
import zlib
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import orjson
import pytest
import time_machine
from django.core.management import CommandError, call_command
from django.db import connection, connections
from django.test.utils import CaptureQueriesContext

from apps.llm.testing import BodyFraming, Script, json_script
from apps.llm.types import Timeouts
from apps.pools.models import PriceList
from apps.pools.prices import catalog_cache as price_catalog_cache
from apps.pools.selectors import list_price
from apps.pools.services import price_list, price_list_refresh
from apps.pools.types import RefreshOutcome
from tests.pools.lists import (
    ACME_URL,
    document_of,
    keep_list,
    list_server,
    model_of,
    priced,
    served,
)

pytestmark = pytest.mark.django_db(transaction=True)
CANARY = "canary-of-a-list"
NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)
FAILED = RefreshOutcome.FAILED
NOT_MODIFIED = Script(
    (b"HTTP/1.1 304 Not Modified\r\nconnection: close\r\n\r\n",),
    framing=BodyFraming.NONE,
)


@pytest.fixture
def kept(settings: Any) -> None:
    """A list the site has fetched before: two dollars in, eight out."""
    keep_list(settings, model_of())


def dollars_in() -> int | None:
    found = list_price(ACME_URL, "acme-1")
    return None if found is None else found.price.input_micros // 1_000_000


def refresh_from(settings: Any, *scripts: Script, **options: Any) -> Any:
    with list_server(*scripts) as server:
        settings.PRICE_LIST_URL = f"{server.base_url}/{CANARY}"
        return price_list_refresh(**options), server.requests


def _list(dollars: float) -> Any:
    return orjson.loads(document_of(priced(input_mtok=dollars, output_mtok=8)))


def json_script_of(dollars: float) -> Script:
    return json_script(_list(dollars))


# --- a good list ---------------------------------------------------------------------


def test_without_an_address_nothing_is_fetched(settings: Any):
    settings.PRICE_LIST_URL = ""
    assert price_list_refresh(is_forced=True).outcome is RefreshOutcome.NOT_SET
    assert not PriceList.objects.exists()
    assert list_price("https://api.openai.com/v1", "gpt-5")


def test_list_replaces_the_one_of_this_version(settings: Any):
    result, requests = refresh_from(settings, json_script_of(3))
    assert (result.outcome, result.models) == (RefreshOutcome.REPLACED, 1)
    assert dollars_in() == 3
    assert list_price("https://api.openai.com/v1", "gpt-5") is None
    assert requests[0].headers["accept-encoding"] == "identity"


def test_list_of_the_site_is_out_of_use_without_its_address(kept: None, settings: Any):
    assert dollars_in() == 2
    settings.PRICE_LIST_URL = ""
    price_catalog_cache.price_book_forget()
    assert dollars_in() is None


def test_list_is_asked_for_once_a_day(settings: Any):
    with (
        time_machine.travel(NOON, tick=False) as clock,
        list_server(default=json_script_of(3)) as server,
    ):
        settings.PRICE_LIST_URL = server.base_url
        outcomes = [price_list_refresh().outcome]
        for hours in (1, 22, 1):
            clock.shift(timedelta(hours=hours))
            outcomes.append(price_list_refresh().outcome)
        outcomes.append(price_list_refresh(is_forced=True).outcome)
        assert len(server.requests) == 3
    assert outcomes == ["replaced", "recent", "recent", "unchanged", "unchanged"]
    assert list_price(ACME_URL, "acme-1").as_of == NOON.date()  # type: ignore[union-attr]


def test_newer_list_has_its_own_day(settings: Any):
    with time_machine.travel(NOON, tick=False) as clock:
        refresh_from(settings, json_script_of(3))
        clock.shift(timedelta(days=2))
        refresh_from(settings, json_script_of(4))
        found = list_price(ACME_URL, "acme-1")
    assert found is not None
    assert (found.price.input_micros, found.as_of.day) == (4_000_000, 24)
    assert PriceList.objects.count() == 1


def test_another_address_is_asked_at_once(kept: None, settings: Any):
    result, _ = refresh_from(settings, json_script_of(5))
    assert (result.outcome, dollars_in()) == (RefreshOutcome.REPLACED, 5)


def test_server_may_say_that_nothing_is_new(settings: Any):
    tagged = json_script(_list(3), headers=[("etag", '"v1"')])
    with list_server(tagged, NOT_MODIFIED) as server:
        settings.PRICE_LIST_URL = server.base_url
        price_list_refresh()
        before = PriceList.objects.get()
        result = price_list_refresh(is_forced=True)
        assert [r.headers.get("if-none-match") for r in server.requests] == [
            None,
            '"v1"',
        ]
    assert result.outcome is RefreshOutcome.UNCHANGED
    after = PriceList.objects.get()
    assert after.checked_at > before.checked_at
    assert (after.fetched_at, dollars_in()) == (before.fetched_at, 3)


def test_tag_is_not_told_to_another_server(settings: Any):
    refresh_from(settings, json_script(_list(3), headers=[("etag", '"v1"')]))
    _, requests = refresh_from(settings, json_script_of(3))
    assert "if-none-match" not in requests[0].headers


def test_tag_that_fits_nowhere_is_left_alone(settings: Any):
    endless = json_script(_list(3), headers=[("etag", f'"{"x" * 300}"')])
    result, _ = refresh_from(settings, endless)
    assert (result.outcome, PriceList.objects.get().etag) == ("replaced", "")


def test_two_processes_at_once_store_one_list(settings: Any):
    outcomes: list[str] = []

    def work() -> None:
        outcomes.append(price_list_refresh().outcome)
        connections.close_all()

    with list_server(default=json_script_of(3)) as server:
        settings.PRICE_LIST_URL = server.base_url
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
    assert len(outcomes) == 4
    assert FAILED not in outcomes
    assert (PriceList.objects.count(), dollars_in()) == (1, 3)


# --- noticing it ---------------------------------------------------------------------


def test_look_ups_ask_no_database(kept: None):
    assert dollars_in() == 2
    with CaptureQueriesContext(connection) as queries:
        assert [dollars_in() for _ in range(20)] == [2] * 20
    assert len(queries) == 0


def test_list_that_another_process_fetched_is_noticed(
    kept: None, settings: Any, monkeypatch: pytest.MonkeyPatch
):
    assert dollars_in() == 2
    monkeypatch.setattr(price_list, "price_book_forget", lambda: None)
    refresh_from(settings, json_script_of(4))
    assert dollars_in() == 2
    monkeypatch.setattr(price_catalog_cache, "NOTICE_S", 0)
    with CaptureQueriesContext(connection) as queries:
        assert dollars_in() == 4
    assert len(queries) == 2
    with CaptureQueriesContext(connection) as queries:
        assert dollars_in() == 4
    assert len(queries) == 1


def test_stored_list_that_cannot_be_read_is_said_and_does_no_harm(
    kept: None, caplog: pytest.LogCaptureFixture
):
    PriceList.objects.update(document=zlib.compress(b"[]"))
    assert list_price("https://api.openai.com/v1", "gpt-5")
    assert caplog.text.count("PRICE_LIST_URL: the stored list is") == 1


# --- a bad one -----------------------------------------------------------------------


HUGE = b" " * (price_list.MAX_BYTES // 4)
BAD = {
    "html": served(f"<!doctype html><p>{CANARY}".encode()),
    "cut off": served(document_of()[:60], is_cut=True),
    "cut off silently": served(document_of()[:60], framing=BodyFraming.UNTIL_CLOSE),
    "too large": Script((HUGE, HUGE, HUGE, HUGE, document_of())),
    "empty": served(b""),
    "empty list": served(b"[]"),
    "no provider": served(b'[{"id": "' + CANARY.encode() + b'"}]'),
    "no price": served(document_of(model_of(CANARY, prices={}))),
    "foul pattern": served(document_of(api_pattern=f"({CANARY}")),
    "compressed": json_script(_list(9), headers=[("content-encoding", "gzip")]),
    "unavailable": json_script({"error": CANARY}, status=503),
    "not found": json_script({"error": CANARY}, status=404),
    "not modified unasked": NOT_MODIFIED,
    "redirected": Script(
        status=302, headers=[("location", "http://169.254.169.254/latest")]
    ),
    "no http": Script((CANARY.encode(),), framing=BodyFraming.NONE),
}


@pytest.mark.parametrize("script", BAD.values(), ids=BAD.keys())
def test_bad_list_leaves_the_former_one_in_use(
    kept: None, settings: Any, caplog: pytest.LogCaptureFixture, script: Script
):
    caplog.clear()
    result, requests = refresh_from(settings, script)
    assert (result.outcome, bool(result.why)) == (FAILED, True)
    assert len(requests) == 1
    assert dollars_in() == 2
    (record,) = [r for r in caplog.records if r.name.startswith("apps.pools")]
    assert record.levelname == "WARNING"
    line = record.getMessage()
    assert line.startswith("PRICE_LIST_URL: the former list stays in use: ")
    assert CANARY not in caplog.text
    assert "\n" not in line


def test_silent_server_is_given_up(
    kept: None, settings: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(price_list, "TIMES", Timeouts(5, 0.05, 0.05, 0.2))
    for silent in (
        Script(before_head=asyncio.Event()),
        Script((b"[", asyncio.Event())),
    ):
        result, _ = refresh_from(settings, silent)
        assert result.outcome is FAILED
    assert dollars_in() == 2


def test_server_that_is_away_leaves_the_former_list(kept: None, settings: Any):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        settings.PRICE_LIST_URL = f"http://127.0.0.1:{unused.getsockname()[1]}/list"
        result = price_list_refresh()
    assert (result.outcome, dollars_in()) == (FAILED, 2)
    assert "refused" in result.why


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/latest/meta-data",
        "http://10.0.0.1/list.json",
        "http://0xa.1/list.json",
        "http://[::ffff:169.254.169.254]/list",
    ],
)
def test_forbidden_address_is_never_connected_to(kept: None, settings: Any, url: str):
    settings.PRICE_LIST_URL = url
    result = price_list_refresh()
    assert (result.outcome, dollars_in()) == (FAILED, 2)
    assert "not in an allowed network" in result.why


def test_loopback_is_for_who_allows_it(settings: Any):
    settings.MODEL_NETWORKS = []
    result, requests = refresh_from(settings, json_script_of(3))
    assert (result.outcome, requests) == (FAILED, [])


def test_failure_is_tried_again_at_the_next_look(kept: None, settings: Any):
    with list_server(BAD["unavailable"], json_script_of(6)) as server:
        settings.PRICE_LIST_URL = server.base_url
        outcomes = [price_list_refresh().outcome for _ in range(3)]
    assert outcomes == ["failed", "replaced", "recent"]


# --- the command ---------------------------------------------------------------------


def command() -> str:
    out = StringIO()
    call_command("prices_update", stdout=out)
    return out.getvalue().strip()


def test_command_fetches_whatever_the_age_and_says_so(settings: Any):
    with list_server(default=json_script_of(3)) as server:
        settings.PRICE_LIST_URL = server.base_url
        assert command() == "a new list is in use; models with a price: 1"
        assert command() == "the list in use is the newest there is"
    assert len(server.requests) == 2


def test_command_ends_with_what_went_wrong(kept: None, settings: Any):
    with list_server(default=BAD["not found"]) as server:
        settings.PRICE_LIST_URL = server.base_url
        with pytest.raises(CommandError, match=r"PRICE_LIST_URL: the former.*404"):
            command()


def test_command_says_that_there_is_no_address(settings: Any):
    settings.PRICE_LIST_URL = ""
    with pytest.raises(CommandError, match="PRICE_LIST_URL is not set"):
        command()
