"""Changes to webhooks. Each one and its ledger entry commit together."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from apps.accounts.models import Team
from apps.audit.models import ChainHead
from apps.audit.services import entries_append
from apps.audit.types import Actor, Batch, EntryDraft
from apps.core.errors import Conflict, InvalidFields, NotFound
from apps.core.input_parts import values_read
from apps.webhooks.addresses import SYSLOG_PORT, SYSLOG_SCHEME, origin_of
from apps.webhooks.chat import CHAT_WORDS as CHAT_WORDS
from apps.webhooks.inputs import WebhookChange, WebhookInput
from apps.webhooks.models import (
    DeliveryState,
    Webhook,
    WebhookDelivery,
    WebhookKind,
)
from apps.webhooks.selectors import webhook_list
from apps.webhooks.signing import secret_new, value_seal

MAX_WEBHOOKS = 20
"""Of a team."""
OVERLAP = timedelta(hours=24)
"""A replaced secret signs as well for so long."""
TAKEN = "is taken already"
NO_TYPES = "choose at least one type of event"
SYSLOG_URL = f"must be like {SYSLOG_SCHEME}://host:{SYSLOG_PORT}"
HTTPS_URL = "must begin with https://"
NO_HEADERS = "syslog has no headers; leave it empty"
HEADER_NEEDS_VALUE = (
    "must be given again: the stored value is for another host; to send no header, "
    "empty its name"
)
HEADER_NEEDS_BOTH = "a header needs a name and a value"


@transaction.atomic
def webhook_create(
    *, team: Team, values: Mapping[str, Any], actor: Actor
) -> tuple[Webhook, str]:
    """Add a webhook; return it and its secret, which nothing shows again. Syslog: none.

    It delivers what is recorded from now on. Raises: InvalidFields; Conflict if the
    team has as many as it may have.
    """
    given = values_read(WebhookInput, values)
    if webhook_list(team_id=team.id).count() >= MAX_WEBHOOKS:
        raise Conflict(f"a team has {MAX_WEBHOOKS} webhooks at most")
    heads = ChainHead.objects.filter(team_id=team.id)
    row = Webhook(
        team=team,
        name=given.name,
        kind=given.kind,
        url=given.url,
        event_types=given.event_types,
        cursor=heads.values_list("seq", flat=True).first() or 0,
    )
    secret = "" if row.kind == WebhookKind.SYSLOG else secret_new()
    row.secret = value_seal(row, secret) if secret else b""
    _set_header(row, given.header_name, given.header_value.get_secret_value())
    _check(row)
    row.save(force_insert=True)
    _record(row, "webhook.created", actor, {"after": _facts(row)})
    return row, secret


@transaction.atomic
def webhook_update(
    *, webhook: Webhook, values: Mapping[str, Any], actor: Actor
) -> Webhook:
    """Change what is given; one that is enabled again continues where it stopped.

    The value of a header is for one scheme, host and port: another address needs it
    again, so that nobody who cannot read it can have it sent elsewhere.
    Raises: InvalidFields, NotFound.
    """
    given = values_read(WebhookChange, values)
    row = _locked(webhook)
    before, former_origin = _facts(row), origin_of(row.url)
    for name in ("name", "url", "event_types", "is_enabled"):
        value = getattr(given, name)
        if value is not None:
            setattr(row, name, value)
    if given.is_enabled:
        row.disabled_reason, row.failing_since = "", None
    is_header_new = given.header_name is not None or given.header_value is not None
    if is_header_new:
        name = row.header_name if given.header_name is None else given.header_name
        value = given.header_value.get_secret_value() if given.header_value else ""
        if name and not value and name == row.header_name:
            is_header_new = False  # its value stays as it is
        else:
            _set_header(row, name, value)
    if row.header_value and not is_header_new and origin_of(row.url) != former_origin:
        raise InvalidFields({"header_value": [HEADER_NEEDS_VALUE]})
    _check(row)
    row.save()
    after = _facts(row)
    changed = [name for name in after if after[name] != before[name]]
    facts: dict[str, Any] = {
        "before": {name: before[name] for name in changed},
        "after": {name: after[name] for name in changed},
    }
    if is_header_new:
        facts["is_header_replaced"] = True
    if webhook.url != row.url:
        facts["is_url_replaced"] = True
    if changed or len(facts) > 2:
        _record(row, "webhook.updated", actor, facts)
    return row


@transaction.atomic
def webhook_delete(*, webhook: Webhook, actor: Actor) -> None:
    """Delete a webhook; what was not delivered is not sent. Raises: NotFound."""
    row = _locked(webhook)
    _record(row, "webhook.deleted", actor, {"before": _facts(row)})
    row.delete()


@transaction.atomic
def secret_rotate(*, webhook: Webhook, actor: Actor) -> tuple[Webhook, str]:
    """Replace the secret; return the new one. For a day the old one signs as well.

    Raises: NotFound; Conflict for syslog, which has none.
    """
    row = _locked(webhook)
    if row.kind == WebhookKind.SYSLOG:
        raise Conflict("messages of syslog are not signed, so there is no secret")
    secret = secret_new()
    row.previous_secret = row.secret
    row.previous_until = timezone.now() + OVERLAP
    row.secret = value_seal(row, secret)
    row.save()
    _record(row, "webhook.secret_rotated", actor, {"name": row.name})
    return row, secret


@transaction.atomic
def webhook_test(*, webhook: Webhook, actor: Actor) -> None:
    """Record a test, which is delivered as an event of its own. Raises: Conflict."""
    row = _locked(webhook)
    if not row.is_enabled:
        raise Conflict("this webhook is disabled; enable it first")
    _record(row, "webhook.tested", actor, {"name": row.name})


@transaction.atomic
def delivery_resend(*, delivery: WebhookDelivery, actor: Actor) -> None:
    """Send a message again, with the same id, as soon as possible; on record.

    Raises: Conflict for a batch of the ledger, which is sent in order.
    """
    row = _locked(delivery.webhook)
    if row.is_stream:
        raise Conflict("entries of the ledger are sent in order, and again until taken")
    if not row.is_enabled:
        raise Conflict("this webhook is disabled; enable it first")
    deliveries = WebhookDelivery.objects.for_team(row.team_id).filter(id=delivery.id)
    deliveries.update(state=DeliveryState.WAITING, next_attempt_at=timezone.now())
    facts = {"event_type": delivery.event_type, "entry_seq": delivery.first_seq}
    _record(row, "webhook.resent", actor, facts)


def _locked(webhook: Webhook) -> Webhook:
    rows = webhook_list(team_id=webhook.team_id).select_for_update()
    row = rows.filter(id=webhook.id).first()
    if row is None:
        raise NotFound("this webhook has been deleted")
    return row


def _set_header(row: Webhook, name: str, value: str) -> None:
    if bool(name) != bool(value):
        raise InvalidFields({"header_value": [HEADER_NEEDS_BOTH]})
    row.header_name = name
    row.header_value = value_seal(row, value) if value else None


def _check(row: Webhook) -> None:
    faults: dict[str, list[str]] = {}
    others = webhook_list(team_id=row.team_id).exclude(id=row.id)
    if others.filter(name=row.name).exists():
        faults["name"] = [TAKEN]
    if not row.is_stream and not row.event_types:
        faults["event_types"] = [NO_TYPES]
    if row.is_stream:
        row.event_types = []
    is_syslog = row.kind == WebhookKind.SYSLOG
    if is_syslog != row.url.startswith(f"{SYSLOG_SCHEME}://"):
        faults["url"] = [SYSLOG_URL if is_syslog else HTTPS_URL]
    if is_syslog and row.header_name:
        faults["header_name"] = [NO_HEADERS]
    if faults:
        raise InvalidFields(faults)


def _facts(row: Webhook) -> dict[str, Any]:
    """Return the facts of a webhook for entries: no path of its URL, and no secret."""
    return {
        "name": row.name,
        "kind": str(row.kind),
        "origin": origin_of(row.url),
        "event_types": list(row.event_types),
        "header_name": row.header_name,
        "is_enabled": row.is_enabled,
    }


def _record(row: Webhook, action: str, actor: Actor, facts: Mapping[str, Any]) -> None:
    draft = EntryDraft(action, "webhook", row.id, actor, facts)
    entries_append(batch=Batch(row.team_id, (draft,)))


def webhook_disable(row: Webhook, reason: str, actor: Actor) -> None:
    """Disable a locked webhook that does not take what it is sent; on record."""
    row.is_enabled, row.disabled_reason = False, reason
    row.save(update_fields=["is_enabled", "disabled_reason"])
    _record(row, "webhook.disabled", actor, {"name": row.name, "reason": reason})


def deliveries_lost(
    row: Webhook, first_seq: int, last_seq: int, count: int, actor: Actor
) -> None:
    """Record which messages of a webhook are given up; `count` of events or entries."""
    facts = {"first_seq": first_seq, "last_seq": last_seq, "count": count}
    _record(row, "webhook.dropped", actor, {"name": row.name, **facts})
