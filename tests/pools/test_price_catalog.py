"""Looking prices up in a list: whose they are, how much exactly, and when unknown."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, date, datetime
from importlib.metadata import version
from typing import Any

import orjson
import pytest

from apps.pools.errors import PriceListInvalid
from apps.pools.prices.catalog import (
    BUNDLED_VERSION,
    PriceBook,
    book_read,
    bundled_book,
)
from apps.pools.types import PriceSnapshot
from tests.pools.lists import ACME_URL, document_of, list_of, model_of, priced

DAY = date(2026, 11, 20)
NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)


def book(*models: dict[str, Any], **changes: Any) -> PriceBook:
    return book_read(document_of(*models, **changes), DAY)


def amounts(*models: dict[str, Any]) -> PriceSnapshot | None:
    found = book(model_of("other"), *models).price(ACME_URL, "acme-1", NOON)
    return None if found is None else found.price


# --- whose price it is ---------------------------------------------------------------


def test_price_is_found_by_address_and_name():
    found = book().price(ACME_URL, "acme-1", NOON)
    assert found is not None
    assert (found.provider, found.model, found.as_of) == ("Acme", "acme-1", DAY)
    assert found.price == PriceSnapshot(2_000_000, 8_000_000, None)
    assert (found.remarks, found.changes_by_hour) == ((), False)


@pytest.mark.parametrize(
    "base_url",
    [
        "https://api.acme.example",
        "https://api.acme.example/",
        "https://API.Acme.Example/v1",
        "https://api.acme.example.:443/v1",
    ],
)
def test_spelling_of_the_address_does_not_matter(base_url: str):
    assert book().price(base_url, "acme-1", NOON)


@pytest.mark.parametrize(
    "base_url",
    [
        "http://127.0.0.1:8000/v1",
        "https://vllm.internal/v1",
        "http://api.acme.example/v1",
        "https://api.acme.example:8443/v1",
        "https://api.acme.example.evil.example/v1",
        "https://api.acme.examples/v1",
        "https://user@api.acme.example/v1",
        "https://proxy.example/https://api.acme.example/v1",
        "https://[::1/v1",
        "https://api.acme.example:port/v1",
        "api.acme.example",
        "https:///v1",
        f"{ACME_URL}/{'x' * 500}",
        "",
    ],
)
def test_model_at_any_other_address_has_no_list_price(base_url: str):
    assert book().price(base_url, "acme-1", NOON) is None


@pytest.mark.parametrize(
    ("pattern", "base_url", "is_found"),
    [
        (r"https://(.*\.)?acme\.example", "https://eu.acme.example/v1", True),
        (r"https://(.*\.)?acme\.example", "https://evil.example/x.acme.example", False),
        (r"https://api\.acme\.", "https://api.acme.cn/v1", True),
        (r"https://api\.acme\.", "https://api.acme.evil.example/v1", False),
        (r"https://hub\.example/acme", "https://hub.example/acme/v1", True),
        (r"https://hub\.example/acme", "https://hub.example/other/v1", False),
        (r"https://api\.acme\.example(?:/|$)", "https://api.acme.example/v1", True),
        (r"https://api\.acme\.example(?:/|$)", "https://api.acme.example", True),
        (r".*", "https://vllm.internal/v1", False),
    ],
)
def test_pattern_must_be_about_the_host(pattern: str, base_url: str, is_found: bool):
    found = book(api_pattern=pattern).price(base_url, "acme-1", NOON)
    assert (found is not None) == is_found


@pytest.mark.parametrize("model", ["", "acme-2", "acme-1 ", "x" * 201])
def test_other_model_of_the_provider_has_no_list_price(model: str):
    assert book().price(ACME_URL, model, NOON) is None


def test_models_of_another_provider_have_their_price_at_who_sells_them():
    seller = {
        "id": "seller",
        "name": "Seller",
        "api_pattern": r"https://sell\.example",
        "fallback_model_providers": ["acme"],
        "models": [],
    }
    both = book_read(orjson.dumps([*list_of(), seller]), DAY)
    found = both.price("https://sell.example/v1", "acme-1", NOON)
    assert found is not None
    assert (found.provider, found.price.input_micros) == ("Seller", 2_000_000)


# --- how much ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dollars", "micros"),
    [
        (0, 0),
        (1, 1_000_000),
        (0.1, 100_000),
        (1.1, 1_100_000),
        (0.000001, 1),
        (2.675, 2_675_000),
        (0.18000000000000002, 180_000),
        (1.0399999999999998, 1_040_000),
        (10_000, 10_000_000_000),
    ],
)
def test_dollars_become_exact_micro_dollars(dollars: float, micros: int):
    price = {"input_mtok": dollars, "output_mtok": 1, "cache_read_mtok": dollars}
    assert amounts(priced(**price)) == PriceSnapshot(micros, 1_000_000, micros)


@pytest.mark.parametrize(
    "prices",
    [
        {},
        {"input_mtok": 1},
        {"output_mtok": 1},
        {"input_mtok": None, "output_mtok": 1},
        {"audio_hours": 1},
        {"input_mtok": -1, "output_mtok": 1},
        {"input_mtok": 1, "output_mtok": 10_001},
        {"input_mtok": 1, "output_mtok": 1, "cache_read_mtok": -1},
        {"input_mtok": 0.0000001, "output_mtok": 1},
        {"input_mtok": 1e-300, "output_mtok": 1},
    ],
)
def test_price_that_is_not_wholly_known_is_unknown_and_never_zero(prices: Any):
    assert amounts(priced(**prices)) is None


def test_model_without_prices_has_none():
    assert amounts(model_of(prices=[])) is None


def test_free_model_costs_nothing():
    assert amounts(priced(input_mtok=0, output_mtok=0)) == PriceSnapshot(0, 0, None)


def test_price_is_the_one_in_force():
    dated = model_of(
        prices=[
            {"prices": {"input_mtok": 1, "output_mtok": 2}},
            {
                "constraint": {"start_date": "2026-11-22"},
                "prices": {"input_mtok": 3, "output_mtok": 4},
            },
        ]
    )
    listed = book(dated)
    before = listed.price(ACME_URL, "acme-1", datetime(2026, 11, 21, tzinfo=UTC))
    since = listed.price(ACME_URL, "acme-1", NOON)
    assert before and since
    assert before.price == PriceSnapshot(1_000_000, 2_000_000, None)
    assert since.price == PriceSnapshot(3_000_000, 4_000_000, None)


def test_tiers_begin_with_the_first_and_say_so():
    tiers = [{"start": 200_000, "price": 6}, {"start": 100_000, "price": 4}]
    found = book(priced(input_mtok={"base": 3, "tiers": tiers}, output_mtok=15))
    price = found.price(ACME_URL, "acme-1", NOON)
    assert price is not None
    assert price.price == PriceSnapshot(3_000_000, 15_000_000, None)
    assert price.remarks == (
        "Requests of more than 100,000 input tokens have another price.",
    )


def test_price_that_changes_with_the_hour_says_so():
    night = {"start_time": "00:00:00Z", "end_time": "08:00:00Z"}
    hourly = model_of(
        prices=[
            {"prices": {"input_mtok": 2, "output_mtok": 4}},
            {"constraint": night, "prices": {"input_mtok": 1, "output_mtok": 2}},
        ]
    )
    found = book(hourly).price(ACME_URL, "acme-1", NOON)
    assert found is not None
    assert (found.price.input_micros, found.changes_by_hour) == (2_000_000, True)
    assert "time of day" in found.remarks[0]


def test_charge_for_each_request_is_told():
    extra = priced(input_mtok=1, output_mtok=1, requests_kcount=5)
    found = book(extra).price(ACME_URL, "acme-1", NOON)
    assert found is not None
    assert found.remarks == ("Each request costs something besides.",)


# --- what is no list -----------------------------------------------------------------


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"<!doctype html><title>Sign in</title>",
        b"{}",
        b"null",
        b"[]",
        b"[[]]",
        b"[1]",
        b"\xff\xfe",
        b"[" * 100_000,
        b'[{"id": NaN}]',
        document_of()[:-1],
        document_of()[: len(document_of()) // 2],
        orjson.dumps([{"id": "acme"}]),
        document_of(api_pattern="("),
        document_of(api_pattern=None),
        document_of(model_of(match={})),
        document_of(model_of(match={"regex": "("})),
        document_of(model_of(match={"or": [{"and": [{"regex": "["}]}]})),
        document_of(model_of(match={"looks_like": "acme"})),
        document_of(model_of(prices="much")),
        document_of(model_of(prices={"input_mtok": "much"})),
        document_of(model_of(prices=[{"constraint": {"start_date": "soon"}}])),
        document_of(priced(input_mtok=1)),
        document_of(priced(input_mtok=-1, output_mtok=-1)),
    ],
)
def test_anything_else_is_refused_without_being_quoted(document: bytes):
    with pytest.raises(PriceListInvalid) as caught:
        book_read(document, DAY)
    assert caught.value.__context__ is None
    assert "acme" not in caught.value.message


def test_list_of_tomorrow_may_hold_more_than_is_known_today():
    newer = list_of(model_of(new_field=1), extractors=[{"new": True}], more={"x": 1})
    unit = priced(input_mtok=1, output_mtok=2, dreams_kcount=3)
    newer[0]["models"].append({**unit, "id": "b", "match": {"equals": "b"}})
    listed = book_read(orjson.dumps(newer), DAY)
    assert listed.price(ACME_URL, "b", NOON)


# --- the list of this version --------------------------------------------------------


def test_list_of_this_version_is_of_the_release_it_says():
    assert version("genai-prices") == BUNDLED_VERSION


def test_list_of_this_version_knows_well_known_models():
    listed = bundled_book()
    assert listed.count() > 1_000
    for base_url, model in (
        ("https://api.openai.com/v1", "gpt-5"),
        ("https://api.anthropic.com/v1", "claude-sonnet-4-5"),
        ("https://generativelanguage.googleapis.com/v1beta", "gemini-2.5-pro"),
        ("https://api.mistral.ai/v1", "mistral-large-latest"),
    ):
        assert listed.price(base_url, model), model
    assert listed.price("http://127.0.0.1:8000/v1", "gpt-5") is None


@pytest.mark.slow
def test_no_process_imports_the_list_at_its_start():
    code = (
        "import sys, django; django.setup(); import conductor_site.asgi, "
        "conductor_site.celery, conductor_site.urls, apps.gateway.app; "
        "sys.exit('genai_prices' in sys.modules or 'httpx2' in sys.modules)"
    )
    command = [sys.executable, "-c", code]
    assert subprocess.run(command, check=False, timeout=60).returncode == 0
