"""Answers that are hard to draw: what a hostile or confused model may write."""

from __future__ import annotations

MEGABYTE = 1_000_000
ROW = "|" + " value |" * 10 + "\n"
HEAD = "|" + " name |" * 10 + "\n|" + "---|" * 10 + "\n"
SHAPES = {
    "backslashes": "\\",
    "brackets": "[",
    "link starts": "[a](",
    "image starts": "![",
    "one long word": "a",
    "emphasis": "_a*b",
    "code spans": "`a",
    "lists in lists": "- - a\n",
    "numbered items": "1. a\n",
    "headings": "# a\n",
    "mixed scripts": "a\u05e91\u0645",
    "formulas": "$x_1$ ",
    "emoji": "\U0001f600 ",
    "footnotes": "a[^1]\n\n[^1]: b\n\n",
    "references to footnotes": "[^1]: a\n\n" + "b[^1] " * 100 + "\n\n",
    "footnotes that have no end": "[^1]: a\n\n[^",
}
"""What is repeated, by what it is called."""


def repeated(name: str, length: int) -> str:
    """Return a text of about `length` characters that repeats one shape."""
    return SHAPES[name] * (length // len(SHAPES[name]))


def table(length: int) -> str:
    """Return a table of ten columns in about `length` characters."""
    return HEAD + ROW * (length // len(ROW))


def sparse_table(columns: int, rows: int) -> str:
    """Return a table whose rows are short in the text and full in the page."""
    return f"{'|a' * columns}\n{'|-' * columns}\n{'|' * 2}\n" + "|\n" * rows
