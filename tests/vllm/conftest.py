"""A site whose conductor is served by a real vLLM. `make test-vllm` has one."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pytest

from apps.engine import events as ev
from apps.llm.vllm_metrics import ServerLoad
from apps.pools.models import Conductor, ConductorMode
from apps.pools.services import conductor_update, credential_create, worker_create
from apps.runs.models import Run
from apps.runs.records.history import run_events
from tests import patience
from tests.conftest import Site
from tests.factories import ACTOR
from tests.vllm.server import KEY, PATIENCE_S, VllmServer

PYTHON = os.environ.get("VLLM_PYTHON", "")
HERE = Path(__file__).parent
EventT = TypeVar("EventT")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder; without a vLLM they are skipped.

    The one that kills the server comes last, or it would have to be started again.
    """
    items.sort(key=lambda item: item.path == HERE / "test_killed.py")
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.vllm)
            if not PYTHON:
                item.add_marker(pytest.mark.skip(reason="no vLLM: make test-vllm"))


@pytest.fixture(scope="session")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VllmServer]:
    server = VllmServer(Path(PYTHON).absolute(), tmp_path_factory.mktemp("vllm"))
    server.make_model()
    try:
        yield server
    finally:
        server.close()


@pytest.fixture
def vllm(started: VllmServer) -> VllmServer:
    """The server, with nothing to do."""
    started.ensure()
    if not eventually(lambda: is_idle(started.load())):
        started.stop()  # one test fails for it, not all that follow
        pytest.fail("the server is still busy with what an earlier test asked")
    return started


def is_idle(load: ServerLoad) -> bool:
    return load.running == load.waiting == 0


@dataclass(frozen=True)
class Stage:
    """A site with a conductor and a worker on vLLM, and simulated workers."""

    site: Site
    vllm: VllmServer
    conductor: Conductor

    def set_conductor(self, **values: Any) -> None:
        conductor_update(conductor=self.conductor, values=values, actor=ACTOR)

    def ask(self, *questions: str, **fields: Any) -> list[httpx.Response]:
        """Ask all at once."""

        async def gather() -> list[httpx.Response]:
            async with self.client() as client:
                asking = (client.post(CHAT, json=body(q, **fields)) for q in questions)
                return await asyncio.gather(*asking)

        return asyncio.run(gather())

    def client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(
            base_url=self.site.api_url, headers=self.headers, timeout=PATIENCE_S
        )

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.site.key}"}

    def run_of(self, answer: httpx.Response) -> Run:
        run_id = answer.headers["x-conductor-run-id"]
        return Run.objects.for_team(self.site.cast.team.id).get(id=run_id)

    def events(self, answer: httpx.Response) -> list[ev.Event]:
        return [each.event for each in run_events(self.run_of(answer))]


CHAT = "/chat/completions"
LIMITS = ("connect_s", "first_byte_s", "idle_s", "total_s")
SLOW = {"timeouts": dict.fromkeys(LIMITS, 3600)}
"""No machine is too slow for an answer."""


def body(question: str, **fields: Any) -> dict[str, Any]:
    return {
        "model": "conductor-ultra",
        "messages": [{"role": "user", "content": question}],
        **fields,
    }


def only(events: Sequence[ev.Event], kind: type[EventT]) -> list[EventT]:
    return [event for event in events if isinstance(event, kind)]


def eventually(is_so: Callable[[], bool]) -> bool:
    """Look until something is so, with the patience that a model on a CPU needs."""
    return patience.eventually(is_so, PATIENCE_S)


@pytest.fixture
def stage(site: Site, vllm: VllmServer) -> Stage:
    """Workers by number: 0 and 1 are simulated, 2 is on vLLM; 0 is the fallback."""
    team = site.cast.team
    pool = team.pools.get(is_default=True)
    key = {"name": "vllm", "base_url": vllm.url, "secret": KEY}
    credential = credential_create(team=team, values=key, actor=ACTOR)
    served = {"base_url": vllm.url, "credential_id": credential.id, **SLOW}
    worker = worker_create(
        team=team,
        values={"name": "tiny", "model": "worker-0", "max_output_tokens": 64, **served},
        actor=ACTOR,
    )
    pool.places.create(team=team, worker=worker, position=pool.places.count())
    conductor = pool.conductor
    assert conductor is not None
    planning = {"mode": ConductorMode.JSON_SCHEMA, "model": "conductor"}
    stage = Stage(site, vllm, conductor)
    stage.set_conductor(
        **served,
        **planning,
        max_output_tokens=1024,
        temperature="1",
        context_tokens=8192,
    )
    return stage


@pytest.fixture
def hold_to(monkeypatch: pytest.MonkeyPatch) -> Callable[[Mapping[str, Any]], None]:
    """Hold the conductor to a schema narrower than the planner's own."""

    def inner(schema: Mapping[str, Any]) -> None:
        wanted = {"name": "plan", "strict": True, "schema": schema}
        asked = {"type": "json_schema", "json_schema": wanted}
        monkeypatch.setattr(
            "apps.planners.language_model.response_format", lambda **_: asked
        )

    return inner
