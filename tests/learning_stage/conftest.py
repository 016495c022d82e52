"""Trainings with real torch and TRL, on the CPU. `make test-learning` has both."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

PYTHON = os.environ.get("TRAINER_PYTHON", "")
HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests of this folder where there is no environment for trainings."""
    for item in items:
        if HERE in item.path.parents and not PYTHON:
            item.add_marker(pytest.mark.skip(reason="no torch: make test-learning"))


@pytest.fixture(scope="session")
def trainer_python() -> str:
    """The Python that has torch and TRL."""
    return str(Path(PYTHON).absolute())
