"""Real clients, doing what docs/clients says, against a running site."""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from apps.pools.models import Worker
from tests.conftest import Site
from tests.gateway.conformance.pages import (
    INDEX,
    Example,
    Page,
    pages,
    with_table,
)

SHOWN_URL = "http://127.0.0.1:8000/v1"
SHOWN_KEY = "cdk_…"
LONGEST_S = 60
WRITE = "CONDUCTOR_WRITE_DOCS"
JAVASCRIPT = Path(__file__).parent / "javascript"


def _run_python(code: str, tmp_path: Path) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "<example>", "exec"), {"__name__": "__main__"})
    return printed.getvalue()


def _run_shell(code: str, tmp_path: Path) -> str:
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", code],
        cwd=tmp_path,
        env={
            **os.environ,
            "HOME": str(tmp_path),
            "LLM_USER_PATH": str(tmp_path),
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        },
        capture_output=True,
        text=True,
        timeout=LONGEST_S,
    )
    return done.stdout + done.stderr


def _run_javascript(code: str, tmp_path: Path) -> str:
    # Beside the packages: that is where Node looks for them.
    program = JAVASCRIPT / f"{tmp_path.name}.tmp.mjs"
    program.write_text(code)
    try:
        return _run_shell(f"node {shlex.quote(str(program))}", tmp_path)
    finally:
        program.unlink()


RUNNERS: dict[str, Callable[[str, Path], str]] = {
    "python": _run_python,
    "sh": _run_shell,
    "js": _run_javascript,
}
HAS_JAVASCRIPT = (JAVASCRIPT / "node_modules").exists()


def _each_page() -> list[Any]:
    skip = pytest.mark.skipif(not HAS_JAVASCRIPT, reason="`make test-js` installs it")
    return [
        pytest.param(page, id=page.path.stem, marks=skip if language == "js" else ())
        for language in RUNNERS
        for page in pages(language)
    ]


@pytest.mark.parametrize("language", RUNNERS)
def test_there_are_pages_to_run(language: str) -> None:
    assert pages(language)


@pytest.mark.parametrize("page", _each_page())
def test_every_example_prints_what_its_page_says(
    page: Page, site: Site, tmp_path: Path
) -> None:
    Worker.objects.across_teams().update(accepts_images=True)
    if page.preparation:
        assert _run_shell(_for_site(page.preparation, site), tmp_path) == ""
    wrong = {}
    for example in page.examples:
        printed = _print(page, example, site, tmp_path)
        if not example.matches(printed):
            wrong[example.feature] = printed
    assert wrong == {}


def _print(page: Page, example: Example, site: Site, tmp_path: Path) -> str:
    code = _for_site(page.setup + "\n" + example.code, site)
    try:
        return RUNNERS[example.language](code, tmp_path)
    except Exception as exc:  # noqa: BLE001 - what it raises is its output as well
        return f"{type(exc).__name__}: {exc}"


def _for_site(code: str, site: Site) -> str:
    return code.replace(SHOWN_URL, site.api_url).replace(SHOWN_KEY, site.key)


def test_the_table_of_clients_is_what_is_run() -> None:
    if os.environ.get(WRITE):
        INDEX.write_text(with_table(INDEX.read_text()))
    text = INDEX.read_text()
    assert with_table(text) == text, f"run this test once with {WRITE}=1"
