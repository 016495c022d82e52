"""Reads the files of deploy/ for tests."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent.parent
DEPLOY = ROOT / "deploy"
_LISTED = re.compile(r"^\| `([A-Z_]+)` \|", re.M)


@dataclass(frozen=True)
class Step:
    """One instruction of a Dockerfile."""

    word: str
    rest: str


class Stage(list[Step]):
    """The instructions of one stage, its FROM first."""

    @property
    def variables(self) -> dict[str, str]:
        """Return what its ENV lines set."""
        parts = [
            p for step in self if step.word == "ENV" for p in shlex.split(step.rest)
        ]
        return dict(part.split("=", 1) for part in parts)

    def only(self, word: str) -> str:
        """Return the rest of its one instruction of this kind."""
        [step] = [step for step in self if step.word == word]
        return step.rest


def stages() -> list[Stage]:
    """Return the stages of deploy/Dockerfile."""
    text = (DEPLOY / "Dockerfile").read_text("utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    found: list[Stage] = []
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        word, rest = line.split(maxsplit=1)
        if word == "FROM":
            found.append(Stage())
        found[-1].append(Step(word, rest))
    return found


def documents(path: Path) -> list[dict[str, Any]]:
    """Return the YAML documents of a file."""
    return [d for d in yaml.safe_load_all(path.read_text("utf-8")) if d]


def manifests() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every Kubernetes object with the name of its file."""
    for path in sorted((DEPLOY / "kubernetes").glob("*.yaml")):
        for document in documents(path):
            yield path.name, document


def known_variables() -> set[str]:
    """Return the variables that docs/configuration.md lists, and their _FILE forms."""
    listed = _LISTED.findall((ROOT / "docs/configuration.md").read_text("utf-8"))
    return {*listed, *(f"{name}_FILE" for name in listed), "FORWARDED_ALLOW_IPS"}
