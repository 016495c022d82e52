"""The button on the page of a run finds a fault, and the webhook hears of it."""

from __future__ import annotations

from typing import Any

from apps.audit.browsing.run_checks import run_check
from tests.audit.examples import RUN, append, draft, execute
from tests.conftest import Cast
from tests.factories import ACTOR
from tests.webhooks.conftest import Receiver, deliver_all


def test_faults_of_a_run_are_delivered_once(
    cast: Cast, make: Any, receiver: Receiver
) -> None:
    make("ledger.verification_failed")
    (seq,) = append(cast.team.id, draft())
    run_check(team_id=cast.team.id, run_id=RUN, actor=ACTOR)
    deliver_all()
    assert receiver.requests == []
    execute("UPDATE audit_entry SET action = 'x' WHERE seq = %s", seq)
    run_check(team_id=cast.team.id, run_id=RUN, actor=ACTOR)
    deliver_all()
    deliver_all()
    (request,) = receiver.requests
    assert request.event["type"] == "conductor.ledger.verification_failed"
    told = request.event["data"]
    assert (told["run_id"], told["fault_count"]) == (str(RUN), 1)
    assert told["faults"][0]["kind"] == "column_changed"
