"""What tests of real processes share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from apps.simulator.app import create_app
from tests.serving import serving


@pytest.fixture(scope="module")
def models_url() -> Iterator[str]:
    """Simulated models that take the time their names say."""
    with serving(create_app(speed=1), ws="none") as url:
        yield f"{url}/v1"
