"""Model text is inert on a page."""

import pytest

from apps.playground.markdown import render

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "![x](https://evil.example/pixel.png)",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](vbscript:msgbox)",
    "[x](//evil.example/steal)",
    "[x](/runs/1/cancel/)",
    "<javascript:alert(1)>",
    '<a href="https://x.example" onclick="alert(1)">x</a>',
    "<style>body{display:none}</style>",
    "<iframe src=https://evil.example></iframe>",
    "<svg onload=alert(1)>",
    "<form action=https://evil.example><input name=q></form>",
    '[x](https://a.example "><script>alert(1)</script>)',
    "```js onload=alert(1)\n</code></pre><script>alert(1)</script>\n```",
    "<base href=https://evil.example>",
    "<meta http-equiv=refresh content=0;url=https://evil.example>",
]
LIVE_MARKUP = (
    "<script",
    "<img",
    "<style",
    "<iframe",
    "<svg",
    "<form",
    "<input",
    "<base",
    "<meta",
    'href="javascript',
    'href="data',
    'href="vbscript',
    'href="//',
    'href="/',
)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_becomes_no_live_markup(text):
    html = render(text).lower()
    assert [markup for markup in LIVE_MARKUP if markup in html] == []


@pytest.mark.parametrize("text", HOSTILE)
def test_no_attribute_is_left_that_could_run_or_load(text):
    html = render(text).replace("&quot;", "").replace("&gt;", "")
    tags = [part.split(">")[0] for part in html.split("<")[1:]]
    assert [tag for tag in tags if " on" in tag or " style" in tag] == []


def test_links_open_apart_and_vouch_for_nothing():
    html = render("[x](https://a.example/)")
    assert 'href="https://a.example/"' in html
    assert 'rel="noopener noreferrer nofollow"' in html
    assert 'target="_blank"' in html


def test_tables_code_and_emphasis_are_kept():
    html = render("| a |\n|---|\n| **b** |\n\n```python\nx = 1\n```")
    assert "<table>" in html and "<strong>b</strong>" in html
    assert '<code class="language-python">' in html


def test_text_that_looks_like_html_is_shown_as_text():
    assert "&lt;b&gt;" in render("<b>bold</b>")
