"""Reads of alerts: rules with their defaults, the list, what a person's bell shows."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext, ngettext

from apps.accounts.models import Membership, Role
from apps.alerts.models import (
    Alert,
    AlertMail,
    AlertMailChoice,
    AlertMailState,
    AlertRule,
)
from apps.alerts.types import (
    DEFAULTS,
    AlertAudience,
    AlertChannel,
    AlertKind,
)
from apps.alerts.words import (
    alert_detail,
    alert_place,
    alert_title,
    kind_label,
    rule_words,
)
from apps.core.errors import NotFound
from apps.core.scoping import TeamQuerySet

__all__ = [
    "AlertLine",
    "BellView",
    "access_alert",
    "access_rule",
    "alert_detail",
    "alert_line",
    "alert_list",
    "alert_place",
    "alert_rules",
    "alert_title",
    "audience_of",
    "bell_alerts",
    "bell_of",
    "chosen_members",
    "failed_mails",
    "kind_label",
    "mail_choice",
    "rule_values",
    "rule_words",
]
BELL_COUNTS = 100
"""Alerts that a bell reads; from there on its number reads "99+"."""
BELL_SHOWS = 6
"""Of the newest ones, in its menu."""
MAILS_LOOKBACK = timedelta(days=7)
ROLES: Mapping[str, tuple[str, ...]] = {
    AlertAudience.OWNERS: (Role.OWNER,),
    AlertAudience.ADMINS: (Role.OWNER, Role.ADMIN),
}
"""Roles of the members of an audience; chosen members are named one by one."""


@dataclass(frozen=True, slots=True)
class AlertLine:
    """An alert as lists show it."""

    alert: Alert
    title: str
    detail: str
    kind_label: str
    place: str
    """Address of the page where one acts."""
    place_label: str
    is_muted: bool


@dataclass(frozen=True, slots=True)
class BellView:
    """What a member's bell shows."""

    lines: Sequence[AlertLine]
    """The newest."""
    number: int

    @property
    def text(self) -> str:
        """Return the number, as far as it was counted."""
        return str(self.number) if self.number < BELL_COUNTS else f"{BELL_COUNTS - 1}+"

    @property
    def words(self) -> str:
        """Return what a screen reader says."""
        if not self.number:
            return gettext("no open alert")
        words = ngettext("%(number)s open alert", "%(number)s open alerts", self.number)
        return words % {"number": self.text}


def alert_rules(team_id: uuid.UUID) -> list[AlertRule]:
    """Return the rule of each kind, in the order of kinds; unchanged ones unsaved."""
    rows = {row.kind: row for row in AlertRule.objects.for_team(team_id)}
    return [rows.get(kind) or default_rule(team_id, kind) for kind in AlertKind]


def access_rule(team_id: uuid.UUID, kind: str) -> AlertRule:
    """Return a team's rule of a kind. Raises: NotFound."""
    if kind not in AlertKind.values:
        raise NotFound(f"there is no alert rule {kind!r}")
    row = AlertRule.objects.for_team(team_id).filter(kind=kind).first()
    return row or default_rule(team_id, AlertKind(kind))


def default_rule(team_id: uuid.UUID, kind: AlertKind) -> AlertRule:
    """Return a rule as it is before anybody has changed it; it is not saved."""
    defaults = DEFAULTS[kind]
    return AlertRule(
        team_id=team_id,
        kind=kind,
        threshold=defaults.threshold,
        window_minutes=defaults.window_minutes,
        least=defaults.least,
        channels=[AlertChannel.BELL.value],
    )


def chosen_members(
    team_id: uuid.UUID, rules: Sequence[AlertRule]
) -> Mapping[str, frozenset[str]]:
    """Return the chosen members of each kind of rule who are still there, by their ids.

    Rules for others are left out. It costs a query if members were chosen at all.
    """
    chosen = {
        rule.kind: rule.member_ids
        for rule in rules
        if rule.audience == AlertAudience.CHOSEN
    }
    wanted = {each for ids in chosen.values() for each in ids}
    rows = Membership.objects.for_team(team_id).filter(user__is_active=True)
    rows = rows.filter(user_id__in=wanted)
    here = {str(id) for id in rows.values_list("user_id", flat=True)} if wanted else ()
    return {kind: frozenset(ids) & frozenset(here) for kind, ids in chosen.items()}


def audience_of(
    team_id: uuid.UUID, rules: Sequence[AlertRule]
) -> Callable[[AlertRule, uuid.UUID, str], bool]:
    """Return what says whether the alerts of one of these rules are for a member.

    Once all chosen members have left, they are for the owners: somebody must hear.
    """
    chosen = chosen_members(team_id, rules)

    def is_for(rule: AlertRule, user_id: uuid.UUID, role: str) -> bool:
        if rule.kind not in chosen:
            return role in ROLES[rule.audience]
        present = chosen[rule.kind]
        return str(user_id) in present if present else role == Role.OWNER

    return is_for


def alert_list(
    *, team_id: uuid.UUID, state: str = "", kind: str = ""
) -> TeamQuerySet[Alert]:
    """Return the alerts of a team, newest first.

    `state`: open, closed, or empty for all.
    """
    rows = Alert.objects.for_team(team_id).order_by("-id")
    if state:
        rows = rows.filter(closed_at__isnull=state == "open")
    return rows.filter(kind=kind) if kind else rows


def access_alert(*, team_id: uuid.UUID, alert_id: uuid.UUID) -> Alert:
    """Return an alert of a team. Raises: NotFound."""
    found = Alert.objects.for_team(team_id).filter(id=alert_id).first()
    if found is None:
        raise NotFound(f"this team has no alert {str(alert_id)!r}")
    return found


def bell_alerts(
    team_id: uuid.UUID, user_id: uuid.UUID, role: str
) -> TeamQuerySet[Alert] | None:
    """Return what waits for a member: open, not acknowledged, not muted, newest first.

    None: no rule's bell is for this member. The one definition of this number: the
    bell, the home page and the list show it.
    """
    rules = [
        rule for rule in alert_rules(team_id) if AlertChannel.BELL in rule.channels
    ]
    is_for = audience_of(team_id, rules)
    kinds = [rule.kind for rule in rules if is_for(rule, user_id, role)]
    if not kinds:
        return None
    mine = Q(kind__in=kinds) | Q(kind=Alert.TEST, subject=str(user_id))
    rows = Alert.objects.for_team(team_id).filter(
        mine, closed_at__isnull=True, acknowledged_at__isnull=True
    )
    return rows.filter(not_muted(timezone.now())).order_by("-id")


def bell_of(team_id: uuid.UUID, user_id: uuid.UUID, role: str) -> BellView | None:
    """Return what a member's bell shows; None: it is not for this member."""
    rows = bell_alerts(team_id, user_id, role)
    if rows is None:
        return None
    found = list(rows[:BELL_COUNTS])
    return BellView([alert_line(row) for row in found[:BELL_SHOWS]], len(found))


def alert_line(alert: Alert) -> AlertLine:
    """Return an alert as lists show it."""
    place, label = alert_place(alert)
    return AlertLine(
        alert=alert,
        title=alert_title(alert),
        detail=alert_detail(alert),
        kind_label=kind_label(alert.kind),
        place=place,
        place_label=label,
        is_muted=alert.muted_until is not None and alert.muted_until > timezone.now(),
    )


def not_muted(now: datetime) -> Q:
    """Return the condition of alerts that are not muted."""
    return Q(muted_until__isnull=True) | Q(muted_until__lte=now)


def mail_choice(team_id: uuid.UUID, user_id: uuid.UUID) -> list[str]:
    """Return the kinds of alerts of a team of which a person wants no mail."""
    rows = AlertMailChoice.objects.for_team(team_id).filter(user_id=user_id)
    return rows.values_list("kinds_off", flat=True).first() or []


def failed_mails(team_id: uuid.UUID) -> int:
    """Return how many mails about alerts of the last days could not be sent."""
    rows = AlertMail.objects.for_team(team_id).filter(
        state=AlertMailState.FAILED, created_at__gte=timezone.now() - MAILS_LOOKBACK
    )
    return rows.count()


def rule_values(rule: AlertRule) -> dict[str, Any]:
    """Return what can be changed of a rule, as facts of an entry."""
    return {
        "is_enabled": rule.is_enabled,
        "threshold": rule.threshold,
        "window_minutes": rule.window_minutes,
        "least": rule.least,
        "channels": list(rule.channels),
        "audience": str(rule.audience),
        "member_ids": list(rule.member_ids),
        "mails_when_closed": rule.mails_when_closed,
    }
