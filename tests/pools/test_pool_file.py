"""Pool files: what is read, and how each fault is named."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from pydantic import ValidationError

from apps.pools.errors import PoolDocumentInvalid
from apps.pools.models import TierName
from apps.pools.pool_file import PoolDocument, document_parse
from tests.pools.files import CANARY, document, text, values


def faults(source: str) -> tuple[str, ...]:
    with pytest.raises(PoolDocumentInvalid) as caught:
        document_parse(source)
    return caught.value.faults


def test_usual_file_is_read():
    read = document()
    assert [worker.name for worker in read.workers] == ["strong", "quick", "local"]
    assert read.workers[0].base_url == "https://api.example.com/v1"


def test_price_becomes_whole_micro_dollars():
    price = document().workers[0].price
    assert price is not None
    assert price.micros() == {
        "input_micros": 1_250_000,
        "output_micros": 10_000_000,
        "cached_input_micros": 125_000,
    }


def test_yaml_number_is_taken_exactly():
    # As a float this would not be a whole number of micro-dollars.
    source = text().replace("'1.25'", "0.000007")
    price = document_parse(source).workers[0].price
    assert price is not None
    assert price.input == Decimal("0.000007")


def test_python_float_is_refused_as_a_price():
    with pytest.raises(ValidationError, match="decimal number or text"):
        PoolDocument.model_validate(values(workers__0__price__input=1.25))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"workers__0__price__input": "-1"}, "workers[0].price.input: "),
        ({"workers__0__price__input": "10001"}, "workers[0].price.input: "),
        ({"workers__0__price__input": "NaN"}, "workers[0].price.input: "),
        ({"workers__0__price__input": "0.0000001"}, "at most six decimal places"),
        ({"workers__0__price__input": "cheap"}, "workers[0].price.input: "),
        ({"workers__0__price__output": None}, "workers[0].price.output: "),
        ({"workers__0__price__valid_from": "soon"}, "workers[0].price.valid_from: "),
        ({"workers__1__name": "strong"}, "workers[1].name: 'strong' is taken by work"),
        (
            {"other_conductors": [values()["conductor"]]},
            "other_conductors[0].name: 'planner' is taken by conductor",
        ),
        (
            {"other_conductors": [{"name": "x", "base_url": "ftp://h", "model": "m"}]},
            "other_conductors[0].base_url: must be an http",
        ),
        ({"workers__1__name": "a/b"}, "workers[1].name: use letters"),
        ({"workers__1__name": "x\n"}, "workers[1].name: use letters"),
        ({"workers__2__base_url": "ftp://h"}, "workers[2].base_url: must be an http"),
        ({"workers__2__base_url": "http://a:b@h"}, "workers[2].base_url: must not"),
        ({"workers__2__base_url": "http://h?k=v"}, "workers[2].base_url: must not"),
        ({"workers__2__protocol": "telepathy"}, "workers[2].protocol: "),
        ({"workers__2__accepts_images": 7}, "workers[2].accepts_images: "),
        ({"workers__2__max_output_tokens": 0}, "workers[2].max_output_tokens: "),
        ({"workers__2__timeouts__idle_s": 0}, "workers[2].timeouts.idle_s: "),
        ({"workers__2__api_key": "k"}, "workers[2].api_key: there is no such field"),
        ({"workers__2__api_key_env": "A B"}, "workers[2].api_key_env: "),
        ({"workers": []}, "workers: "),
        ({"pool__fallback": "nobody"}, "pool.fallback: no worker is called 'nobody'"),
        ({"pool__name": "a/b"}, "pool.name: "),
        ({"conductor__mode": "telepathy"}, "conductor.mode: "),
        ({"conductor__temperature": "3"}, "conductor.temperature: "),
        ({"tiers__mega": {}}, "tiers.mega: "),
        ({"tiers__ultra__max_steps": 0}, "tiers.ultra.max_steps: "),
        (
            {"tiers__mini__max_calls": 3, "tiers__mini__max_steps": 4},
            "tiers.mini.max_c",
        ),
        ({"tiers__ultra__max_cost_usd": "0"}, "tiers.ultra.max_cost_usd: "),
        ({"tiers__ultra__delivery": "later"}, "tiers.ultra.delivery: "),
        ({"unknown": 1}, "unknown: there is no such field"),
    ],
)
def test_fault_names_its_path(changes: dict[str, Any], expected: str):
    found = faults(text(**changes))
    assert len(found) == 1
    assert expected in found[0]


def test_conductor_tier_without_a_conductor_is_refused():
    changed = values(tiers__ultra__planner="conductor", conductor=None)
    with pytest.raises(ValidationError, match=r"tiers\.ultra\.planner"):
        PoolDocument.model_validate(changed)


def test_all_faults_are_named_at_once():
    assert len(faults(text(workers__0__model="", workers__1__model="", extra=1))) == 3


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("", "by name"),
        ("- 1", "by name"),
        ("pool: [", "line 1"),
        ("pool: {name: a, name: b}", "the same field twice"),
        ("a: &x [1]\nb: *x", "aliases are not allowed"),
        ("a: !!python/object/apply:os.getcwd []", "line 1"),
        ("a: .inf", "not a decimal number"),
        ("a: \x00", "not YAML"),
        ("[" * 5000, "not YAML"),
        ("a: 1\n" * 300_000, "longer than"),
    ],
)
def test_bad_yaml_is_refused(source: str, expected: str):
    assert expected in faults(source)[0]


@pytest.mark.parametrize(
    "source",
    [
        f"pool: {{name: x, fallback: y, secret: {CANARY}}}",
        text(workers__2__api_key=CANARY),
        text(workers__2__base_url=f"https://{CANARY}@api.example.com"),
        text(workers__2__base_url=f"https://api.example.com?key={CANARY}"),
        text(workers__2__api_key_env=CANARY),
        f"api_key: {CANARY}: [",
    ],
)
def test_secret_in_the_wrong_place_is_not_repeated(source: str):
    with pytest.raises(PoolDocumentInvalid) as caught:
        document_parse(source)
    error: BaseException | None = caught.value
    while error is not None and not error.__suppress_context__:
        assert CANARY not in f"{error} {error!r}"
        error = error.__cause__


def test_tiers_have_their_usual_limits():
    limits = document().tier_limits()
    assert [limits[name]["max_steps"] for name in TierName] == [1, 5]
    assert {limits[name]["max_rounds"] for name in TierName} == {1}


def test_tier_limit_of_the_file_wins():
    changed = document(tiers__ultra__max_cost_usd="0.5", tiers__ultra__max_rounds=2)
    ultra = changed.tier_limits()[TierName.ULTRA]
    assert (ultra["max_cost_micros"], ultra["max_rounds"]) == (500_000, 2)


def test_pool_without_a_conductor_gets_one_tier_of_one_worker():
    limits = document(conductor=None).tier_limits()
    assert list(limits) == [TierName.MINI]
    assert limits[TierName.MINI]["planner"] == "single_worker"
