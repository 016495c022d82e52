"""Changes to rules and alerts. Each one and its ledger entry commit together."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from apps.accounts.models import Membership, Team, User
from apps.accounts.selectors import mail_is_set_up, membership_of
from apps.alerts.inputs import AlertRuleChange, MailChoiceInput, MuteInput
from apps.alerts.mails import mail_test_send
from apps.alerts.models import Alert, AlertMailChoice, AlertRule
from apps.alerts.opening import TEST_LASTS, bell_test_open
from apps.alerts.selectors import bell_alerts, rule_values
from apps.alerts.types import DEFAULTS, AlertAudience, AlertChannel, AlertKind
from apps.audit.services import entries_append
from apps.audit.types import Actor, Batch, EntryDraft
from apps.core.errors import Conflict, InvalidFields
from apps.core.input_parts import values_read
from apps.webhooks.selectors import webhooks_subscribed
from apps.webhooks.services import webhook_test

__all__ = [
    "TEST_LASTS",
    "alert_acknowledge",
    "alert_mute",
    "alert_rule_update",
    "alert_test",
    "mail_choice_set",
]
NO_MAIL = "this site sends no email; its operator sets EMAIL_BACKEND and EMAIL_HOST"
NO_WEBHOOK = "no enabled webhook is subscribed to alert.opened; add one under Webhooks"
NO_BELL = (
    "no rule names you for the bell, so you have none; change who a rule is for first"
)
UNUSED = "this kind of rule has none"


@transaction.atomic
def alert_rule_update(
    *, team: Team, kind: AlertKind, values: Mapping[str, Any], actor: Actor
) -> AlertRule:
    """Change what is given of a team's rule; on record. Raises: InvalidFields."""
    given = values_read(AlertRuleChange, values)
    rows = AlertRule.objects.for_team(team.id).select_for_update()
    row, _ = rows.get_or_create(team_id=team.id, kind=kind, defaults=_defaults(kind))
    before = rule_values(row)
    for name, value in given.model_dump(mode="json").items():
        if value is not None:
            setattr(row, name, value)
    if row.audience != AlertAudience.CHOSEN:
        row.member_ids = []
    _check(row, given)
    after = rule_values(row)
    changed = [name for name in after if after[name] != before[name]]
    if changed:
        row.save()
        facts = {
            "kind": str(kind),
            "before": {name: before[name] for name in changed},
            "after": {name: after[name] for name in changed},
        }
        _record(team.id, "alert_rule.updated", "alert_rule", row.id, actor, facts)
    return row


@transaction.atomic
def alert_acknowledge(*, alert: Alert, actor: Actor) -> Alert:
    """Note that a person knows of an alert: it leaves the bell. On record, once.

    Raises: Conflict if it is closed.
    """
    row = _locked(alert)
    if not row.is_open:
        raise Conflict("this alert is closed already")
    if row.acknowledged_at is None:
        row.acknowledged_at, row.acknowledged_by = timezone.now(), actor.display[:200]
        row.save(update_fields=["acknowledged_at", "acknowledged_by"])
        facts = {"kind": row.kind, "name": row.name}
        _record(row.team_id, "alert.acknowledged", "alert", row.id, actor, facts)
    return row


@transaction.atomic
def alert_mute(*, alert: Alert, values: Mapping[str, Any], actor: Actor) -> Alert:
    """Mute an alert for some minutes, also if it closes and opens again meanwhile.

    0 minutes end a mute. On record. Raises: InvalidFields; Conflict if it is closed.
    """
    minutes = values_read(MuteInput, values).minutes
    row = _locked(alert)
    if not row.is_open:
        raise Conflict("this alert is closed already")
    until = timezone.now() + timedelta(minutes=minutes) if minutes else None
    now = timezone.now()
    row.muted_until, row.muted_by = until, actor.display[:200] if until else ""
    # Of closed ones too: the next to open takes over a mute that has not ended.
    same = Alert.objects.for_team(row.team_id).filter(
        kind=row.kind, subject=row.subject, muted_until__gt=now
    )
    same.update(muted_until=row.muted_until, muted_by=row.muted_by)
    row.save(update_fields=["muted_until", "muted_by"])
    facts = {"kind": row.kind, "name": row.name, "minutes": minutes}
    _record(row.team_id, "alert.muted", "alert", row.id, actor, facts)
    return row


@transaction.atomic
def mail_choice_set(
    *, team: Team, user: User, values: Mapping[str, Any]
) -> AlertMailChoice:
    """Set of which kinds of alerts a person wants no mail. Raises: InvalidFields."""
    given = values_read(MailChoiceInput, values)
    rows = AlertMailChoice.objects.for_team(team.id)
    row, _ = rows.get_or_create(team_id=team.id, user=user)
    row.kinds_off = [str(each) for each in given.kinds_off]
    row.save(update_fields=["kinds_off"])
    return row


def alert_test(*, team: Team, user: User, channel: AlertChannel, actor: Actor) -> str:
    """Send a test alert by one channel; return in a sentence what came of it.

    The mail is sent at once, so that the answer is its result. Raises: Conflict with
    what is wrong.
    """
    match channel:
        case AlertChannel.BELL:
            _require_bell(team, user)
            bell_test_open(team_id=team.id, user_id=user.id)
            done = gettext("A test alert is in your bell.")
        case AlertChannel.MAIL:
            if not mail_is_set_up():
                raise Conflict(NO_MAIL)
            if fault := mail_test_send(team, user):
                raise Conflict(f"the mail server did not take the email: {fault}")
            words = gettext("The mail server has taken a test email to %(email)s.")
            done = words % {"email": user.email}
        case AlertChannel.WEBHOOK:
            hooks = list(webhooks_subscribed(team.id, "alert.opened"))
            if not hooks:
                raise Conflict(NO_WEBHOOK)
            for hook in hooks:
                webhook_test(webhook=hook, actor=actor)
            names = ", ".join(hook.name for hook in hooks)
            words = gettext(
                "A test is on its way to %(names)s; its page shows what came of it."
            )
            done = words % {"names": names}
    with transaction.atomic():
        facts = {"channel": str(channel)}
        _record(team.id, "alert.tested", "team", team.id, actor, facts)
    return done


def _require_bell(team: Team, user: User) -> None:
    mine = membership_of(user, team.id)
    if mine is None or bell_alerts(team.id, user.id, mine.role) is None:
        raise Conflict(NO_BELL)


def _defaults(kind: AlertKind) -> dict[str, Any]:
    given = DEFAULTS[kind]
    return {
        "threshold": given.threshold,
        "window_minutes": given.window_minutes,
        "least": given.least,
        "channels": [AlertChannel.BELL.value],
    }


def _check(row: AlertRule, given: AlertRuleChange) -> None:
    defaults = DEFAULTS[AlertKind(row.kind)]
    faults: dict[str, list[str]] = {}
    for name in ("threshold", "window_minutes", "least"):
        if getattr(given, name) is not None and getattr(defaults, name) is None:
            faults[name] = [UNUSED]
    if "threshold" not in faults and (row.threshold or 0) > defaults.highest:
        faults["threshold"] = [f"must be {defaults.highest:,} or less"]
    if row.audience == AlertAudience.CHOSEN:
        members = Membership.objects.for_team(row.team_id)
        known = {str(id) for id in members.values_list("user_id", flat=True)}
        if not row.member_ids:
            faults["member_ids"] = ["choose at least one member"]
        elif given.member_ids and not known.issuperset(row.member_ids):
            faults["member_ids"] = ["this team has no such member"]
    if faults:
        raise InvalidFields(faults)


def _locked(alert: Alert) -> Alert:
    rows = Alert.objects.for_team(alert.team_id).select_for_update()
    return rows.get(id=alert.id)


def _record(
    team_id: Any, action: str, kind: str, id: Any, actor: Actor, facts: dict[str, Any]
) -> None:
    draft = EntryDraft(action, kind, id, actor, facts)
    entries_append(batch=Batch(team_id, (draft,)))
