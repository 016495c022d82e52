"""The glossary has one line for each term, in alphabetical order."""

from __future__ import annotations

import re

import pytest

from tests.docs.reading import page

NAME = "docs/glossary.md"
LINE = re.compile(r"- \*\*(?P<term>[^*]+)\*\*: (?P<meaning>.+\.)")
LONGEST = 140
LINKED_FROM = {
    "README.md": "docs/glossary.md",
    "CONTRIBUTING.md": "docs/glossary.md",
    "docs/architecture.md": "glossary.md",
}


def lines() -> list[str]:
    """Return what follows the first paragraph."""
    _, _, terms = page(NAME).split("\n\n", 2)
    return terms.splitlines()


def terms() -> list[str]:
    return [found["term"] for line in lines() if (found := LINE.fullmatch(line))]


def test_every_line_is_a_term_with_its_meaning():
    assert [line for line in lines() if not LINE.fullmatch(line)] == []
    assert len(terms()) >= 40


def test_no_meaning_is_longer_than_a_line():
    assert [line for line in lines() if len(line) > LONGEST] == []


def test_terms_are_sorted_and_each_is_there_once():
    folded = [term.casefold() for term in terms()]
    assert folded == sorted(set(folded))


@pytest.mark.parametrize(("name", "link"), LINKED_FROM.items())
def test_glossary_is_linked(name, link):
    assert f"({link})" in page(name)
