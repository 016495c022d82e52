"""The table of workers: sorted by its heads, filtered by health."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from tests.console.conftest import text_of
from tests.console.test_pool_planning import with_last_test
from tests.factories import PriceFactory

NAMES = re.compile(r'<a href="/workers/[0-9a-f-]{36}/">([^<]+)</a>')


@pytest.fixture
def workers(cast: Any) -> None:
    for name, context, price in (("b", 8, 3), ("a", 32, 1), ("c", None, 2)):
        worker = with_last_test(cast.team, name, ok=False if name == "c" else None)
        worker.context_tokens = context
        worker.save()
        PriceFactory.create(worker=worker, input_micros=price, output_micros=price)


@pytest.mark.usefixtures("workers")
@pytest.mark.parametrize(
    ("query", "order"),
    [
        ("", "abc"),
        ("sort=-name", "cba"),
        ("sort=context", "bac"),
        ("sort=-context", "abc"),
        ("sort=price", "acb"),
        ("sort=-price", "bca"),
        ("sort=health", "cab"),
        ("sort=nonsense", "abc"),
        ("health=failing", "c"),
        ("health=nonsense", "abc"),
    ],
)
def test_order_and_choice_are_those_of_the_address(
    alice: Client, query: str, order: str
):
    assert "".join(NAMES.findall(text_of(alice.get(f"/workers/?{query}")))) == order


@pytest.mark.usefixtures("workers")
def test_head_says_how_the_table_is_sorted_and_turns_it(alice: Client):
    page = text_of(alice.get("/workers/?sort=context"))
    assert page.count("aria-sort=") == 1
    assert (
        'class="num" aria-sort="ascending"><a class="sort" href="?sort=-context"'
        in (page)
    )
