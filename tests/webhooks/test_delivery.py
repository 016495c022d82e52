"""What webhooks deliver, how often, in which order, and what happens if they cannot."""

from __future__ import annotations

import asyncio
import hmac
from base64 import b64decode, b64encode
from datetime import timedelta
from hashlib import sha256

import pytest
from django.core import mail
from django.utils import timezone

from apps.audit.models import Entry
from apps.audit.selectors import entry_list
from apps.core.errors import InvalidFields
from apps.llm.http import Post
from apps.webhooks import sending
from apps.webhooks.delivery_thread import DeliveryThread, deliver
from apps.webhooks.feeding import KEPT_FOR, deliveries_add
from apps.webhooks.models import DeliveryState, Webhook, WebhookDelivery
from apps.webhooks.sending import (
    FAILING_FOR,
    RETRIES_S,
    attempts_store,
    deliveries_forget,
    messages_due,
    webhook_claim,
    webhooks_due,
)
from apps.webhooks.services import (
    delivery_resend,
    secret_rotate,
    webhook_test,
    webhook_update,
)
from apps.webhooks.signing import signature_header, value_seal
from tests.audit.examples import append, draft, execute
from tests.factories import ACTOR
from tests.patience import eventually
from tests.webhooks.conftest import deliver_all, make_due, row_of

ENDED = {"cost_micros": 1200, "latency_ms": 5, "code": "worker_failed", "x": 1}
VECTOR = (
    "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
    "msg_0199c0de",
    1763913600,
    b'{"type":"conductor.run.ended"}',
    "v1,Q3DPupxqzuV0UTocX9ZIKjtsE4C0iu2U4Pcvmu/cZac=",
)
"""Signed by the package `standardwebhooks` 1.1."""


def failed_run(team, **facts):
    one = draft("run.failed", data={**ENDED, **facts}, bodies={"answer": "canary"})
    append(team.id, one._replace(outcome="failure"))


def claimed(webhook):
    """Return the claim of a process that has taken a webhook."""
    claim_id = webhook_claim(webhook.id)
    assert claim_id is not None
    return claim_id


def wait_of(delivery):
    """Return the time from the last attempt to the next one."""
    assert delivery.attempted_at is not None
    return delivery.next_attempt_at - delivery.attempted_at


def signatures(secret, request):
    """Return the signature that a request should have, and those it has."""
    stamp = request.headers["webhook-timestamp"]
    signed = f"{request.id}.{stamp}.".encode() + request.body
    key = b64decode(secret.removeprefix("whsec_"))
    own = "v1," + b64encode(hmac.digest(key, signed, sha256)).decode()
    return own, request.headers["webhook-signature"].split()


def test_event_is_a_signed_cloud_event(make, cast, receiver, settings):
    settings.CONDUCTOR_URL = "https://conductor.example"
    _, secret = make("run.ended")
    failed_run(cast.team)
    append(cast.team.id, draft("run.created"))
    deliver_all()
    (request,) = receiver.requests
    entry = entry_list(cast.team.id)[-2]
    assert request.event == {
        "specversion": "1.0",
        "id": request.id,
        "source": "https://conductor.example/",
        "type": "conductor.run.ended",
        "subject": f"run/{entry.subject_id}",
        "time": request.event["time"],
        "datacontenttype": "application/json",
        "data": {
            "team_id": str(cast.team.id),
            "entry_seq": entry.seq,
            "action": "run.failed",
            "outcome": "failure",
            "cost_micros": 1200,
            "latency_ms": 5,
            "code": "worker_failed",
            "run_id": str(entry.subject_id),
            "url": f"https://conductor.example/runs/{entry.subject_id}/",
        },
    }
    assert request.headers["content-type"].startswith("application/cloudevents+json")
    own, sent = signatures(secret, request)
    assert sent == [own]
    assert b"canary" not in request.body


def test_signature_is_that_of_standard_webhooks(cast):
    secret, message_id, stamp, body, signature = VECTOR
    row = Webhook(team=cast.team, name="x", url="https://x.example", cursor=0)
    row.secret = value_seal(row, secret)
    assert signature_header(row, message_id, stamp, body) == signature


@pytest.mark.parametrize(
    ("name", "action", "facts", "is_one"),
    [
        ("run.ended", "run.completed", {}, True),
        ("run.ended", "run.cancelled", {}, True),
        ("run.ended", "step.completed", {}, False),
        ("policy.hit", "policy.decided", {"outcome": "denied"}, True),
        ("policy.hit", "policy.decided", {"outcome": "allowed"}, False),
        ("approval.requested", "approval.requested", {}, True),
        ("approval.settled", "approval.settled", {"outcome": "refused"}, True),
        ("budget.crossed", "budget.crossed", {"percent": 80}, True),
        ("ledger.verification_failed", "audit.verified", {"fault_count": 1}, True),
        ("ledger.verification_failed", "audit.verified", {"fault_count": 0}, False),
        ("ledger.verification_failed", "audit.verified", {"error": "x"}, True),
    ],
)
def test_entry_is_an_event_or_not(make, cast, receiver, name, action, facts, is_one):
    make(name)
    append(cast.team.id, draft(action, data=facts))
    deliver_all()
    assert [one.event["type"] for one in receiver.requests] == (
        [f"conductor.{name}"] if is_one else []
    )


def test_what_was_recorded_before_is_not_sent(make, cast, receiver):
    failed_run(cast.team)
    make("run.ended")
    deliver_all()
    assert receiver.requests == []
    assert webhooks_due() == []


def test_a_stored_header_is_sent_to_no_other_host(make, receiver):
    header = {"header_name": "Authorization", "header_value": "Splunk canary"}
    webhook, _ = make("run.ended", **header)

    def move(url: str, **values: str) -> Webhook:
        return webhook_update(
            webhook=webhook, values={"url": url, **values}, actor=ACTOR
        )

    here, _, path = webhook.url.removeprefix("http://").partition("/")
    for url in ("https://example.com/a", f"https://{here}/{path}"):
        with pytest.raises(InvalidFields) as caught:
            move(url)
        assert "header_value" in caught.value.fields
        assert row_of(webhook).url == webhook.url
    assert move(f"{webhook.url}/elsewhere").header_value == webhook.header_value
    moved = move("https://example.com/a", **header)
    assert moved.url == "https://example.com/a"
    without = move("https://example.net/a", header_name="", header_value="")
    assert (without.url, without.header_value) == ("https://example.net/a", None)


def test_ledger_is_sent_whole_and_in_order(make, cast, receiver, monkeypatch):
    monkeypatch.setattr("apps.webhooks.feeding.BATCH_ENTRIES", 3)
    webhook, secret = make(
        kind="ledger", header_name="Authorization", header_value="Splunk canary"
    )
    start = row_of(webhook).cursor
    append(cast.team.id, *[draft(data={"n": n}) for n in range(7)])
    receiver.statuses = [503]
    deliver_all()
    assert len(receiver.requests) == 1
    make_due()
    deliver_all()
    first, again, *rest = receiver.requests
    assert first.body == again.body
    assert first.id == again.id
    lines = [line for one in (again, *rest) for line in one.lines]
    entries = [e for e in entry_list(cast.team.id) if e.seq > start]
    assert [(x["seq"], x["hash"]) for x in lines] == [(e.seq, e.hash) for e in entries]
    assert lines[-1]["entry"]["data"] == {"n": 6}
    assert lines[0]["team_id"] == str(cast.team.id)
    assert {one.headers["authorization"] for one in rest} == {"Splunk canary"}
    assert again.headers["content-type"].startswith("application/x-ndjson")
    own, sent = signatures(secret, rest[0])
    assert sent == [own]


def test_long_entries_go_in_batches_of_bounded_size(make, cast, receiver, monkeypatch):
    monkeypatch.setattr("apps.webhooks.feeding.BATCH_BYTES", 1500)
    make(kind="ledger")
    append(cast.team.id, *[draft(data={"note": "x" * 1000})] * 3)
    deliver_all()
    sizes = [len(one.lines) for one in receiver.requests]
    assert sum(sizes) == 4  # with the entry about the webhook
    assert max(sizes) <= 2


def test_event_is_tried_again_with_the_same_id_and_blocks_no_other(
    make, cast, receiver
):
    webhook, _ = make("run.ended")
    receiver.statuses = [500, 204]
    failed_run(cast.team, code="a")
    failed_run(cast.team, code="b")
    deliver_all()
    states = WebhookDelivery.objects.for_team(cast.team.id).order_by("id")
    assert sorted(states.values_list("state", flat=True)) == ["delivered", "waiting"]
    waiting = states.get(state="waiting")
    assert (waiting.status, waiting.error) == (500, "answered 500")
    assert timedelta(seconds=4) <= wait_of(waiting) <= timedelta(seconds=6)
    make_due()
    deliver_all()
    assert len(receiver.requests) == 3
    assert len({one.id for one in receiver.requests}) == 2
    assert not states.filter(state="waiting").exists()
    assert row_of(webhook).failing_since is None


def test_attempts_end_after_three_days_and_that_is_recorded(make, cast, receiver):
    make("run.ended")
    failed_run(cast.team)
    receiver.statuses = [500] * 20
    waits = []
    for _ in range(len(RETRIES_S) + 1):
        deliver_all()
        row = WebhookDelivery.objects.for_team(cast.team.id).get()
        waits.append(wait_of(row).total_seconds())
        make_due()
    deliver_all()
    row = WebhookDelivery.objects.for_team(cast.team.id).get()
    assert (row.state, row.attempts) == (DeliveryState.GIVEN_UP, len(RETRIES_S) + 1)
    assert 3 * 86_400 * 0.8 < sum(waits[:-1]) < 4 * 86_400
    newest = entry_list(cast.team.id)[-1]
    assert newest.action == "webhook.dropped"
    assert newest.data["count"] == 1
    assert newest.data["first_seq"] == row.first_seq
    assert len(receiver.requests) == row.attempts


def test_webhook_that_accepts_nothing_for_days_is_disabled(make, cast, receiver):
    webhook, _ = make("run.ended")
    receiver.statuses = [500, 500]
    failed_run(cast.team)
    deliver_all()
    Webhook.objects.for_team(cast.team.id).update(
        failing_since=timezone.now() - FAILING_FOR
    )
    make_due()
    deliver_all()
    row = row_of(webhook)
    assert not row.is_enabled
    assert "nothing for three days" in row.disabled_reason
    assert entry_list(cast.team.id)[-1].action == "webhook.disabled"
    (told,) = mail.outbox
    assert told.to == [cast.alice.email]
    assert f"/webhooks/{webhook.id}/" in told.body
    make_due()
    assert webhooks_due() == []
    webhook_update(webhook=row, values={"is_enabled": True}, actor=ACTOR)
    failed_run(cast.team, code="later")
    deliver_all()
    codes = [one.event["data"]["code"] for one in receiver.requests]
    assert codes == ["worker_failed"] * 3 + ["later"]


def test_gone_disables_at_once(make, cast, receiver):
    webhook, _ = make("run.ended")
    receiver.statuses = [410]
    failed_run(cast.team)
    deliver_all()
    assert row_of(webhook).disabled_reason == "it answered 410 Gone"


def test_redirect_is_not_followed(make, cast, receiver):
    make("run.ended")
    receiver.statuses = [302]
    failed_run(cast.team)
    deliver_all()
    row = WebhookDelivery.objects.for_team(cast.team.id).get()
    assert row.error == "answered 302, and redirects are not followed"
    assert len(receiver.requests) == 1


def test_g16_address_is_checked_again_when_it_is_called(make, cast, receiver, settings):
    make("run.ended")
    settings.WEBHOOK_NETWORKS = []
    failed_run(cast.team)
    deliver_all()
    row = WebhookDelivery.objects.for_team(cast.team.id).get()
    assert "not in an allowed network" in row.error
    assert receiver.requests == []


def test_rotated_secret_signs_with_the_old_one_for_a_day(make, cast, receiver):
    webhook, old = make("run.ended")
    _, new = secret_rotate(webhook=webhook, actor=ACTOR)
    failed_run(cast.team)
    deliver_all()
    (request,) = receiver.requests
    expected = {signatures(secret, request)[0] for secret in (old, new)}
    assert set(request.headers["webhook-signature"].split()) == expected
    Webhook.objects.for_team(cast.team.id).update(previous_until=timezone.now())
    failed_run(cast.team)
    deliver_all()
    own, sent = signatures(new, receiver.requests[-1])
    assert sent == [own]


def test_test_goes_to_its_own_webhook(make, cast, receiver):
    webhook, _ = make("budget.crossed")
    make("run.ended", name="Other")
    webhook_test(webhook=webhook, actor=ACTOR)
    deliver_all()
    (request,) = receiver.requests
    assert request.event["type"] == "conductor.webhook.test"
    assert request.event["subject"] == f"webhook/{webhook.id}"


def test_message_is_sent_again_on_demand(make, cast, receiver):
    make("run.ended")
    failed_run(cast.team)
    deliver_all()
    row = WebhookDelivery.objects.for_team(cast.team.id).get()
    delivery_resend(delivery=row, actor=ACTOR)
    deliver_all()
    first, second = receiver.requests
    assert (first.id, first.body) == (second.id, second.body)
    assert entry_list(cast.team.id)[-1].action == "webhook.resent"


def test_g1_process_killed_before_it_stored_the_answer_sends_again(
    make, cast, receiver
):
    webhook, _ = make("run.ended")
    failed_run(cast.team)
    claim = claimed(webhook)
    assert deliveries_add(webhook.id, claim)
    ((delivery, message),) = messages_due(webhook.id, claim)
    assert webhook_claim(webhook.id) is None
    # It dies here: after a minute another process takes the webhook.
    Webhook.objects.across_teams().update(claimed_until=timezone.now())
    deliver_all()
    (request,) = receiver.requests
    assert isinstance(message, Post)
    assert request.id == dict(message.headers)["webhook-id"]
    # It was slow, not dead: what it stores now counts no more.
    lost = sending.DeliveryAttempt(None, "late", 1)
    attempts_store(webhook.id, claim, [(delivery, lost)])
    row = WebhookDelivery.objects.for_team(cast.team.id).get()
    assert (row.state, row.attempts) == (DeliveryState.DELIVERED, 1)


def test_cursor_and_deliveries_move_together(make, cast, monkeypatch):
    webhook, _ = make("run.ended")
    failed_run(cast.team)
    before = row_of(webhook).cursor
    claim = claimed(webhook)

    def broken(rows):
        raise RuntimeError("killed")

    monkeypatch.setattr(WebhookDelivery.objects, "bulk_create", broken)
    with pytest.raises(RuntimeError):
        deliveries_add(webhook.id, claim)
    assert row_of(webhook).cursor == before


def test_entries_older_than_seven_days_are_given_up_on_record(make, cast, receiver):
    webhook, _ = make(kind="ledger")
    start = row_of(webhook).cursor
    append(cast.team.id, draft(), draft())
    last = entry_list(cast.team.id)[-1].seq
    old = timezone.now() - KEPT_FOR - timedelta(hours=1)
    Entry.objects.for_team(cast.team.id).update(recorded_at=old)
    append(cast.team.id, draft("run.failed"))
    deliver_all()
    actions = [x["entry"]["action"] for one in receiver.requests for x in one.lines]
    assert actions == ["run.failed", "webhook.dropped"]
    gone = entry_list(cast.team.id)[-1].data
    assert (gone["first_seq"], gone["last_seq"]) == (start + 1, last)
    assert gone["count"] == last - start


def test_tampered_ledger_stops_the_stream_by_name(make, cast, receiver):
    make(kind="ledger")
    append(cast.team.id, draft(), draft(), draft())
    seq = entry_list(cast.team.id)[-2].seq
    where = "team_id = %s AND seq = %s"
    execute(f"DELETE FROM audit_entry WHERE {where}", cast.team.id, seq)
    deliver_all()
    row = WebhookDelivery.objects.for_team(cast.team.id).get()
    assert "entries of the ledger are missing" in row.error
    assert receiver.requests == []


def test_deliveries_are_forgotten_after_seven_days(make, cast, receiver):
    make("run.ended")
    failed_run(cast.team)
    deliver_all()
    assert list(deliveries_forget()) == []
    assert list(deliveries_forget(timezone.now() + KEPT_FOR)) == [1]


def test_slow_receiver_delays_no_other_one(make, cast, receiver):
    make("run.ended")
    make("run.ended", name="Nowhere", url="http://127.0.0.1:9/")
    failed_run(cast.team)
    deliver_all()
    assert len(receiver.requests) == 1
    errors = WebhookDelivery.objects.for_team(cast.team.id).exclude(error="")
    assert "no connection" in errors.get().error


def test_serving_process_delivers(make, cast, receiver):
    webhook, _ = make("run.ended")
    failed_run(cast.team)
    one = DeliveryThread()
    assert eventually(lambda: receiver.requests)
    states = WebhookDelivery.objects.for_team(cast.team.id)
    assert eventually(lambda: states.filter(state="delivered").exists())
    one.close()
    assert row_of(webhook).claim_id is None


def test_deliverer_survives_an_error(make, cast, receiver, monkeypatch, caplog):
    make("run.ended")
    failed_run(cast.team)

    def broken(*args):
        raise RuntimeError("no")

    monkeypatch.setattr("apps.webhooks.delivery_thread.messages_due", broken)

    async def some_looks():
        stop = asyncio.Event()
        asyncio.get_running_loop().call_later(0.2, stop.set)
        await deliver(stop)

    asyncio.run(some_looks())
    assert "broke off" in caplog.text
    assert row_of(Webhook.objects.across_teams().get()).claim_id is None
