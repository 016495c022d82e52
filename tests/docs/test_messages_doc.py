"""The page of the Messages API: its example runs, its tables are complete."""

from __future__ import annotations

from typing import Any

from apps.gateway.anthropic.blocks import READERS
from apps.gateway.anthropic.documents import STOP_REASONS
from apps.gateway.anthropic.errors import TYPES
from apps.gateway.anthropic.request import USED_FIELDS
from tests.docs.reading import page, run, snippets

NAME = "docs/messages.md"
ADDRESS, KEY = "http://127.0.0.1:8000", "cdk_…"


def test_example_prints_an_answer_and_the_address_of_its_run(site, capsys):
    (example,) = snippets(NAME, "python")
    assert ADDRESS in example
    assert KEY in example
    filled = example.replace(ADDRESS, site.url).replace(KEY, site.key)
    defined: dict[str, Any] = run(filled, "example")
    defined["client"].close()
    answer, printed = defined["answer"], capsys.readouterr().out
    assert answer.content[0].text in printed
    assert f"/runs/{answer.conductor['run_id']}/" in printed


def test_page_names_everything_that_requests_and_answers_may_hold():
    text = page(NAME)
    fields = {name for name in USED_FIELDS if name != "output_config"}
    named = {*fields, *READERS, *STOP_REASONS.values(), *TYPES.values()}
    assert {name for name in named if f"`{name}`" not in text} == set()
    assert {str(status) for status in TYPES if str(status) not in text} == set()
