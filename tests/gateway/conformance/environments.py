"""Clients that are not installed with the product's own tests, and how to run them.

Their dependencies contradict the product's or each other's, so each has a virtual
environment of its own, made from `clients/<page>.txt`; what comes from npm is in
`javascript`. A page whose client is not installed is skipped.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from tests.gateway.conformance.pages import Page

ROOT = Path(__file__).resolve().parents[3]
LOCKS = Path(__file__).parent / "clients"
REQUIREMENTS = ROOT / "requirements"
JAVASCRIPT = Path(__file__).parent / "javascript"
COMMANDS_FROM_NPM = {"codex"}
"""Pages in `sh` whose command is an npm package."""
RUN_APART = {"claude-code"}
"""Pages with requests by curl, whose npm package `test_coding_agents.py` runs."""
LONGEST_S = 120
_PINNED = re.compile(r"^([\w-]+)(?:\[.*\])?==(\S+)", re.MULTILINE)
_REFUSING_PROXY = "http://127.0.0.1:9"
WITHIN_THIS_MACHINE = {
    "AIDER_ANALYTICS": "false",
    "AIDER_CHECK_UPDATE": "false",
    "DO_NOT_TRACK": "1",
    "HTTPS_PROXY": _REFUSING_PROXY,
    "HTTP_PROXY": _REFUSING_PROXY,
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "NO_PROXY": "127.0.0.1,localhost",
}
"""Switches telemetry off; requests to other machines fail at once."""


def stage(page: Page) -> str:
    """Return the make target that installs the page's client; "" for `make test`."""
    if page.examples[0].language == "js" or page.path.stem in COMMANDS_FROM_NPM:
        return "test-js"
    return "test-clients" if (LOCKS / f"{page.path.stem}.txt").exists() else ""


def installed(page: Page) -> bool:
    """Say whether the page's client is there."""
    if stage(page) == "test-js":
        wanted = _from_npm()
        modules = JAVASCRIPT / "node_modules"
        return all((modules / name).exists() for name in wanted)
    return not stage(page) or (_environment(page) / ".installed").exists()


def pinned(page: Page) -> dict[str, str]:
    """Return the packages that the page is run with, and their versions."""
    if stage(page) == "test-js" or page.path.stem in RUN_APART:
        return _from_npm()
    name = f"{page.path.stem}.txt"
    locks = (LOCKS / name, REQUIREMENTS / name, REQUIREMENTS / "dev.txt")
    lock = next(path for path in locks if path.exists())
    return dict(_PINNED.findall(lock.read_text()))


def run_python(page: Page, code: str, folder: Path) -> str:
    """Return what a program prints in the client's own environment."""
    program = folder / "example.py"
    program.write_text(code)
    done = _run(page, ["python", str(program)], folder)
    return done.stdout + (done.stderr if done.returncode else "")


def run_javascript(page: Page, code: str, folder: Path) -> str:
    """Return what a program prints in Node."""
    # Beside the packages: that is where Node looks for them.
    program = JAVASCRIPT / f"{folder.name}.tmp.mjs"
    program.write_text(code)
    try:
        done = _run(page, ["node", str(program)], folder)
    finally:
        program.unlink()
    return done.stdout + done.stderr


def run_shell(page: Page, code: str, folder: Path) -> str:
    """Return what a script prints, with the client's command on its path."""
    done = _run(page, ["bash", "-euo", "pipefail", "-c", code], folder)
    return done.stdout + done.stderr


def _from_npm() -> dict[str, str]:
    package: dict[str, dict[str, str]] = json.loads(
        (JAVASCRIPT / "package.json").read_text()
    )
    return package["dependencies"]


def _run(
    page: Page, command: list[str], folder: Path
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=folder,
        env={
            **os.environ,
            **WITHIN_THIS_MACHINE,
            "HOME": str(folder),
            "LLM_USER_PATH": str(folder),
            "PATH": f"{_commands(page)}:{os.environ['PATH']}",
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LONGEST_S,
    )


def _commands(page: Page) -> Path:
    if stage(page) == "test-js":
        return JAVASCRIPT / "node_modules" / ".bin"
    if stage(page) == "test-clients":
        return _environment(page) / "bin"
    return Path(sys.executable).parent


def _environment(page: Page) -> Path:
    return ROOT / f".venv-client-{page.path.stem}"
