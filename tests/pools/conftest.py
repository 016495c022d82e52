"""What the tests of pools share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from apps.accounts.models import Team
from apps.pools.selectors import snapshots_forget
from apps.pools.services import pool_import
from apps.pools.types import ImportReport
from tests.factories import ACTOR, TeamFactory
from tests.pools.files import ENVIRON, document

Import = Callable[..., ImportReport]


@pytest.fixture
def team(db: None) -> Team:
    return TeamFactory.create()


@pytest.fixture
def import_file(
    team: Team, django_capture_on_commit_callbacks: Any
) -> Iterator[Import]:
    """Import the usual file, with changes, and let the commit be felt."""

    def run(*, environ: dict[str, str] | None = None, **changes: Any) -> ImportReport:
        with django_capture_on_commit_callbacks(execute=True):
            return pool_import(
                team=team,
                document=document(**changes),
                actor=ACTOR,
                environ=ENVIRON if environ is None else environ,
            )

    yield run
    snapshots_forget(team.id)
