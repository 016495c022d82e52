"""Footnotes of answers: they lead to and fro, and hostile ones stay text."""

from __future__ import annotations

import re

import pytest
from django.utils import translation

from apps.playground.texts.markdown import render, render_growing
from tests.playground import stories
from tests.playground.conftest import record_run

TEXT = """Water boils at 100 °C[^1], on a mountain earlier[^height]. So it is[^1].

[^1]: At *sea level*: <https://a.example/>.

    Measured in 1742.
[^height]: By 1 °C for each 300 m.
"""
HOSTILE = [
    'a[^"><script>]\n\n[^"><script>]: <script>alert(1)</script>',
    "a[^1]\n\n[^1]: [x](javascript:alert(1)) <img src=x onerror=alert(1)>",
    'a[^1]\n\n[^1]: <li value="1"> <sup>1-1</sup> <section>',
    "$\\text{<sup>9-9</sup>}$ <sup>9-9</sup>[^1]\n\n[^1]: b",
    'a[^x"onclick="alert(1)]\n\n[^x"onclick="alert(1)]: b',
]


def ids(page: str) -> list[str]:
    return re.findall(r'\sid="([^"]+)"', page)


def targets(page: str) -> list[str]:
    return re.findall(r'href="#([^"]*fn[^"]+)"', page)


def test_references_lead_to_notes_and_back():
    html = render(TEXT, "here")
    assert '<a role="doc-noteref" id="fnref-here-1-1" href="#fn-here-1"' in html
    assert ids(html).count("fn-here-2") == 1
    assert len(ids(html)) == len(set(ids(html)))
    assert set(targets(html)) <= set(ids(html))
    assert html.count('role="doc-backlink"') == 3
    assert (
        'aria-label="Back to reference 1-2" lang="en">↩\ufe0e<sup>2</sup></a>' in html
    )
    assert "[^" not in html


def test_notes_stand_at_the_end_with_all_they_hold():
    html = render("[^1]: First.\n\n    ```\n    x\n    ```\n\nThe text[^1].", "a")
    text, _, notes = html.partition('<section class="footnotes"')
    assert "The text" in text
    assert "First." in notes and "<code>x\n</code>" in notes


def test_labels_become_numbers_in_the_order_of_the_text():
    html = render("b[^second] a[^9]\n\n[^9]: nine\n[^second]: two", "a")
    assert re.findall(r">(\d+)</a></sup>", html) == ["1", "2"]
    assert html.index("two") < html.index("nine")


def test_note_that_nothing_refers_to_is_shown():
    html = render("Text.\n\n[^1]: Lost?", "a")
    assert "Lost?" in html
    assert "doc-backlink" not in html


@pytest.mark.parametrize("text", ["[^a-z]+", "x[^1]", "`[^1]`\n", "[^1]:x"])
def test_what_is_no_footnote_stays_as_it_was_written(text):
    assert "<sup" not in render(text, "a")


def test_notes_in_quotes_and_notes_in_notes_are_text():
    assert "[^1]: b" in render("> a[^1]\n>\n> [^1]: b", "a")
    assert "[^2]: b" in render("a[^1]\n\n[^1]: [^2]: b", "a")


def test_second_note_of_a_label_is_not_lost():
    html = render("a[^1]\n\n[^1]: one\n\n[^1]: two", "a")
    assert "one" in html and "two" in html


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_footnotes_are_inert(text):
    for html in (render(text, "a"), render_growing(text + "\n\n").closed_html):
        assert not re.search(r"<(script|img)|<[^>]*\son\w+=", html)
        assert "javascript:" not in html.replace("](javascript:", "")
        assert all(re.fullmatch(r"fn(ref)?-a(-\d+)+", each) for each in ids(html))


def test_many_references_of_one_note_have_few_ways_back():
    html = render("a[^1] " * 100 + "\n\n[^1]: b", "a")
    assert html.count('role="doc-noteref"') == 100
    assert html.count('role="doc-backlink"') == 10


@pytest.mark.release
def test_links_are_named_in_the_language_of_the_page():
    with translation.override("de"):
        html = render(TEXT, "a")
    assert 'aria-label="Fußnote 1" lang="de"' in html
    assert 'aria-label="Footnote 1" lang="en"' in render(TEXT, "a")


def test_growing_text_shows_footnotes_where_they_stand():
    grown = render_growing(TEXT)
    html = grown.closed_html + grown.open_html
    assert "100 °C<sup>1</sup>" in html
    assert "Measured in 1742." in html
    assert ids(html) == targets(html) == []


def test_growing_reference_needs_no_note_yet():
    assert "<sup>1</sup>" in render_growing("It boils[^1]").open_html
    assert "[^a-z]" in render_growing("It is [^a-z]").open_html


def test_closed_blocks_with_footnotes_may_be_left_out():
    closed, html = 0, ""
    for end in range(0, len(TEXT) + 1, 7):
        grown = render_growing(TEXT[closed:end])
        closed, html = closed + grown.closed, html + grown.closed_html
    last = render_growing(TEXT[closed:])
    html += last.closed_html + last.open_html
    assert html.count("<section") == 2
    assert html.startswith("<p>Water boils at 100 °C<sup>1</sup>")


@pytest.mark.parametrize("page", ["/?run={}", "/runs/{}/"])
def test_ids_of_a_page_are_its_own(bob, team, page):
    run = record_run(team, stories.answered(TEXT))
    shown = bob.get(page.format(run.id)).content.decode()
    notes = [each for each in ids(shown) if each.startswith("fn")]
    assert len(notes) == len(set(notes)) == 2 * 5
    assert set(targets(shown)) == set(notes)
