"""Takes the documentation apart."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def page(name: str) -> str:
    """Return a page of the documentation."""
    return (ROOT / name).read_text(encoding="utf-8")


def snippets(name: str, language: str) -> list[str]:
    """Return the blocks of code in `language` that a page holds."""
    return [code for kind, code in _FENCE.findall(page(name)) if kind == language]


def run(code: str, name: str) -> dict[str, object]:
    """Run a block of code as a module called `name` and return what it defines."""
    defined: dict[str, object] = {"__name__": name}
    exec(compile(code, f"<{name}>", "exec"), defined)  # our own documentation
    return defined
