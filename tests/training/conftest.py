"""What tests of trainings share."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the files of trainings are kept that several tests begin with."""
    return tmp_path_factory.mktemp("weights")
