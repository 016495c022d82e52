"""Names of workers are hidden in answers, whole and while they grow."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.comparisons.consumers import BlindText
from apps.comparisons.hidden_names import NameMask

MASK = NameMask(frozenset({"sim-delta", "sim-delta-2", "gpt-5", "x", "", "o3", "ab"}))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("I am sim-delta.", "I am [hidden]."),
        ("I am SIM-Delta-2.", "I am [hidden]."),
        ("gpt-5", "[hidden]"),
        ("gpt-50 and x", "gpt-50 and x"),
        ("", ""),
        ("o3 is no o30", "[hidden] is no o30"),
        ("ab", "ab"),
    ],
)
def test_names_are_replaced_as_whole_words(text, shown):
    assert MASK.whole(text) == shown


@given(st.text(alphabet="gpt-50 simdela2o3", max_size=60))
def test_growing_text_shows_the_beginning_of_the_whole_one_alone(text):
    whole = MASK.whole(text)
    shown = [MASK.beginning(text[:end]) for end in range(len(text) + 1)]
    assert all(whole.startswith(each) for each in shown)
    assert [len(each) for each in shown] == sorted(len(each) for each in shown)


@given(st.text(alphabet="gpt-50 simdela2o3", max_size=60), st.integers(1, 7))
def test_text_in_pieces_is_shown_as_the_whole_one(text, size):
    blind = BlindText(MASK)
    shown = ""
    for at in range(0, len(text), size):
        frame = blind.piece((0, 0, 1), {"offset": at, "text": text[at : at + size]})
        if frame:
            assert frame["offset"] == len(shown)
            shown += frame["text"]
    assert shown == MASK.beginning(text)
