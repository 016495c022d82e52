"""A team whose ledger takes no entry: its alert opens, and other teams go on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from apps.alerts.evaluation import alerts_evaluate
from apps.alerts.models import Alert
from apps.alerts.types import AlertKind
from apps.audit.models import ChainHead
from apps.conversations.models import Conversation
from tests.alerts.looking import change, fail, later, look, open_alerts
from tests.alerts.test_conditions import checked
from tests.audit.tampering import set_head
from tests.conftest import Cast
from tests.governance.test_idle_conversations import begun, expire, rule

TAMPERED = pytest.mark.parametrize("head", [{"seq": 1}, {"hash": "sha256:nothing"}])
"""A place that is taken, and what is no hash."""


def tamper(cast: Cast, head: dict[str, Any]) -> None:
    for least in (8, 9):
        change(cast, AlertKind.RUNS, least=least)
    assert ChainHead.objects.get(team_id=cast.team.id).seq > 1
    set_head(cast.team.id, **head)


@TAMPERED
def test_the_alert_opens_though_no_other_can_be_recorded(cast, head):
    fail(cast)
    checked(cast, faults=2)
    tamper(cast, head)
    look(cast)
    assert [each.kind for each in open_alerts(cast)] == ["ledger"]


@TAMPERED
def test_alerts_of_other_teams_still_open(cast, head):
    for team in (cast.team, cast.other_team):
        fail(replace(cast, team=team))
    tamper(cast, head)
    list(alerts_evaluate())
    rows = Alert.objects.for_team(cast.other_team.id)
    assert [each.kind for each in rows] == ["runs"]


@TAMPERED
def test_conversations_of_other_teams_are_still_deleted(cast, head):
    other = replace(cast, team=cast.other_team)
    begun(cast, cast.bob)
    begun(other, cast.mallory)
    for each in (cast, other):
        rule(each)
    tamper(cast, head)
    assert expire(later(days=31)) == 1
    assert not Conversation.objects.for_team(cast.other_team.id).exists()
    assert Conversation.objects.for_team(cast.team.id).count() == 1
