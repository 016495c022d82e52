"""Model text is inert on a page."""

import re

import pytest

from apps.playground.texts.markdown import render

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


def test_p7_tasks_of_a_list_have_boxes():
    html = render("- [x] done `code`\n- [ ] open\n- [y] neither\n\n[x] no item")
    assert '<li class="task">☑ done <code>code</code></li>' in html
    assert '<li class="task">☐ open</li>' in html
    assert "[y] neither" in html and "<p>[x] no item</p>" in html


def test_text_that_looks_like_html_is_shown_as_text():
    assert "&lt;b&gt;" in render("<b>bold</b>")


def test_figures_and_names_in_a_table_stay_on_one_line():
    html = render("| Duration | Note |\n|---|---|\n| 10,000.00 | " + "word " * 9 + "|")
    assert '<td class="short">10,000.00</td>' in html
    assert "<td>word word" in html
    assert '<th class="short">Duration</th>' in html


def test_word_of_a_table_is_broken_only_if_it_is_longer_than_words_are():
    html = render(f"| a |\n|---|\n| {'x' * 41} |")
    assert f'<td class="loose">{"x" * 41}</td>' in html


def test_table_scrolls_in_a_box_that_the_keyboard_reaches():
    html = render("| a |\n|---|\n| b |")
    assert re.search(r'<div [^>]*class="table-scroll"[^>]*><table>', html)
    assert re.search(r'<div [^>]*tabindex="0"', html)


@pytest.mark.parametrize("text", ["- واحد", "1. واحد", "> واحد"])
def test_p8_lists_and_quotes_have_the_direction_of_their_text(text):
    assert re.search(r'<(ul|ol|blockquote)[^>]* dir="auto"', render(text))


def test_code_is_always_left_to_right():
    assert re.search(r'<pre[^>]* dir="ltr"', render("```\nx = 1\n```"))


@pytest.mark.parametrize(
    "text", ['<div class="topbar">x</div>', "| a |\n|---|\n| <td class=topbar> |"]
)
def test_model_text_cannot_choose_a_class(text):
    assert not re.search(r"<[^>]*topbar", render(text))


def test_empty_head_of_a_column_is_no_head():
    html = render("| | A |\n|---|---|\n| b | c |")
    assert '<td class="short"></td>' in html
    assert html.count("<th") - html.count("<thead") == 1
