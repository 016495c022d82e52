"""Makes `apps/simulator/tiny_conductor/character_classes.txt`, by tokenizers.

    PYTHON tests/simulator/tiny_conductor/make_character_classes.py FILE

For an environment with tokenizers, whose pattern engine says what letters and numbers
are. Its normalisation knows less of Unicode than Python's; `not_normalized` covers all
it does not know, and nothing that it changes. For Python 3.11, with Unicode 14.
"""

from __future__ import annotations

import argparse
import textwrap
import unicodedata
from collections.abc import Set
from pathlib import Path

from tokenizers import Regex, normalizers, pre_tokenizers

SURROGATES = range(0xD800, 0xE000)
EVERYTHING = [code for code in range(0x110000) if code not in SURROGATES]
AT_ONCE = 4096
MARKS = "\u0301\u0327\u0334\u3099\u0345\u05b0\u0e48\u0344"
"""Of classes below and above each other, so that any mark changes place beside one."""
HANGUL = {*range(0x1100, 0x1200), *range(0xAC00, 0xD7A4)}
LINE = 88


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    unknown = not_composed() | not_ordered()
    unassigned = {c for c in EVERYTHING if unicodedata.category(chr(c)) == "Cn"}
    inert = {*EVERYTHING} - (active() - unknown)
    classes = {
        "letters": ranges(matching(r"\p{L}")),
        "numbers": ranges(matching(r"\p{N}")),
        "not_normalized": ranges(unassigned | unknown, inert),
    }
    lines = (
        f"{name}\n{textwrap.fill(found, LINE, break_on_hyphens=False)}\n"
        for name, found in classes.items()
    )
    parser.parse_args().file.write_text("".join(lines))


def matching(pattern: str) -> set[int]:
    """Return the code points that the engine's class holds."""
    split = pre_tokenizers.Split(Regex(pattern), "removed", invert=True)
    found: set[int] = set()
    for begin in range(0, len(EVERYTHING), AT_ONCE):
        text = "".join(map(chr, EVERYTHING[begin : begin + AT_ONCE]))
        for _, (start, end) in split.pre_tokenize_str(text):
            found.update(map(ord, text[start:end]))
    return found


def not_ordered() -> set[int]:
    """Return the marks that stay where they are, though Python puts them in order."""
    return {
        code
        for code in EVERYTHING
        if unicodedata.combining(chr(code))
        for mark in MARKS
        for text in (f"e{chr(code)}{mark}", f"e{mark}{chr(code)}")
        if is_otherwise(text)
    }


def not_composed() -> set[int]:
    """Return the parts of characters that are not put together, though Python does."""
    found: set[int] = set()
    for code in EVERYTHING:
        apart = unicodedata.normalize("NFD", chr(code))
        if apart != chr(code) and is_otherwise(apart):
            found.update({code, *map(ord, apart)})
    return found


def is_otherwise(text: str) -> bool:
    """Say whether the library normalises otherwise than Python."""
    library = normalizers.NFC().normalize_str(text)
    return bool(library != unicodedata.normalize("NFC", text))


def active() -> set[int]:
    """Return the code points that normalisation moves, makes or takes apart."""
    found = {c for c in EVERYTHING if unicodedata.combining(chr(c))} | HANGUL
    for code in EVERYTHING:
        parts = unicodedata.decomposition(chr(code)).split()
        if parts and not parts[0].startswith("<"):
            apart = unicodedata.normalize("NFD", chr(code))
            found.update({code}, (int(part, 16) for part in parts), map(ord, apart))
    return found


def ranges(codes: Set[int], bridges: Set[int] = frozenset()) -> str:
    """Return ranges of `codes`; gaps that hold `bridges` alone do not end one."""
    runs: list[list[int]] = []
    for code in sorted(codes):
        gap = range(runs[-1][1] + 1, code) if runs else ()
        if runs and all(each in bridges or each in SURROGATES for each in gap):
            runs[-1][1] = code
        else:
            runs.append([code, code])
    return " ".join(f"{a:X}" if a == b else f"{a:X}-{b:X}" for a, b in runs)


if __name__ == "__main__":
    main()
