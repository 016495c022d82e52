"""The examples people copy first are run as they stand, but for address and key."""

from __future__ import annotations

import json
import shlex
from typing import Any

import httpx
import pytest

from tests.docs.reading import run, snippets

PAGES = ("README.md", "docs/api.md")
ADDRESS, KEY = "http://127.0.0.1:8000", "cdk_…"


@pytest.fixture
def filled_in(site):
    """Put a real address and key into an example."""

    def fill(example: str) -> str:
        assert ADDRESS in example and KEY in example
        return example.replace(ADDRESS, site.url).replace(KEY, site.key)

    return fill


@pytest.mark.parametrize("name", PAGES)
def test_python_example_prints_an_answer_and_the_address_of_its_run(
    filled_in, site, capsys, name
):
    (example,) = snippets(name, "python")
    defined: dict[str, Any] = run(filled_in(example), "example")
    defined["client"].close()
    answer = defined["answer"]
    printed = capsys.readouterr().out
    assert answer.choices[0].message.content in printed
    assert f"/runs/{answer.conductor['run_id']}/" in printed


@pytest.mark.parametrize("name", PAGES)
def test_curl_example_is_answered(filled_in, name):
    (example,) = [code for code in snippets(name, "sh") if code.startswith("curl")]
    words = shlex.split(filled_in(example))
    headers = [words[i + 1] for i, word in enumerate(words) if word == "-H"]
    answer = httpx.post(
        words[1],
        headers=dict(header.split(": ", 1) for header in headers),
        content=words[words.index("-d") + 1].encode(),
    )
    assert answer.status_code == 200, answer.text
    assert json.loads(answer.text)["choices"][0]["message"]["content"]
