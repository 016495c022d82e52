"""Clients that wait for a plan that never ends, and what is known meanwhile."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Any

import httpx

from apps.engine import events as ev
from apps.runs.history import run_events
from apps.runs.models import Run
from tests.vllm.conftest import CHAT, ENDLESS, Stage, body, eventually
from tests.vllm.server import QUIET_S

ENDLESS_PLAN = {
    "type": "object",
    "properties": {"reasoning": ENDLESS},
    "required": ["reasoning"],
    "additionalProperties": False,
}


class Asking(threading.Thread):
    """A client that waits for its answer for `patience_s` of silence, then leaves."""

    def __init__(
        self, stage: Stage, *, patience_s: float = QUIET_S * 6, **fields: Any
    ) -> None:
        super().__init__(daemon=True)
        self._stage = stage
        self._body = body("What is there?", stream=True, **fields)
        self._patience = httpx.Timeout(QUIET_S, read=patience_s)
        self.text = ""
        self.start()

    def run(self) -> None:
        url = f"{self._stage.site.api_url}{CHAT}"
        with (
            suppress(httpx.ReadTimeout),
            httpx.stream(
                "POST",
                url,
                json=self._body,
                headers=self._stage.headers,
                timeout=self._patience,
            ) as answer,
        ):
            for line in answer.iter_lines():
                self.text += line + "\n"


def is_planning(stage: Stage) -> bool:
    return stage.vllm.load().running == 1


def is_freed(stage: Stage) -> bool:
    """Say whether the server is done with all calls within five seconds."""
    return eventually(lambda: stage.vllm.load().running == 0, tries=100)


def only_run(stage: Stage) -> Run:
    return Run.objects.for_team(stage.site.cast.team.id).get()


def events_of(run: Run) -> list[ev.Event]:
    return [each.event for each in run_events(run)]
