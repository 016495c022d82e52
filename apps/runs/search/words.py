"""From a text to its words, and from what people type to what they look for. Pure.

A word is a row of letters and digits, in the form NFKC and without upper case. Scripts
that put no spaces between words are cut into single characters and pairs of them, so
that every part of a text can be found.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

MOST_SOUGHT = 40
"""Words of one query; a query has 200 characters at most."""
_WORD = re.compile(r"[^\W_]+")
_SPACELESS = re.compile(
    "["
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f"  # Burmese
    "\u1780-\u17ff"  # Khmer
    "\u3040-\u30ff"  # Hiragana, Katakana
    "\u31f0-\u31ff"
    "\u3400-\u4dbf"  # Chinese characters, with the next ones
    "\u4e00-\u9fff"
    "\uf900-\ufaff"
    "\U00020000-\U0003fffd"
    "]+"
)
_QUOTED = re.compile('["\u201c\u201d\u201e\u00ab\u00bb]')
"""What phrases stand between."""


@dataclass(frozen=True, slots=True)
class TextQuery:
    """What is looked for: all of it must be in the texts of a run."""

    words: tuple[str, ...]
    """Those of phrases included. Empty: nothing of the query is a word."""
    phrases: tuple[str, ...] = ()
    """As `comparable` gives them."""
    is_cut: bool = False
    """True: it had more than MOST_SOUGHT words, and the others are left out."""


def comparable(text: str) -> str:
    """Return a text in the form in which texts are compared, with single spaces."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def words_in(text: str) -> Iterator[str]:
    """Yield the words of a text, in order, some more than once."""
    for found in _WORD.finditer(comparable(text)):
        yield from _parts(found[0])


def query_read(text: str) -> TextQuery:
    """Return what a query looks for: words, and phrases between quotation marks.

    The last mark may be missing.
    """
    parts = _QUOTED.split(text)
    phrases = [comparable(part) for part in parts[1::2]]
    words = list(dict.fromkeys(words_in(" ".join(parts))))
    return TextQuery(
        tuple(words[:MOST_SOUGHT]),
        # A phrase of one word says no more than the word.
        tuple(each for each in phrases if each and list(words_in(each)) != [each]),
        len(words) > MOST_SOUGHT,
    )


def _parts(word: str) -> Iterator[str]:
    """Yield a word; of a script without spaces its characters and pairs of them."""
    start = 0
    for found in _SPACELESS.finditer(word):
        if start < found.start():
            yield word[start : found.start()]
        signs = found[0]
        yield from signs
        yield from map("".join, pairwise(signs))
        start = found.end()
    if start < len(word):
        yield word[start:]
