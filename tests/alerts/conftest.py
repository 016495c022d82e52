"""No checkpoint thread runs beside these tests, so that rule is off."""

from __future__ import annotations

import pytest

from apps.alerts.models import AlertRule
from apps.alerts.types import AlertKind
from tests.conftest import Cast
from tests.console.conftest import ada, alice, bob, mallory, vera

__all__ = ["ada", "alice", "bob", "mallory", "vera"]


@pytest.fixture(autouse=True)
def _no_checkpoints(cast: Cast) -> None:
    AlertRule.objects.create(
        team=cast.team, kind=AlertKind.CHECKPOINT, is_enabled=False, threshold=15
    )
