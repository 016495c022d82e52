"""The pages of docs/clients: code that is run, and what it prints.

A page is for one client. Each `##` section shows one feature: a block of code, and a
block `text` with what it prints, where `…` stands for anything. Blocks before the first
section go before every example; one of `bash` is run once, one of `console` never.
The sections stand in the order of `ORDER`; the last one says which version was run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[3] / "docs" / "clients"
INDEX = FOLDER / "README.md"
ORDER = (
    "A question",
    "Streaming",
    "The stream helper",
    "Asynchronously",
    "A conversation",
    "Progress",
    "Tools",
    "Tools, streamed",
    "The tool runner",
    "Structured output",
    "Images",
    "An evaluation",
    "A suite of the team",
    "Chat Completions",
    "Responses",
    "Responses, streamed",
    "Responses, in the background",
    "Responses with tools",
    "Models",
    "Counting tokens",
    "Restrictions",
    "Verified delivery",
    "Safe retries",
    "Errors",
)
ON_EVERY_PAGE = frozenset({"A question", "Streaming", "Errors"})
VERSION = "Version"
_SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_TABLE = re.compile(r"^\| feature .*?(?=\n\n|\Z)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Example:
    """One feature with one client."""

    feature: str
    language: str
    code: str
    output: str

    def matches(self, printed: str) -> bool:
        """Say whether that is what the page promises."""
        parts = [re.escape(part) for part in self.output.strip().split("…")]
        return re.fullmatch(".*".join(parts), printed.strip(), re.DOTALL) is not None


@dataclass(frozen=True)
class Page:
    """One client."""

    path: Path
    title: str
    preparation: str
    """Shell commands to run once."""
    setup: str
    """Code that goes before each example's."""
    examples: tuple[Example, ...]
    version: str
    """Of the client, as the page's last section says it."""


def pages(language: str = "") -> list[Page]:
    """Return all pages, or those whose examples are in one language."""
    found = [read(path) for path in sorted(FOLDER.glob("*.md")) if path != INDEX]
    return [p for p in found if not language or p.examples[0].language == language]


def read(path: Path) -> Page:
    """Return a page. Raises: ValueError if an example lacks a part."""
    text = path.read_text()
    head, *rest = _SECTION.split(text)
    blocks = dict(_BLOCK.findall(head))
    blocks.pop("console", "")
    preparation = blocks.pop("bash", "")
    examples = [
        _example(path, feature, body)
        for feature, body in zip(rest[::2], rest[1::2], strict=True)
        if feature != VERSION
    ]
    version = rest[-1].strip() if rest[-2] == VERSION else ""
    title = head.splitlines()[0].removeprefix("# ")
    setup = "".join(blocks.values())
    return Page(path, title, preparation, setup, tuple(examples), version)


def _example(path: Path, feature: str, body: str) -> Example:
    blocks = _BLOCK.findall(body)
    if len(blocks) != 2 or blocks[1][0] != "text":
        raise ValueError(f"{path.name}, {feature!r}: expected code, then its output")
    (language, code), (_, output) = blocks
    return Example(feature, language, code, output)


def table() -> str:
    """Return which client shows which feature."""
    every = pages()
    links = [f"[{page.title}]({page.path.name})" for page in every]
    lines = [f"| feature | {' | '.join(links)} |", "|---" * (len(every) + 1) + "|"]
    for feature in ORDER:
        marks = [
            "✓" if feature in {e.feature for e in page.examples} else ""
            for page in every
        ]
        lines.append(f"| {feature} | {' | '.join(marks)} |")
    return "\n".join(lines)


def with_table(text: str) -> str:
    """Return the index page with the table as it is now."""
    return _TABLE.sub(lambda _: table(), text)
