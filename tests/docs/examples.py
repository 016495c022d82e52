"""Reads the pages of docs/examples: their commands, their requests and their tables."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tests.docs.reading import ROOT, page, snippets

FOLDER = ROOT / "docs" / "examples"
MANAGE = [".venv/bin/python", "manage.py"]
TEAM, TEAM_OF_TESTS = "demo", "orchestra"
EARLIER = "EVALUATION"
"""Stands on the pages for the id of the calibration."""


@dataclass(frozen=True)
class Example:
    """One use case: its folder and its page."""

    name: str

    @property
    def folder(self) -> Path:
        return FOLDER / self.name

    @property
    def path(self) -> str:
        return f"docs/examples/{self.name}/README.md"

    @cached_property
    def lines(self) -> list[list[str]]:
        """Return the words of each command in the page's blocks of shell."""
        blocks = "".join(snippets(self.path, "sh")).replace("\\\n", " ")
        return [shlex.split(line) for line in blocks.splitlines() if line.strip()]

    def commands(self, *, is_real: bool) -> list[list[str]]:
        """Return the commands of manage.py, for simulated or for real models."""
        found = [words[2:] for words in self.lines if words[:2] == MANAGE]
        real = [any("-real" in word for word in words) for words in found]
        return [
            words for words, other in zip(found, real, strict=True) if other == is_real
        ]

    @property
    def requests(self) -> list[tuple[str, dict[str, Any]]]:
        """Return the path and the body of each request by curl."""
        return [
            (words[1].partition("8000")[2], json.loads(words[words.index("-d") + 1]))
            for words in self.lines
            if words[0] == "curl"
        ]

    def table(self, first: str) -> list[list[str]]:
        """Return the rows of the table whose first column has this head."""
        return rows_of(page(self.path), first)


def rows_of(text: str, first: str) -> list[list[str]]:
    """Return the rows of a table in Markdown, without the line below its head."""
    lines = text.splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith(f"| {first} |"))
    rows = []
    for line in lines[start:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return [rows[0], *rows[2:]]


def columns(rows: list[list[str]], heads: list[str]) -> list[list[str]]:
    """Return these columns of a table, in this order."""
    places = [rows[0].index(head) for head in heads]
    return [[row[place] for place in places] for row in rows]
