"""What of an answer stands in another one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.web.text_differences import differences


@pytest.mark.parametrize(
    ("text", "base", "marked"),
    [
        ("The cat sat.", "The dog sat.", ["cat "]),
        ("Yes.", "Yes.", []),
        ("One two three", "two", ["One ", "three"]),
        ("是的，对", "是的", ["，对"]),
        ("", "Yes.", []),
    ],
)
def test_words_that_the_base_lacks_are_marked(text, base, marked):
    found = differences(text, base)
    assert found is not None
    assert [p.text for p in found.pieces if p.is_only_here] == marked


@given(st.text(max_size=80), st.text(max_size=80))
def test_pieces_make_up_the_text(text, base):
    found = differences(text, base)
    assert found is not None
    assert "".join(piece.text for piece in found.pieces).strip() == text.strip()


def test_long_texts_are_compared_by_sentences_and_longer_ones_not_at_all():
    long = "word " * 5_001
    found = differences(f"{long}. New.", f"{long}.")
    assert found is not None
    assert found.unit == "sentences"
    assert differences("a" * 100_001, "b") is None
