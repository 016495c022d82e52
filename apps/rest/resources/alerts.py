"""Alerts: listed, acknowledged, muted; and the rules that open them."""

from __future__ import annotations

import uuid
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.principal import Principal
from apps.accounts.rights import (
    MANAGE_ALERTS,
    READ_ALERTS,
    READ_BUDGETS,
    READ_LEDGER,
    READ_MEMBERS,
    Right,
)
from apps.alerts.models import Alert, AlertRule
from apps.alerts.selectors import (
    access_alert,
    access_rule,
    alert_line,
    alert_list,
    alert_rules,
    rule_values,
    rule_words,
)
from apps.alerts.services import alert_acknowledge, alert_mute, alert_rule_update
from apps.alerts.types import (
    LONGEST_WINDOW,
    MOST_LEAST,
    MUTE_MINUTES,
    AlertAudience,
    AlertChannel,
    AlertKind,
    AlertSeverity,
)
from apps.core.errors import NotFound
from apps.rest.fields import Flag, Id, Input, Output, Time, Whole, Word
from apps.rest.pagination import Page, PageQuery, page_by_id
from apps.rest.schema import operation
from apps.rest.views import RestView

TAG = "Alerts"
ALERT: dict[str, Any] = {
    "id": "0199c0de-0000-7000-8000-000000000051",
    "kind": "worker",
    "about": "0199c0de-0000-7000-8000-000000000021",
    "title": "Worker coder fails",
    "detail": "6 of 8 calls failed in 15 minutes",
    "severity": "warning",
    "figures": {"percent": 75, "count": 6, "total": 8, "minutes": 15},
    "opened_at": "2026-11-23T15:53:16.000000Z",
    "closed_at": None,
    "acknowledged_at": None,
    "acknowledged_by": "",
    "muted_until": None,
}
RULE: dict[str, Any] = {
    "kind": "worker",
    "condition": "50 % of at least 5 calls to a worker failed in 15 minutes",
    "is_enabled": True,
    "threshold": 50,
    "window_minutes": 15,
    "least": 5,
    "channels": ["bell"],
    "audience": "admins",
    "member_ids": [],
    "mails_when_closed": False,
}
STATES = ("open", "closed")
KINDS_OF_KEYS: dict[str, Right] = {
    AlertKind.BUDGET: READ_BUDGETS,
    AlertKind.LEDGER: READ_LEDGER,
    AlertKind.CHECKPOINT: READ_LEDGER,
}
"""What a key needs besides to read alerts that say what this guards elsewhere. People
of a team read all alerts."""


class AlertQuery(PageQuery):
    """Which alerts."""

    state = serializers.ChoiceField(
        choices=STATES, required=False, help_text="Without it: all."
    )
    kind = serializers.ChoiceField(choices=AlertKind.values, required=False)


class MuteMinutesInput(Input):
    """For how long an alert is muted."""

    minutes = Whole(
        min_value=0, max_value=MUTE_MINUTES, help_text="0: it is not muted any more."
    )


class AlertRuleInput(Input):
    """Changes of a rule; what is left out stays."""

    is_enabled = Flag(required=False)
    threshold = Whole(
        min_value=1,
        required=False,
        help_text="Percent; minutes of the kinds `approval` and `checkpoint`.",
    )
    window_minutes = Whole(min_value=5, max_value=LONGEST_WINDOW, required=False)
    least = Whole(
        min_value=1,
        max_value=MOST_LEAST,
        required=False,
        help_text="With fewer calls or runs in the window no alert opens.",
    )
    channels = serializers.ListField(
        child=Word(choices=AlertChannel.values), required=False
    )
    audience = Word(choices=AlertAudience.values, required=False)
    member_ids = serializers.ListField(
        child=Id(), required=False, help_text="Of the audience `chosen`."
    )
    mails_when_closed = Flag(required=False)


class AlertOutput(Output):
    """An alert."""

    id = serializers.UUIDField()
    kind = serializers.CharField(help_text="That of its rule; `test` of a test.")
    about = serializers.CharField(
        help_text="Id of the worker, budget or run. Empty: the whole team."
    )
    title = serializers.CharField()
    detail = serializers.CharField()
    severity = serializers.ChoiceField(choices=AlertSeverity.values)
    figures = serializers.DictField(
        child=serializers.IntegerField(), help_text="At the last look."
    )
    opened_at = Time()
    closed_at = Time(allow_null=True, help_text="Null: it is open.")
    acknowledged_at = Time(allow_null=True)
    acknowledged_by = serializers.CharField()
    muted_until = Time(allow_null=True)


class AlertRuleOutput(Output):
    """A rule."""

    kind = serializers.ChoiceField(choices=AlertKind.values)
    condition = serializers.CharField(help_text="When an alert opens, in words.")
    is_enabled = serializers.BooleanField()
    threshold = serializers.IntegerField(allow_null=True)
    window_minutes = serializers.IntegerField(allow_null=True)
    least = serializers.IntegerField(allow_null=True)
    channels = serializers.ListField(
        child=serializers.ChoiceField(choices=AlertChannel.values)
    )
    audience = serializers.ChoiceField(choices=AlertAudience.values)
    member_ids = serializers.ListField(
        child=serializers.UUIDField(),
        allow_null=True,
        help_text="Null: the key lacks `members:read`.",
    )
    mails_when_closed = serializers.BooleanField()


class AlertView(RestView):
    """Finds the alert that an address names."""

    tag = TAG

    def alert(self, alert_id: uuid.UUID) -> Alert:
        """Return an alert of the team. Raises: NotFound, also if its kind is hidden."""
        alert = access_alert(team_id=self.principal.team_id, alert_id=alert_id)
        if alert.kind in _hidden_kinds(self.principal):
            raise NotFound(f"this team has no alert {str(alert_id)!r}")
        return alert


class Alerts(RestView):
    """The alerts of the team."""

    tag = TAG
    rights = {"GET": READ_ALERTS}

    @operation(
        "alert_list",
        "List alerts",
        page_of=AlertOutput,
        query=AlertQuery,
        example=ALERT,
    )
    def get(self, request: Request) -> Response:
        """Return open and closed alerts, newest first.

        A key reads those about budgets with `budgets:read` alone, and those about the
        ledger with `audit:read`.
        """
        wanted = self.read_page(AlertQuery)
        rows = alert_list(
            team_id=self.principal.team_id,
            state=wanted.pop("state", ""),
            kind=wanted.pop("kind", ""),
        )
        rows = rows.exclude(kind__in=_hidden_kinds(self.principal))
        page = page_by_id(rows, **wanted)
        told = [_alert_values(row) for row in page.data]
        return self.paged(Page(told, page.next_cursor), AlertOutput)


class OneAlert(AlertView):
    """One alert."""

    rights = {"GET": READ_ALERTS}

    @operation("alert_get", "Read an alert", answer=AlertOutput, example=ALERT)
    def get(self, request: Request, alert_id: uuid.UUID) -> Response:
        """Return an alert."""
        return Response(AlertOutput(_alert_values(self.alert(alert_id))).data)


class AlertAcknowledge(AlertView):
    """The acknowledgement of an alert."""

    rights = {"POST": MANAGE_ALERTS}

    @operation(
        "alert_acknowledge",
        "Acknowledge an alert",
        answer=AlertOutput,
        errors=(409,),
        example=ALERT,
    )
    def post(self, request: Request, alert_id: uuid.UUID) -> Response:
        """Note that a person knows of it: it leaves the bell. 409: it is closed."""
        row = alert_acknowledge(alert=self.alert(alert_id), actor=self.principal.actor)
        return Response(AlertOutput(_alert_values(row)).data)


class AlertMute(AlertView):
    """The mute of an alert."""

    rights = {"POST": MANAGE_ALERTS}

    @operation(
        "alert_mute",
        "Mute an alert",
        body=MuteMinutesInput,
        answer=AlertOutput,
        errors=(409,),
        sent={"minutes": 60},
        example=ALERT,
    )
    def post(self, request: Request, alert_id: uuid.UUID) -> Response:
        """Mute it for some minutes, also if it opens again meanwhile. 409: closed."""
        row = alert_mute(
            alert=self.alert(alert_id),
            values=self.read(MuteMinutesInput),
            actor=self.principal.actor,
        )
        return Response(AlertOutput(_alert_values(row)).data)


class AlertRules(RestView):
    """The rules of the team."""

    tag = TAG
    rights = {"GET": READ_ALERTS}

    @operation(
        "alert_rule_list", "List alert rules", page_of=AlertRuleOutput, example=RULE
    )
    def get(self, request: Request) -> Response:
        """Return the rule of each kind."""
        rules = alert_rules(self.principal.team_id)
        values = [_rule_values(rule, self.principal) for rule in rules]
        return self.listed(values, AlertRuleOutput)


class OneAlertRule(RestView):
    """The rule of one kind."""

    tag = TAG
    rights = {"GET": READ_ALERTS, "PATCH": MANAGE_ALERTS}

    @operation(
        "alert_rule_get", "Read an alert rule", answer=AlertRuleOutput, example=RULE
    )
    def get(self, request: Request, alert_kind: str) -> Response:
        """Return a rule."""
        rule = access_rule(self.principal.team_id, alert_kind)
        return Response(AlertRuleOutput(_rule_values(rule, self.principal)).data)

    @operation(
        "alert_rule_update",
        "Change an alert rule",
        body=AlertRuleInput,
        is_partial=True,
        answer=AlertRuleOutput,
        sent={"threshold": 30, "channels": ["bell", "mail"]},
        example=RULE,
    )
    def patch(self, request: Request, alert_kind: str) -> Response:
        """Change a rule. Only people may: a key must not silence alerts."""
        rule = access_rule(self.principal.team_id, alert_kind)
        saved = alert_rule_update(
            team=self.principal.team,
            kind=AlertKind(rule.kind),
            values=self.read(AlertRuleInput, is_partial=True),
            actor=self.principal.actor,
        )
        return Response(AlertRuleOutput(_rule_values(saved, self.principal)).data)


def _alert_values(row: Alert) -> dict[str, Any]:
    line = alert_line(row)
    columns = ("id", "kind", "severity", "figures", "opened_at", "closed_at")
    people = ("acknowledged_at", "acknowledged_by", "muted_until")
    return {
        **{name: getattr(row, name) for name in (*columns, *people)},
        "about": row.subject,
        "title": line.title,
        "detail": line.detail,
    }


def _rule_values(rule: AlertRule, principal: Principal) -> dict[str, Any]:
    values = rule_values(rule)
    if _lacks(principal, READ_MEMBERS):
        values["member_ids"] = None
    return {"kind": rule.kind, "condition": rule_words(rule), **values}


def _hidden_kinds(principal: Principal) -> list[str]:
    return [kind for kind, right in KINDS_OF_KEYS.items() if _lacks(principal, right)]


def _lacks(principal: Principal, right: Right) -> bool:
    key = principal.key
    return key is not None and key.scopes.isdisjoint(right.scopes)
