"""Messages as they are sent: bodies made of ledger entries, headers, signatures."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import orjson
from django.conf import settings

from apps.audit.models import Entry
from apps.core.errors import ConductorError
from apps.llm.http import HeaderPairs, Post
from apps.llm.http_common import USER_AGENT
from apps.llm.tls_messages import TlsMessage
from apps.llm.types import Timeouts
from apps.webhooks.addresses import SYSLOG_PORT
from apps.webhooks.chat import CHAT_TYPE, chat_body
from apps.webhooks.event_types import EVENT_TYPES, PREFIX, TEST, EventType, data_of
from apps.webhooks.models import Webhook, WebhookDelivery, WebhookKind
from apps.webhooks.signing import signature_header, value_open
from apps.webhooks.syslog import syslog_frame

TIMES = Timeouts(connect_s=5, first_byte_s=15, idle_s=15, total_s=20)
"""Of one attempt."""
MESSAGE_ID = "msg_"


Message = Post | TlsMessage


class EntriesMissing(ConductorError):
    """The ledger no longer holds what a message is made of: it was tampered with."""

    code = "ledger_incomplete"


def message_of(webhook: Webhook, delivery: WebhookDelivery) -> Message:
    """Return what is sent of a delivery. Raises: EntriesMissing, SecretUnreadable."""
    entries = _entries(delivery)
    if webhook.kind == WebhookKind.SYSLOG:
        parts = urlsplit(webhook.url)
        body = b"".join(syslog_frame(entry, _line(entry)) for entry in entries)
        place = parts.hostname or "", parts.port or SYSLOG_PORT
        return TlsMessage(webhook.name, *place, body, TIMES.total_s)
    return _post(webhook, delivery, entries)


def _post(
    webhook: Webhook, delivery: WebhookDelivery, entries: Sequence[Entry]
) -> Post:
    is_batch = webhook.kind == WebhookKind.LEDGER
    if is_batch:
        body, kind = b"".join(map(_line, entries)), "application/x-ndjson"
    elif webhook.kind == WebhookKind.CHAT:
        body, kind = _chat(webhook, delivery, entries[0]), CHAT_TYPE
    else:
        body, kind = _event(delivery, entries[0]), "application/cloudevents+json"
    message_id, stamp = f"{MESSAGE_ID}{delivery.id.hex}", int(time.time())
    headers: HeaderPairs = (
        ("accept-encoding", "identity"),
        ("content-type", f"{kind}; charset=utf-8"),
        ("user-agent", USER_AGENT),
        ("webhook-id", message_id),
        ("webhook-timestamp", str(stamp)),
        ("webhook-signature", signature_header(webhook, message_id, stamp, body)),
    )
    if webhook.header_value is not None:
        value = value_open(webhook, webhook.header_value)
        headers += ((webhook.header_name, value),)
    return Post(webhook.name, webhook.url, headers, body, TIMES)


def _entries(delivery: WebhookDelivery) -> list[Entry]:
    rows = Entry.objects.for_team(delivery.team_id)
    part = rows.filter(seq__range=(delivery.first_seq, delivery.last_seq))
    found = list(part.order_by("seq"))
    if len(found) != delivery.last_seq - delivery.first_seq + 1:
        raise EntriesMissing("entries of the ledger are missing; verify it")
    return found


def _line(entry: Entry) -> bytes:
    """Return an entry as a line of a batch."""
    line = {
        "team_id": str(entry.team_id),
        "seq": entry.seq,
        "hash": entry.hash,
        "entry": orjson.Fragment(bytes(entry.canonical)),
    }
    return orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)


def _event(delivery: WebhookDelivery, entry: Entry) -> bytes:
    """Return an event in the JSON form of CloudEvents 1.0."""
    document: dict[str, Any] = orjson.loads(bytes(entry.canonical))
    kind = EVENT_TYPES.get(delivery.event_type, TEST)
    event = {
        "specversion": "1.0",
        "id": f"{MESSAGE_ID}{delivery.id.hex}",
        "source": f"{settings.CONDUCTOR_URL}/",
        "type": f"{PREFIX}{kind.name}",
        "subject": f"{entry.subject_type}/{entry.subject_id}",
        "time": document["recorded"],
        "datacontenttype": "application/json",
        "data": _event_data(kind, entry, document),
    }
    return orjson.dumps(event)


def _chat(webhook: Webhook, delivery: WebhookDelivery, entry: Entry) -> bytes:
    """Return an event as a message for a chat."""
    document: dict[str, Any] = orjson.loads(bytes(entry.canonical))
    kind = EVENT_TYPES.get(delivery.event_type, TEST)
    return chat_body(webhook.team.name, kind, _event_data(kind, entry, document))


def _event_data(
    kind: EventType, entry: Entry, document: Mapping[str, Any]
) -> dict[str, Any]:
    data = {
        "team_id": str(entry.team_id),
        "entry_seq": entry.seq,
        "action": entry.action,
        "outcome": document["outcome"],
        **data_of(kind, document["data"]),
    }
    if entry.subject_type == "run":
        data["run_id"] = str(entry.subject_id)
        data["url"] = f"{settings.CONDUCTOR_URL}/runs/{entry.subject_id}/"
    elif entry.subject_type == "alert":
        data["url"] = f"{settings.CONDUCTOR_URL}/alerts/{entry.subject_id}/"
    return data
