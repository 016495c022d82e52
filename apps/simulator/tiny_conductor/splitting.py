"""Cuts text into words as Qwen2's tokenizer does, before they become tokens.

Exact for every text, whatever Unicode version this Python has: which characters are
letters and numbers, and which ones the tokenizer's normalisation does not know, stands
in `character_classes.txt`. Source: transformers 5.19, `Qwen2Tokenizer`; tokenizers
0.23.3, whose pattern engine has Unicode 16, and whose normalisation has Unicode 9.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from pathlib import Path

TABLE = Path(__file__).with_name("character_classes.txt")
"""Ranges of code points in hexadecimal, each class under its name."""
PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""As `tokenizer.json` has it."""
WHITE = r"\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
"""What `\\s` means there; Python's also has four control characters."""


def words(text: str) -> list[str]:
    """Return `text` in pieces, normalised; together they are all of it."""
    return _pattern().findall(normalized(text))


def normalized(text: str) -> str:
    """Return `text` in the form NFC of Unicode 9."""
    if text.isascii():
        return text
    return "".join(
        part if place % 2 else unicodedata.normalize("NFC", part)
        for place, part in enumerate(_unknown().split(text))
    )


@cache
def _pattern() -> re.Pattern[str]:
    """Return `PATTERN` as Python writes it."""
    white, letter, number = WHITE, _class("letters"), _class("numbers")
    return re.compile(
        rf"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n{letter}{number}]?[{letter}]+"
        rf"|[{number}]| ?[^{white}{letter}{number}]+[\r\n]*"
        rf"|[{white}]*[\r\n]+|[{white}]+(?![^{white}])|[{white}]+"
    )


@cache
def _unknown() -> re.Pattern[str]:
    """Return what matches characters that stay, and keep their neighbours apart."""
    return re.compile(f"([{_class('not_normalized')}])")


@cache
def _class(name: str) -> str:
    """Return a class of the table as the inside of a set in a pattern."""
    ranges: list[str] = []
    heading = ""
    for line in TABLE.read_text("ascii").splitlines():
        if line.islower():
            heading = line
        elif heading == name:
            ranges += line.split()
    return "".join(
        "-".join(f"\\U{int(end, 16):08x}" for end in each.split("-")) for each in ranges
    )
