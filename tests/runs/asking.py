"""Ways to start runs and to read what is sent about them, for tests."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.test import Client
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

from apps.accounts.models import User
from apps.audit.selectors import entry_list
from apps.runs.models import Run
from tests.conftest import Site
from tests.patience import PATIENCE_S

Frame = dict[str, Any]


@dataclass(frozen=True)
class Stage:
    """A site where every question brings its own plan."""

    site: Site
    models_url: str
    browser: Client

    def start(self, question: str, **fields: str) -> Run:
        """Start a run on the page and return once it is on record."""
        answer = self.browser.post(
            "/playground/runs/",
            {"prompt": question, "tier": "ultra", **fields},
            headers={"accept": "application/json"},
        )
        assert answer.status_code == 201, answer.content
        return Run.objects.for_team(self.site.cast.team.id).get(id=answer.json()["id"])


def planned(workers: Iterable[int], access: str = "") -> str:
    """Return a question with a plan: these workers, each reading all earlier steps."""
    workers = list(workers)
    subtasks = [f"Do part {n}. [[say part {n}]]" for n in range(len(workers))]
    access = access or str(["all"] * len(workers))
    return (
        f"Question. <<plan\nmodel_id = {workers}\nsubtasks = {subtasks}\n"
        f"access_list = {access}>>"
    )


def session_of(user: User) -> str:
    """Return the cookie header of a signed-in browser."""
    browser = Client()
    browser.force_login(user)
    name = settings.SESSION_COOKIE_NAME
    return f"{name}={browser.cookies[name].value}"


def watching(
    site_url: str,
    run_id: str,
    *,
    session: str = "",
    after: str = "0",
    origin: str | None = None,
) -> ClientConnection:
    """Return a socket on a run, to be opened with `with`."""
    return connect(
        f"{site_url.replace('http', 'ws', 1)}/ws/runs/{run_id}/?after={after}",
        additional_headers={"Cookie": session} if session else {},
        origin=Origin(origin or site_url),
        open_timeout=PATIENCE_S,
        max_queue=None,  # a test that reads no further must still close at once
    )


def frames(socket: ClientConnection) -> Iterator[Frame]:
    """Yield frames until the site closes the socket."""
    while True:
        try:
            yield json.loads(socket.recv(timeout=PATIENCE_S))
        except ConnectionClosed:
            return


def until(socket: ClientConnection, action: str) -> list[Frame]:
    """Return the frames up to and including the event `action`."""
    found = []
    for frame in frames(socket):
        found.append(frame)
        if action in (frame.get("action"), frame["type"]):
            return found
    raise AssertionError(f"{action} never came, but {found!r}")


def seqs(found: Iterable[Frame]) -> list[int]:
    """Return the places in the chain of the event frames."""
    return [frame["seq"] for frame in found if frame["type"] == "event"]


def recorded(run: Run) -> list[int]:
    """Return the places in the chain that the run's entries have."""
    return [e.seq for e in entry_list(run.team_id, subject_id=run.id, limit=5000)]


def texts(found: Iterable[Frame]) -> dict[tuple[int, int | None, int], str]:
    """Put the pieces together by their offsets; a gap or an overlap is a failure."""
    whole: dict[tuple[int, int | None, int], str] = defaultdict(str)
    for frame in found:
        for piece in frame.get("pieces", ()):
            place = (piece["round"], piece["step"], piece["attempt"])
            assert piece["offset"] == len(whole[place]), f"gap or overlap at {place}"
            whole[place] += piece["text"]
    return dict(whole)
