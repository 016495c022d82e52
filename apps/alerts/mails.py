"""Mails about alerts: kept as rows until they are sent, retried, and throttled.

A person gets at most `MAILS_AN_HOUR` about a team; what comes beyond, or many at once,
comes together in one mail. Mails hold names and figures, no texts of runs and no
secrets.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.db.models import Count, Min
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone, translation

from apps.accounts.models import Membership, Team, User
from apps.accounts.selectors import mail_is_set_up
from apps.alerts.models import (
    Alert,
    AlertMail,
    AlertMailChoice,
    AlertMailState,
    AlertRule,
)
from apps.alerts.selectors import access_rule, audience_of
from apps.alerts.types import AlertChannel
from apps.alerts.words import alert_detail, alert_place, alert_title, alert_url
from apps.core.ids import new_id
from apps.core.plain_text import plain_line

logger = logging.getLogger(__name__)
MAILS_AN_HOUR = 10
"""To one person about one team."""
HOUR = timedelta(hours=1)
SINGLE = 3
"""So many news at once are sent each in a mail of its own; more share one."""
MOST_IN_DIGEST = 50
PAIRS_AT_ONCE = 200
RETRIES = tuple(timedelta(seconds=s) for s in (60, 300, 1_800, 7_200, 21_600))
"""From each attempt to the next; after the last one a mail counts as failed."""
FAULT_LENGTH = 200


def mails_add(
    alert: Alert,
    rule: AlertRule,
    *,
    is_about_end: bool = False,
    is_about_rise: bool = False,
) -> None:
    """Note, in the open transaction, who is to learn of an alert by mail.

    Nothing is noted where the site sends no mail. Of an end, those learn who were told
    of the beginning; of a rise, all whose mail about the beginning has gone.
    """
    if AlertChannel.MAIL not in rule.channels or not mail_is_set_up():
        return
    told = AlertMail.objects.for_team(alert.team_id).filter(alert=alert)
    people = _recipients(rule)
    if is_about_end:
        known = set(told.values_list("user_id", flat=True))
        people = [user_id for user_id in people if user_id in known]
    elif is_about_rise:
        waiting = told.filter(state=AlertMailState.WAITING)
        informed = set(waiting.values_list("user_id", flat=True))
        people = [user_id for user_id in people if user_id not in informed]
    now = timezone.now()
    rows = [
        AlertMail(
            team_id=alert.team_id,
            alert=alert,
            user_id=user_id,
            is_about_end=is_about_end,
            is_about_rise=is_about_rise,
            state=AlertMailState.WAITING,
            next_attempt_at=now,
            created_at=now,
        )
        for user_id in people
    ]
    AlertMail.objects.bulk_create(rows, ignore_conflicts=True)


def alert_mails_send(now: datetime | None = None) -> Iterator[int]:
    """Send what is due, person by person; yields how many rows each was told of."""
    moment = now or timezone.now()
    due = _due(AlertMail.objects.across_teams(), moment)
    pairs = due.order_by("team_id", "user_id").values_list("team_id", "user_id")
    for team_id, user_id in list(pairs.distinct()[:PAIRS_AT_ONCE]):
        yield _send_to(team_id, user_id, moment)


def mail_test_send(team: Team, user: User) -> str:
    """Send a test mail now; return what went wrong, empty if nothing did."""
    link = f"{settings.CONDUCTOR_URL}{reverse('console:alert_rules')}"
    context = {"team": plain_line(team.name), "link": link}
    try:
        _mail("test", f"[{context['team']}] Test of alerts", context, user).send()
    except Exception as exc:  # of the server, or of a backend or an address
        logger.warning("a test mail of alerts could not be sent", exc_info=True)
        return f"{type(exc).__name__}: {exc}"[:FAULT_LENGTH]
    return ""


def _recipients(rule: AlertRule) -> list[uuid.UUID]:
    members = Membership.objects.for_team(rule.team_id).filter(user__is_active=True)
    choices = AlertMailChoice.objects.for_team(rule.team_id)
    off = {
        user_id
        for user_id, kinds in choices.values_list("user_id", "kinds_off")
        if rule.kind in kinds
    }
    is_for = audience_of(rule.team_id, [rule])
    return [
        user_id
        for user_id, role in members.order_by("id").values_list("user_id", "role")
        if is_for(rule, user_id, role) and user_id not in off
    ]


def _due(rows: Any, now: datetime) -> Any:
    return rows.filter(state=AlertMailState.WAITING, next_attempt_at__lte=now)


def _send_to(team_id: uuid.UUID, user_id: uuid.UUID, now: datetime) -> int:
    """Send one person what is due about one team, within the limit of an hour."""
    rows = AlertMail.objects.for_team(team_id).filter(user_id=user_id)
    sent = rows.filter(state=AlertMailState.SENT, sent_at__gt=now - HOUR)
    seen = sent.aggregate(
        count=Count("message_id", distinct=True), first=Min("sent_at")
    )
    if seen["count"] >= MAILS_AN_HOUR:
        _due(rows, now).update(next_attempt_at=seen["first"] + HOUR)
        return 0
    found = list(
        _due(rows, now)
        .select_related("alert", "team", "user")
        .order_by("id")[:MOST_IN_DIGEST]
    )
    wanted = _wanted(found, now)
    unwanted = {row.id for row in found} - {row.id for row in wanted}
    rows.filter(id__in=unwanted).delete()
    found = wanted
    if not found:
        return 0
    room = MAILS_AN_HOUR - seen["count"]
    is_single = len(found) <= min(SINGLE, room)
    parts = [[row] for row in found] if is_single else [found]
    return sum(_deliver(_claimed(part, now), now) for part in parts)


def _wanted(rows: Sequence[AlertMail], now: datetime) -> list[AlertMail]:
    """Return those that their person is still to learn of, a while after `mails_add`.

    Of muted alerts nobody learns, and no one who has left, whose account is off, whom
    the rule is not for any more, or who wants no mail of the kind.
    """
    rules = {row.alert.kind: row.team_id for row in rows}
    people = {
        kind: set(_recipients(access_rule(team_id, kind)))
        for kind, team_id in rules.items()
    }
    return [
        row
        for row in rows
        if row.user_id in people[row.alert.kind]
        and (row.alert.muted_until is None or row.alert.muted_until <= now)
    ]


def _claimed(rows: Sequence[AlertMail], now: datetime) -> list[AlertMail]:
    """Return the rows that this process sends; their next attempt is noted first."""
    mine = []
    for row in rows:
        same = AlertMail.objects.for_team(row.team_id).filter(
            id=row.id, state=AlertMailState.WAITING, attempts=row.attempts
        )
        again_at = now + RETRIES[min(row.attempts, len(RETRIES) - 1)]
        if same.update(attempts=row.attempts + 1, next_attempt_at=again_at):
            row.attempts += 1
            mine.append(row)
    return mine


def _deliver(rows: Sequence[AlertMail], now: datetime) -> int:
    if not rows:
        return 0
    mine = AlertMail.objects.for_team(rows[0].team_id).filter(
        id__in=[row.id for row in rows]
    )
    try:
        _news_mail(rows).send()
    except Exception:  # of the server, or of a backend or an address
        logger.warning("a mail about alerts could not be sent", exc_info=True)
        hopeless = mine.filter(attempts__gt=len(RETRIES))
        hopeless.update(state=AlertMailState.FAILED)
        return 0
    return mine.update(
        state=AlertMailState.SENT, sent_at=timezone.now(), message_id=new_id()
    )


@translation.override("en")
def _news_mail(rows: Sequence[AlertMail]) -> EmailMultiAlternatives:
    team = plain_line(rows[0].team.name)
    news = [_news(row) for row in rows]
    if len(rows) > 1:
        subject = f"[{team}] {len(rows)} alerts"
    elif rows[0].is_about_end:
        subject = f"[{team}] Over: {news[0]['title']}"
    else:
        subject = f"[{team}] {news[0]['severity']}: {news[0]['title']}"
    context = {
        "team": team,
        "news": news,
        "list_link": f"{settings.CONDUCTOR_URL}{reverse('console:alert_list')}",
        "choice_link": f"{settings.CONDUCTOR_URL}{reverse('console:alert_mails')}",
    }
    return _mail("alert", subject, context, rows[0].user)


def _news(row: AlertMail) -> dict[str, Any]:
    alert = row.alert
    address, label = alert_place(alert)
    return {
        "title": plain_line(alert_title(alert)),
        "detail": plain_line(alert_detail(alert)),
        "severity": alert.get_severity_display(),
        "opened_at": alert.opened_at,
        "closed_at": alert.closed_at,
        "link": alert_url(alert),
        "place": f"{settings.CONDUCTOR_URL}{address}",
        "place_label": label,
        "is_about_end": row.is_about_end,
        "is_about_rise": row.is_about_rise,
    }


def _mail(
    template: str, subject: str, context: dict[str, Any], user: User
) -> EmailMultiAlternatives:
    mail = EmailMultiAlternatives(
        subject=plain_line(subject),
        body=render_to_string(f"alerts/mail/{template}.txt", context),
        to=[user.email],
    )
    html = render_to_string(f"alerts/mail/{template}.html", context)
    mail.attach_alternative(html, "text/html")
    return mail
