"""Why a search found a text: its line with the most of the words, cut to a list."""

from __future__ import annotations

import pytest

from apps.runs.search.matching_line import MAX_LINE_CHARACTERS, matching_line
from apps.runs.search.words import query_read


def shown(texts: list[str], query: str) -> str | None:
    line = matching_line(texts, query_read(query).words)
    return f"{line.before}[{line.word}]{line.after}" if line else None


@pytest.mark.parametrize(
    ("text", "query", "line"),
    [
        ("one\ntwo\nthree", "TWO", "[two]"),
        ("the price of tea\nthe tea of Assam", "assam tea", "the [tea] of Assam"),
        ("  much   space  around\tit ", "space", "much [space] around it"),
        ("東京の天気は晴れ", "天気", "東京の[天気]は晴れ"),
        ("a cup of ＴＥＡ", "tea", "a cup of [ＴＥＡ]"),
        ("nothing", "tea", None),
        ("", "tea", None),
    ],
)
def test_line_with_most_words_is_shown(text: str, query: str, line: str | None) -> None:
    assert shown([text], query) == line


@pytest.mark.parametrize("text", ["東京の天気は晴れ" * 500, "天気" + "x" * 5_000])
def test_line_without_spaces_is_cut(text: str) -> None:
    line = shown([text], "天気")
    assert line is not None
    assert "[天気]" in line
    assert len(line) <= MAX_LINE_CHARACTERS + len("[]…")


def test_long_line_is_cut_around_the_word() -> None:
    line = shown(["before " * 50 + "needle" + " after" * 50], "needle")
    assert line is not None
    assert line.startswith("… before before")
    assert line.endswith("…")
    assert "[needle] after" in line
    assert len(line) <= MAX_LINE_CHARACTERS + len("[]…")
