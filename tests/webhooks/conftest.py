"""A receiver of webhooks on loopback, and what delivers to it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.utils import timezone

from apps.webhooks.delivery_thread import deliver
from apps.webhooks.models import Webhook, WebhookDelivery
from apps.webhooks.services import webhook_create
from tests.factories import ACTOR
from tests.serving import serving


@dataclass
class Received:
    """A request as it came."""

    headers: dict[str, str]
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def event(self) -> dict[str, Any]:
        return dict(json.loads(self.body))

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.body.splitlines()]


@dataclass
class Receiver:
    """Takes requests, and answers each with the next status; then with 204."""

    url: str = ""
    statuses: list[int] = field(default_factory=list)
    requests: list[Received] = field(default_factory=list)
    on_request: Callable[[], None] | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        headers = {k.decode(): v.decode() for k, v in scope["headers"]}
        self.requests.append(Received(headers, body))
        if self.on_request is not None:
            self.on_request()
        status = self.statuses.pop(0) if self.statuses else 204
        moved = [(b"location", b"/elsewhere")] if 300 <= status < 400 else []
        start = {"type": "http.response.start", "status": status, "headers": moved}
        await send(start)
        await send({"type": "http.response.body", "body": b""})


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    one = Receiver()
    with serving(one) as url:
        one.url = f"{url}/hooks?token=canary-url"
        yield one


@pytest.fixture
def make(transactional_db: None, cast: Any, receiver: Receiver) -> Any:
    """Add a webhook of Alice's team; return it and its secret."""

    def add(*event_types: str, kind: str = "events", **values: Any) -> Any:
        given = {"name": "Chat", "kind": kind, "url": receiver.url, **values}
        if event_types:
            given["event_types"] = list(event_types)
        return webhook_create(team=cast.team, values=given, actor=ACTOR)

    return add


def deliver_all() -> None:
    """Deliver what is due, as a serving process does."""
    asyncio.run(deliver(asyncio.Event(), until_idle=True))


def make_due() -> None:
    """Let the time to the next attempts pass."""
    WebhookDelivery.objects.across_teams().update(next_attempt_at=timezone.now())


def row_of(webhook: Webhook) -> Webhook:
    return Webhook.objects.for_team(webhook.team_id).get(id=webhook.id)
