"""Tiers of tests: which of them a make target runs, by folder and by marker.

| tier | make | tests |
|---|---|---|
| fast | `make test` | all that are in neither of the others |
| slow | `make test-slow` | browsers, processes of the site, whole trainings |
| all | `make test-all` | both, and the exhaustive ones, with all their trials |
| release | `make check-release` | that every word has its translation |

A test is slow if it lies in one of `SLOW_FOLDERS` or has the marker `slow`. A test with
the marker `exhaustive` runs in the tier `all` only, one with the marker `release` in
the last one. Paths on the command line are run whatever their tier. `tests/faults`,
`tests/vllm` and `tests/learning_stage` have make targets of their own.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

FAST, SLOW, ALL, RELEASE = "fast", "slow", "all", "release"
NAMED = "named"
"""The tier of paths on the command line: everything but what is exhaustive."""
TESTS = Path(__file__).resolve().parent
SLOW_FOLDERS = tuple(
    TESTS / folder for folder in ("browser", "celery", "evaluation/sandbox")
)
STAGES = tuple(TESTS / folder for folder in ("faults", "vllm", "learning_stage"))
"""Folders whose tests have make targets and limits of time of their own."""
SLOW_TIMEOUT_S, EXHAUSTIVE_TIMEOUT_S = 600, 3600
"""How long such a test may take. What a fast one may is in pyproject.toml."""
_SLOW_MARKER = b"mark.slow"
_settings = {"is_exhaustive": False}


def is_exhaustive() -> bool:
    """Return whether everything is tried that a test can try."""
    return _settings["is_exhaustive"]


def trials(usual: int, *, exhaustive: int) -> int:
    """Return how often a test repeats what it does with other random numbers."""
    return exhaustive if is_exhaustive() else usual


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option `--tier`."""
    parser.addoption(
        "--tier",
        choices=(FAST, SLOW, ALL, RELEASE),
        help="which tests to run; see tests/tiers.py",
    )


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Return how many test processes `-n auto` starts: some always wait."""
    cores = os.cpu_count() or 1
    return cores + cores // 2 if config.option.tier == FAST else 2 * cores


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Decide on the tier. Processes of `-n` get the decision of the first process."""
    has_paths = config.args_source is pytest.Config.ArgsSource.ARGS
    if config.option.tier is None or (has_paths and config.option.tier in (FAST, SLOW)):
        config.option.tier = NAMED if has_paths else FAST
    _settings["is_exhaustive"] = config.option.tier == ALL


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave files out that have no test of the tier: importing them takes time."""
    tier, path = config.option.tier, collection_path
    if tier == FAST and path in SLOW_FOLDERS:
        return True
    if tier == SLOW and path.name.startswith("test_") and not _is_in_slow_folder(path):
        return _SLOW_MARKER not in path.read_bytes() or None
    return None


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Deselect what is not of the tier, and limit the time of what is slow."""
    selected: list[pytest.Item] = []
    deselected: list[pytest.Item] = []
    for item in items:
        if _is_in_slow_folder(item.path):
            item.add_marker("slow")
        if (limit_s := _timeout_s(item, config.option.tier)) is not None:
            item.add_marker(pytest.mark.timeout(limit_s))
        if not any(item.iter_markers("spread")):
            # What the tests of a file share is made once.
            item.add_marker(pytest.mark.xdist_group(item.path.name))
        (selected if _is_selected(item, config.option.tier) else deselected).append(
            item
        )
    if deselected:
        config.hook.pytest_deselected(items=deselected)
        items[:] = selected


def _timeout_s(item: pytest.Item, tier: str) -> int | None:
    """Return how long a test may take; 0: as long as it likes; None: the usual."""
    if item.get_closest_marker("timeout") is not None:
        return None
    if any(folder in item.path.parents for folder in STAGES):
        return 0
    if tier == ALL:
        return EXHAUSTIVE_TIMEOUT_S
    return SLOW_TIMEOUT_S if item.get_closest_marker("slow") else None


def _is_in_slow_folder(path: Path) -> bool:
    return any(folder in path.parents for folder in SLOW_FOLDERS)


def _is_selected(item: pytest.Item, tier: str) -> bool:
    markers = {marker.name for marker in item.iter_markers()}
    if "release" in markers or tier == RELEASE:
        return "release" in markers and tier in (RELEASE, NAMED)
    if "exhaustive" in markers:
        return tier == ALL
    return tier in (NAMED, ALL) or tier == (SLOW if "slow" in markers else FAST)
