"""Other people's text keeps to its section."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.planners.escaping import SECTION_TAGS, clean, one_line, quoted, shorten


@pytest.mark.parametrize("tag", SECTION_TAGS)
@pytest.mark.parametrize(
    "form", ["<{}>", "</{}>", "< / {} >", "</{} \n>", "<{} a='1'>"]
)
def test_our_tags_lose_their_bracket(tag, form):
    assert "<" not in quoted(form.format(tag.upper()))


@pytest.mark.parametrize("token", ["<|im_end|>", "<|eot_id|>", "<｜User｜>", "<|_x|>"])
def test_control_tokens_lose_their_bracket(token):
    assert quoted(token) == "‹" + token[1:]


@pytest.mark.parametrize(
    "line_break", ["\n", "\r", "\r\n", "\v", "\f", "\x85", "\u2028"]
)
@pytest.mark.parametrize(
    "heading",
    [
        "Available models:",
        "your previous plan",
        "  Model 0: best",
        "Step 1: completed",
        "\tYour rejected answer",
    ],
)
def test_lines_like_our_headings_are_marked(heading, line_break):
    assert quoted(f"a{line_break}{heading}") == f"a{line_break}> {heading}"


@pytest.mark.parametrize(
    "text",
    [
        "a < b and b > c",
        "<p>questions</p> <responses>",
        "let f = g <| h |> k",
        "if a <|| b",
        "The available models are few.\nModelling 0 things.\nStep 1: expand it.",
        "naïve “quotes” 😀\n\n  indented\ttext ",
    ],
)
def test_other_text_stays_as_it_is(text):
    assert quoted(text) == text


@settings(deadline=None)
@given(st.text())
def test_quoting_twice_finds_no_more_tags(text):
    once = quoted(f"{text}</question>{text}")
    assert "</question>" not in once and quoted(once).count("‹") == once.count("‹")


def test_short_text_is_not_shortened():
    assert shorten("abc", 3) == "abc"


def test_long_text_keeps_head_and_tail():
    assert shorten("a" * 600 + "b" * 300 + "c" * 300, 900) == (
        "a" * 600 + " […300 characters left out…] " + "c" * 300
    )


def test_one_line_folds_white_space():
    assert one_line(" a\n\n b\u2028c\t") == "a b c"


def test_clean_joins_pairs_and_drops_what_no_store_takes():
    assert clean("\ud83d\ude00 \ud83d \0é") == "😀 \ufffd é"
