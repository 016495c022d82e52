"""Real clients, doing what docs/clients says, against a running site."""

from __future__ import annotations

import contextlib
import gc
import io
import os
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from apps.pools.models import Worker
from tests.conftest import Site
from tests.evaluation.samples import suite
from tests.gateway.conformance.environments import (
    LOCKS,
    installed,
    pinned,
    run_javascript,
    run_python,
    run_shell,
    stage,
)
from tests.gateway.conformance.pages import (
    INDEX,
    ON_EVERY_PAGE,
    ORDER,
    Example,
    Page,
    pages,
    with_table,
)

SHOWN_URL = "http://127.0.0.1:8000"
"""Of the site; clients of OpenAI's protocol add /v1 to it."""
SHOWN_KEY = "cdk_…"
WRITE = "CONDUCTOR_WRITE_DOCS"


def _run_here(page: Page, code: str, tmp_path: Path) -> str:
    if stage(page):
        return run_python(page, code, tmp_path)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), _clients_left_open():
        exec(compile(code, "<example>", "exec"), {"__name__": "__main__"})
    return printed.getvalue()


@contextlib.contextmanager
def _clients_left_open() -> Iterator[None]:
    """Collect the clients of an example, which leaves their connections to its exit."""
    try:
        yield
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()


RUNNERS: dict[str, Callable[[Page, str, Path], str]] = {
    "python": _run_here,
    "sh": run_shell,
    "js": run_javascript,
}


def _each_page() -> list[Any]:
    return [
        pytest.param(
            page,
            id=f"{stage(page)}-{page.path.stem}".removeprefix("-"),
            marks=pytest.mark.skipif(
                not installed(page), reason=f"`make {stage(page)}` installs it"
            ),
        )
        for page in pages()
    ]


@pytest.mark.parametrize("language", RUNNERS)
def test_there_are_pages_to_run(language: str) -> None:
    assert pages(language)


def test_every_environment_has_a_page() -> None:
    locks = {path.stem for path in LOCKS.glob("*.txt")}
    assert locks
    assert locks <= {page.path.stem for page in pages()}


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.path.stem)
def test_every_page_tells_the_same_things_in_the_same_order(page: Page) -> None:
    told = [example.feature for example in page.examples]
    assert told == [feature for feature in ORDER if feature in told]
    assert set(told) >= ON_EVERY_PAGE


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.path.stem)
def test_every_page_names_the_version_that_is_run(page: Page) -> None:
    assert page.version
    named = dict(re.findall(r"`([\w@/-]+)` (\d[\d.]*\d)", page.version))
    assert named.items() <= pinned(page).items()


@pytest.mark.slow
@pytest.mark.parametrize("page", _each_page())
def test_every_example_prints_what_its_page_says(
    page: Page, site: Site, tmp_path: Path
) -> None:
    Worker.objects.across_teams().update(accepts_images=True)
    suite(site.cast.team)
    if page.preparation:
        assert run_shell(page, _for_site(page.preparation, site), tmp_path) == ""
    wrong = {}
    for example in page.examples:
        printed = _print(page, example, site, tmp_path)
        if not example.matches(printed):
            wrong[example.feature] = printed
    assert wrong == {}


def _print(page: Page, example: Example, site: Site, tmp_path: Path) -> str:
    code = _for_site(page.setup + "\n" + example.code, site)
    try:
        return RUNNERS[example.language](page, code, tmp_path)
    except Exception as exc:  # noqa: BLE001 - what it raises is its output as well
        return f"{type(exc).__name__}: {exc}"


def _for_site(code: str, site: Site) -> str:
    return code.replace(SHOWN_URL, site.url).replace(SHOWN_KEY, site.key)


def test_the_table_of_clients_is_what_is_run() -> None:
    if os.environ.get(WRITE):
        INDEX.write_text(with_table(INDEX.read_text()))
    text = INDEX.read_text()
    assert with_table(text) == text, f"run this test once with {WRITE}=1"
