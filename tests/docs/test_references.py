"""What the documentation refers to exists: files, links, headings, tests."""

from __future__ import annotations

import re

import pytest

from tests.docs.reading import ROOT, page

PAGES = sorted(
    str(path.relative_to(ROOT))
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
)
_FILE = re.compile(
    r"`((?:apps|conductor_site|deploy|docs|static|templates|tests)/[\w./-]+)`"
)
_BARE_FILE = re.compile(r"`([\w.-]+\.(?:css|html|js|py|sh))`")
_CODE = ("apps", "bench", "conductor_site", "deploy", "static", "templates", "tests")
_MADE = tuple(
    line.strip("/")
    for line in (ROOT / ".gitignore").read_text("utf-8").splitlines()
    if line.startswith("/deploy/")
)
"""Files and folders that operators make."""
_LINK = re.compile(r"\]\(([^)#\s]*)(?:#([\w-]+))?\)")
_TEST = re.compile(r"`(test_\w+)`")


def anchors(name: str) -> set[str]:
    """Return the anchors of a page's headings."""
    headings = re.findall(r"^#+ (.+)$", page(name), re.M)
    return {re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in headings}


def all_tests() -> set[str]:
    sources = (path.read_text("utf-8") for path in (ROOT / "tests").rglob("*.py"))
    return {name for text in sources for name in re.findall(r"def (test_\w+)", text)}


@pytest.mark.parametrize("name", PAGES)
def test_named_files_exist(name):
    named = {path.rstrip("/.") for path in _FILE.findall(page(name))}
    named = {path for path in named if not path.startswith(_MADE)}
    assert {path for path in named if not (ROOT / path).exists()} == set()


def test_files_named_without_their_folder_exist():
    known = {path.name for folder in _CODE for path in (ROOT / folder).rglob("*.*")}
    known |= {path.name for path in ROOT.glob("*.*")}
    named = {(name, file) for name in PAGES for file in _BARE_FILE.findall(page(name))}
    assert len(named) > 20
    assert sorted(item for item in named if item[1] not in known) == []


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name):
    dead = []
    for target, anchor in _LINK.findall(page(name)):
        if "://" in target:
            continue
        path = (ROOT / name).parent / target if target else ROOT / name
        where = str(path.resolve().relative_to(ROOT))
        if not path.exists() or (anchor and anchor not in anchors(where)):
            dead.append(f"{target}#{anchor}")
    assert dead == []


def test_named_tests_exist():
    modules = {path.stem for path in (ROOT / "apps").rglob("test_*.py")}
    known = all_tests() | modules  # of the product, that show results of tests
    named = {(name, test) for name in PAGES for test in _TEST.findall(page(name))}
    assert len(named) > 20
    assert sorted(item for item in named if item[1] not in known) == []


def test_no_page_names_a_path_of_somebodys_machine():
    own = re.compile(r"(?<![\w.:/])/(?:home|Users|root|tmp|var|opt)/")
    assert [name for name in PAGES if own.search(page(name))] == []
