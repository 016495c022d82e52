"""The pages of the documentation, found once; nothing else can be asked for.

A page's name is looked up among those that exist, so no name leads out of the folder.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from django.conf import settings

from apps.core.errors import NotFound

CHANGES = "changes"
"""The name of the page that says what is new."""
GROUPS: Mapping[str, Sequence[str]] = {
    "Use the API": (
        *("api", "messages", "responses", "batches", "embeddings"),
        *("live", "rest", "clients", "examples"),
    ),
    "Run a team": (
        *("teams", "presets", "comparisons", "sharing", "governance", "ledger"),
        *("alerts", "insights", "evaluation", "training", "webhooks"),
    ),
    "Run the site": ("configuration", "operations", "faults", "protocols"),
    "Reference": (
        *(CHANGES, "glossary", "events", "architecture"),
        *("simulated-benchmark", "translations"),
    ),
    "Decisions": ("adr",),
}
"""Pages by the kind of reader; those in folders follow the one of their folder."""
_HEADING = re.compile(r"(#{1,6})\s+(.*?)\s*#*$")
_FENCE = re.compile(r"\s*(```|~~~)")
_MARKS = re.compile(r"[`*]|!?\[([^\]]*)\]\([^)]*\)")
_NOT_IN_ANCHORS = re.compile(r"[^\w\- ]")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of a page."""

    level: int
    text: str
    anchor: str
    """Its id on the page, in the manner of GitHub."""


@dataclass(frozen=True, slots=True)
class Doc:
    """A page of the documentation."""

    name: str
    """As in its address: `api`, `clients/curl`."""
    path: Path
    title: str
    headings: tuple[Heading, ...]
    """Without the title."""


@cache
def doc_list() -> Mapping[str, Doc]:
    """Return all pages by name, as they were when they were first asked for."""
    root: Path = settings.BASE_DIR / "docs"
    paths = {_name(path.relative_to(root)): path for path in root.rglob("*.md")}
    changes: Path = settings.BASE_DIR / "CHANGELOG.md"
    if changes.is_file():
        paths[CHANGES] = changes
    return {name: _read(name, path) for name, path in sorted(paths.items())}


def doc_find(name: str) -> Doc:
    """Return a page. Raises: NotFound."""
    found = doc_list().get(name)
    if found is None:
        raise NotFound(f"the documentation has no page {name!r}")
    return found


def doc_groups() -> list[tuple[str, list[Doc]]]:
    """Return the pages by the kind of reader."""
    docs = doc_list()
    groups = []
    for title, names in GROUPS.items():
        members = [
            doc
            for first in names
            for name, doc in docs.items()
            if name == first or name.startswith(f"{first}/")
        ]
        groups.append((title, members))
    return [group for group in groups if group[1]]


def site_version() -> str:
    """Return the newest version in the list of changes; empty: there is none."""
    changes = doc_list().get(CHANGES)
    found = () if changes is None else changes.headings
    return next((each.text for each in found if each.level == 2), "")


def anchors_of(texts: Sequence[str]) -> list[str]:
    """Return the ids of headings, in the order they come on a page."""
    taken: dict[str, int] = {}
    anchors = []
    for text in texts:
        words = _NOT_IN_ANCHORS.sub("", text.lower()).replace(" ", "-")
        number = taken.get(words, 0)
        taken[words] = number + 1
        anchors.append(f"{words}-{number}" if number else words)
    return anchors


def _name(path: Path) -> str:
    parts = path.with_suffix("").parts
    return "/".join(parts[:-1] if parts[-1] == "README" else parts)


def _read(name: str, path: Path) -> Doc:
    found = list(_headings(path.read_text("utf-8")))
    anchors = anchors_of([text for _, text in found])
    headings = [
        Heading(level, text, anchor)
        for (level, text), anchor in zip(found, anchors, strict=True)
    ]
    title = headings[0].text if headings else name
    if name == CHANGES:
        title = "What’s new"
    return Doc(name, path, title, tuple(headings[1:]))


def _headings(text: str) -> Iterator[tuple[int, str]]:
    is_code = False
    for line in text.splitlines():
        is_code ^= _FENCE.match(line) is not None
        found = None if is_code else _HEADING.match(line)
        if found:
            yield len(found[1]), _MARKS.sub(lambda mark: mark[1] or "", found[2])
