"""Alerts as events of webhooks: of rules that use them, signed as all others."""

from __future__ import annotations

from typing import Any

from apps.alerts.services import alert_mute
from apps.alerts.types import AlertKind
from tests.alerts.looking import change, fail, later, look, open_alerts
from tests.conftest import Cast
from tests.factories import ACTOR
from tests.webhooks.conftest import Receiver, deliver_all, make, receiver

__all__ = ["make", "receiver"]


def test_g18_an_alert_that_opens_and_closes_is_told_to_the_webhook(
    cast: Cast, make: Any, receiver: Receiver, settings: Any
) -> None:
    make("alert.opened", "alert.closed")
    change(cast, AlertKind.RUNS, channels=["webhook"])
    fail(cast)
    look(cast)
    (alert,) = open_alerts(cast)
    look(cast, later(hours=1))
    deliver_all()
    opened, closed = sorted(receiver.requests, key=lambda each: each.event["time"])
    assert opened.event["type"] == "conductor.alert.opened"
    assert closed.event["type"] == "conductor.alert.closed"
    told = opened.event["data"]
    assert (told["kind"], told["severity"]) == ("runs", "critical")
    assert told["figures"]["percent"] == 100
    assert told["url"] == f"{settings.CONDUCTOR_URL}/alerts/{alert.id}/"
    assert closed.event["data"]["open_s"] > 3_000


def test_a_rule_that_uses_no_webhook_sends_none(
    cast: Cast, make: Any, receiver: Receiver
) -> None:
    make("alert.opened")
    fail(cast)
    look(cast)
    deliver_all()
    assert receiver.requests == []


def test_a_muted_alert_sends_no_event_when_it_opens_again(
    cast: Cast, make: Any, receiver: Receiver
) -> None:
    make("alert.opened")
    change(cast, AlertKind.RUNS, channels=["webhook"])
    fail(cast)
    look(cast)
    (alert,) = open_alerts(cast)
    alert_mute(alert=alert, values={"minutes": 600}, actor=ACTOR)
    look(cast, later(hours=1))
    look(cast)
    deliver_all()
    assert len(receiver.requests) == 1


def test_a_chat_gets_one_plain_line_that_is_no_markup_and_calls_nobody(
    cast: Cast, make: Any, receiver: Receiver, settings: Any
) -> None:
    cast.team.name = "<!channel> @all [x](//a.io)"
    cast.team.save()
    make("alert.opened", "alert.closed", kind="chat")
    change(cast, AlertKind.RUNS, channels=["webhook"])
    fail(cast)
    look(cast)
    (alert,) = open_alerts(cast)
    look(cast, later(hours=1))
    deliver_all()
    opened, closed = receiver.requests
    assert opened.headers["content-type"] == "application/json; charset=utf-8"
    url = f"{settings.CONDUCTOR_URL}/alerts/{alert.id}/"
    team = "[&lt;!channel&gt; @\u200ball [x]\u200b(//a.io)]"
    assert opened.event == {
        "text": f"{team} Critical: Runs fail. 10 of 10 runs failed in 15 minutes. {url}"
    }
    assert closed.event == {"text": f"{team} Over: Runs fail {url}"}
