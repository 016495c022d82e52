"""Several processes may look at once: an alert opens once, and closes once."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from django.core import mail
from django.db import connections
from django.utils import timezone

from apps.alerts.conditions import observe
from apps.alerts.mails import alert_mails_send
from apps.alerts.models import Alert
from apps.alerts.opening import alert_close, alert_open
from apps.alerts.selectors import access_rule
from apps.alerts.types import AlertKind
from tests.alerts.looking import change, fail, look, open_alerts
from tests.budgets.test_services import recorded
from tests.conftest import Cast

pytestmark = pytest.mark.django_db(transaction=True)
THREADS = 4


def at_once(work: Callable[[], object]) -> list[object]:
    """Do the same in several threads that begin together; return what they return."""
    begin, found = threading.Barrier(THREADS), list[object]()

    def do() -> None:
        try:
            begin.wait()
            found.append(work())
        finally:
            connections.close_all()

    threads = [threading.Thread(target=do) for _ in range(THREADS)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return found


def test_an_alert_that_several_processes_see_opens_once(cast: Cast):
    fail(cast)
    rule, now = access_rule(cast.team.id, AlertKind.RUNS), timezone.now()
    (seen,) = observe(rule, now).values()
    found = at_once(lambda: alert_open(rule, seen, now))
    assert sum(each is not None for each in found) == 1
    assert len(open_alerts(cast)) == len(recorded(cast, "alert.opened")) == 1


def test_an_alert_that_several_processes_see_over_closes_once(cast: Cast):
    fail(cast)
    look(cast)
    (alert,) = open_alerts(cast)
    rule, now = access_rule(cast.team.id, AlertKind.RUNS), timezone.now()
    found = at_once(lambda: alert_close(alert, rule, now))
    assert sum(map(bool, found)) == 1
    assert len(recorded(cast, "alert.closed")) == 1


def test_whole_looks_at_once_leave_one_alert(cast: Cast):
    fail(cast)
    at_once(lambda: look(cast))
    assert Alert.objects.for_team(cast.team.id).count() == 1


def test_a_mail_that_several_processes_find_due_is_sent_once(cast: Cast):
    change(cast, AlertKind.RUNS, channels=["mail"])
    fail(cast)
    look(cast)
    at_once(lambda: list(alert_mails_send()))
    assert len(mail.outbox) == 1
