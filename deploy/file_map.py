"""Writes the file map in docs/architecture.md: `python -m deploy.file_map`.

One row for each folder of the product: the first sentence of its docstring, and its
modules. A test fails while the map is not that of the tree.
"""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- file map: begin -->", "<!-- file map: end -->"
FOLDERS = ("apps", "conductor_site", "deploy", "bench")
LEFT_OUT = {"migrations", "__pycache__"}
PURPOSES = {
    "commands": "Management commands",
    "templatetags": "Template tags and filters",
    "deploy": "The demo, and files for deployments",
    "peers": "Peers that the benchmarks compare with",
}
"""Of folders without a docstring, by their last name."""


def rows() -> list[str]:
    """Return the lines of the table, in the order of the folders' names."""
    found = ["| folder | what it does | modules |", "|---|---|---|"]
    for top in FOLDERS:
        below = (path for path in (ROOT / top).rglob("*") if path.is_dir())
        folders = sorted([ROOT / top, *below])
        found += [_row(folder) for folder in folders if _has(folder)]
    return found


def page_with_map(page: str) -> str:
    """Return the page with the map of the tree between its two marks."""
    head, rest = page.split(BEGIN)
    tail = rest.split(END)[1]
    return "\n".join([f"{head}{BEGIN}", *rows(), f"{END}{tail}"])


def _has(folder: Path) -> bool:
    return not LEFT_OUT & set(folder.parts) and bool(_modules(folder))


def _modules(folder: Path) -> list[str]:
    return sorted(path.stem for path in folder.glob("*.py") if path.stem != "__init__")


def _row(folder: Path) -> str:
    names = " ".join(f"`{name}`" for name in _modules(folder))
    return f"| `{folder.relative_to(ROOT)}` | {_purpose(folder)} | {names} |"


def _purpose(folder: Path) -> str:
    """Return the first line of the folder's docstring, without its full stop."""
    if folder.name in PURPOSES:
        return PURPOSES[folder.name]
    text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text("utf-8")))
    return (text or "").split("\n")[0].rstrip(".")


if __name__ == "__main__":
    PAGE.write_text(page_with_map(PAGE.read_text("utf-8")), "utf-8")
