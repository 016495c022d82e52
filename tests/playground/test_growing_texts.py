"""A text that is being written is formatted so that nothing closed changes later."""

from __future__ import annotations

import pytest

from apps.playground.texts.markdown import render, render_growing

TEXT = """# Title

A paragraph with **bold** and `code`,
on two lines.

1. one

2. two
   - inner

   more of two
10. ten

> a quote
goes on

Setext
------

| a | b |
|---|---|
| 1 | 2 |

```python
x = 1

# no heading
```

$$
a
- b
$$

    indented

    code

The end $x$.
"""
URL = "/playground/formatted/"
pytestmark = pytest.mark.django_db


def test_closed_blocks_never_change():
    whole = render(TEXT)
    for end in range(len(TEXT) + 1):
        grown = render_growing(TEXT[:end])
        assert whole.startswith(grown.closed_html), TEXT[:end]
        assert grown.closed_html == render(TEXT[: grown.closed])


def test_what_is_closed_may_be_left_out():
    closed, html = 0, ""
    for end in range(0, len(TEXT) + 1, 7):
        grown = render_growing(TEXT[closed:end])
        closed, html = closed + grown.closed, html + grown.closed_html
    last = render_growing(TEXT[closed:])
    assert html + last.closed_html + last.open_html == render(TEXT)


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("**bo", "<p><strong>bo</strong></p>"),
        ("some `co", "<p>some <code>co</code></p>"),
        ("- **", "<ul"),
        ("```\na ** b", "a ** b"),
    ],
)
def test_what_is_open_is_shown_as_if_it_ended(text, html):
    assert html in render_growing(text).open_html


def test_page_gets_closed_and_open_blocks(client, cast):
    client.force_login(cast.vera)
    text = "One 😀.\n\nTwo **th"
    answer = client.post(URL, text, content_type="text/plain").json()["formatted"]
    assert answer["closed"] == len("One XX.\n\n")
    assert answer["closed_html"] == "<p>One 😀.</p>\n"
    assert answer["open_html"] == "<p>Two <strong>th</strong></p>\n"


def test_text_that_takes_too_long_is_not_formatted(client, cast):
    client.force_login(cast.alice)
    answer = client.post(URL, "[a](" * 9_000, content_type="text/plain")
    assert answer.json() == {"formatted": None}


def test_text_that_is_no_utf_8_is_refused(client, cast):
    client.force_login(cast.alice)
    answer = client.post(URL, b"\xff", content_type="text/plain")
    assert answer.status_code == 400


def test_visitor_who_is_not_signed_in_formats_nothing(client):
    answer = client.post(URL, "x", content_type="text/plain")
    assert answer.status_code == 302
