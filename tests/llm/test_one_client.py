"""There is one way out: no module but `apps/llm/http.py` speaks HTTP as a client.

The linters say so too; here it holds for whoever runs only the tests.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CLIENTS = {
    "aiohttp",
    "ftplib",
    "http.client",
    "httpx",
    "httpx_aiohttp",
    "pycurl",
    "requests",
    "smtplib",
    "telnetlib",
    "urllib.request",
    "urllib3",
    "websockets",
    "xmlrpc.client",
}
THE_ONE = "apps/llm/http.py"
OPENS_SOCKETS = [THE_ONE, "apps/llm/tls_messages.py"]


def imported(path: Path) -> Iterator[str]:
    """Yield every module, and every name from a module, that a file imports."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_only_one_module_imports_a_client():
    found = {
        str(path.relative_to(ROOT))
        for folder in ("apps", "conductor_site")
        for path in (ROOT / folder).rglob("*.py")
        if any(
            name == client or name.startswith(f"{client}.")
            for name in imported(path)
            for client in CLIENTS
        )
    }
    assert found == {THE_ONE}


def test_linter_forbids_the_others():
    lint = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["ruff"]["lint"]
    banned = lint["flake8-tidy-imports"]["banned-api"]
    exempt = [
        path for path, rules in lint["per-file-ignores"].items() if "TID251" in rules
    ]
    assert "TID251" in lint["select"]
    assert {"requests", "urllib.request", "http.client", "httpx"} <= banned.keys()
    assert [path for path in exempt if path.startswith("apps/")] == OPENS_SOCKETS


def test_import_contract_covers_every_other_module_of_the_package():
    linter = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"][
        "importlinter"
    ]
    (contract,) = [c for c in linter["contracts"] if c["name"].startswith("One module")]
    modules = {
        f"apps.llm.{path.stem}"
        for path in (ROOT / "apps/llm").iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
        if path.stem not in {"__init__", "http"}
    }
    assert modules <= set(contract["source_modules"])
