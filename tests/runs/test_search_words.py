"""From texts to words, and from queries to what they look for."""

from __future__ import annotations

import pytest

from apps.runs.search.words import MOST_SOUGHT, query_read, words_in


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The cat, the HAT!", ["the", "cat", "the", "hat"]),
        ("run_id=42 e.g. don't", ["run", "id", "42", "e", "g", "don", "t"]),
        ("Straße und ﬁnden Ⅳ", ["strasse", "und", "finden", "iv"]),
        ("Ελλάδα Москва", ["ελλάδα", "москва"]),
        ("東京都", ["東", "京", "都", "東京", "京都"]),
        ("iPhone版 v2", ["iphone", "版", "v2"]),
        ("... --- !!!", []),
    ],
)
def test_words_of_a_text(text: str, words: list[str]) -> None:
    assert list(words_in(text)) == words


def test_words_and_phrases_of_a_query() -> None:
    query = query_read('Red "Blue  Moon" red “old house” "one"')
    assert query.words == ("red", "blue", "moon", "old", "house", "one")
    assert query.phrases == ("blue moon", "old house")


def test_last_quotation_mark_may_be_missing() -> None:
    assert query_read('a "b c').phrases == ("b c",)


def test_phrase_of_a_script_without_spaces_is_kept() -> None:
    assert query_read('"東京都"').phrases == ("東京都",)


def test_query_of_signs_has_no_words() -> None:
    assert query_read('"?!" --').words == ()


def test_long_query_is_cut_and_says_so() -> None:
    query = query_read(" ".join(f"w{n}" for n in range(MOST_SOUGHT + 1)))
    assert len(query.words) == MOST_SOUGHT
    assert query.is_cut
