"""The file map in docs/architecture.md is that of the tree."""

from __future__ import annotations

from deploy.file_map import PAGE, page_with_map, rows


def test_file_map_is_that_of_the_tree() -> None:
    page = PAGE.read_text("utf-8")
    assert page == page_with_map(page), "run: python -m deploy.file_map"


def test_every_folder_says_what_it_does() -> None:
    silent = [row for row in rows()[2:] if row.split("|")[2].strip() == ""]
    assert silent == []
