"""What tests of live runs share: models that take their time, and watchers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from django.test import Client
from websockets.sync.client import ClientConnection

from apps.accounts.models import User
from apps.runs.models import Run
from apps.simulator.app import create_app
from tests.conftest import Site, add_worker
from tests.runs.asking import Stage, session_of, watching
from tests.serving import serving


@dataclass(frozen=True)
class Models:
    """A simulator of this test's own, at full pace, that counts from zero."""

    url: str

    def stats(self) -> dict[str, Any]:
        answer: dict[str, Any] = httpx.get(f"{self.url}/stats").json()
        return answer

    def requests(self, model: str) -> int:
        """Return how often `model` was called."""
        return int(self.stats()["requests"].get(model, 0))


@pytest.fixture
def models() -> Iterator[Models]:
    with serving(create_app(speed=1), ws="none") as url:
        yield Models(f"{url}/v1")


@pytest.fixture
def stage(site: Site, models: Models) -> Stage:
    """The site with a conductor that plans what the question says."""
    site.set_conductor("scripted-conductor")
    browser = Client()
    browser.force_login(site.cast.bob)
    return Stage(site, models.url, browser)


@pytest.fixture
def recruit(stage: Stage) -> Callable[..., Sequence[int]]:
    """Add models of the counting simulator to the pool and return their numbers."""

    def inner(*names: str) -> Sequence[int]:
        pool = stage.site.cast.team.pools.get(is_default=True)
        first = pool.places.count()
        for name in names:
            add_worker(stage.site.cast.team, stage.models_url, name)
        return range(first, first + len(names))

    return inner


@pytest.fixture
def watch(site: Site) -> Iterator[Callable[..., ClientConnection]]:
    """Open a socket on a run, as bob unless another member is named."""
    with ExitStack() as sockets:

        def inner(
            run: Run | str, user: User | None = None, after: str = "0"
        ) -> ClientConnection:
            session = session_of(user or site.cast.bob)
            run_id = run if isinstance(run, str) else str(run.id)
            socket = watching(site.url, run_id, session=session, after=after)
            return sockets.enter_context(socket)

        yield inner
