"""Mails about alerts: to whom, what they say, how often, and what if none is taken."""

from __future__ import annotations

from typing import Any

import pytest
from django.core import mail
from django.core.mail.backends.locmem import EmailBackend

from apps.accounts.services import member_remove
from apps.alerts.mails import (
    MAILS_AN_HOUR,
    RETRIES,
    alert_mails_send,
    mail_test_send,
)
from apps.alerts.models import Alert, AlertMail, AlertMailState
from apps.alerts.services import alert_acknowledge, alert_mute, mail_choice_set
from apps.alerts.types import AlertKind
from tests.alerts.looking import change, fail, later, look, open_alerts
from tests.budgets.test_crossings import budget_of, spend
from tests.budgets.test_services import recorded
from tests.conftest import Cast
from tests.factories import ACTOR
from tests.runs.test_budgets import put as put_budget

PRINTED = "django.core.mail.backends.console.EmailBackend"


def send(**span: float) -> None:
    list(alert_mails_send(later(**span)))


def recipients() -> list[str]:
    return sorted(address for each in mail.outbox for address in each.to)


def html_of(sent: Any) -> str:
    """Return the other form of a mail."""
    ((html, kind),) = sent.alternatives
    assert kind == "text/html"
    return str(html)


@pytest.fixture
def mailed(cast: Cast) -> Cast:
    """Let the rule of runs send mails."""
    change(cast, AlertKind.RUNS, channels=["bell", "mail"])
    return cast


class DeadBackend(EmailBackend):
    """A mail server that takes nothing."""

    def send_messages(self, messages: Any) -> int:
        raise ConnectionRefusedError("no mail server here")


def dead(settings: Any) -> None:
    settings.EMAIL_BACKEND = f"{__name__}.{DeadBackend.__name__}"


def test_no_rule_sends_mails_by_default(cast):
    fail(cast)
    look(cast)
    send()
    assert mail.outbox == []


def test_a_mail_says_what_happens_and_where_to_act(mailed, settings):
    fail(mailed)
    look(mailed)
    send()
    (sent,) = mail.outbox
    assert sent.subject == "[Orchestra] Critical: Runs fail"
    assert sent.to == ["alice@example.org"]
    (alert,) = open_alerts(mailed)
    for text in (sent.body, html_of(sent)):
        assert "10 of 10 runs failed in 15 minutes" in text
        assert f"{settings.CONDUCTOR_URL}/alerts/{alert.id}/" in text
        assert "/runs/?state=failed" in text


def test_a_mail_holds_no_text_of_a_run(mailed):
    fail(mailed)  # their prompt is "Why?"
    look(mailed)
    send()
    assert "Why?" not in mail.outbox[0].body


def test_names_are_escaped_in_html_and_break_no_subject(cast):
    cast.bob.name = "<b>Bob</b>\r\nBcc: x@example.org"
    cast.bob.save()
    change(cast, AlertKind.BUDGET, channels=["mail"])
    budget = put_budget(cast, "0.000100", kind="member", user_id=str(cast.bob.id))
    spend(budget, 90, later())
    look(cast)
    send()
    (sent,) = mail.outbox
    assert "\n" not in sent.subject
    assert "<b>" not in html_of(sent)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"audience": "owners"}, ["alice"]),
        ({"audience": "admins"}, ["ada", "alice"]),
        ({"audience": "chosen"}, ["vera"]),
    ],
)
def test_a_rule_is_for_its_audience(mailed, ada, values, expected):
    if values["audience"] == "chosen":
        values = {**values, "member_ids": [str(mailed.vera.id)]}
    change(mailed, AlertKind.RUNS, **values)
    fail(mailed)
    look(mailed)
    send()
    assert recipients() == [f"{name}@example.org" for name in expected]


def test_a_person_can_do_without_mails_of_a_kind(mailed):
    off = {"kinds_off": ["runs"]}
    mail_choice_set(team=mailed.team, user=mailed.alice, values=off)
    fail(mailed)
    look(mailed)
    send()
    assert mail.outbox == []


def test_the_end_is_mailed_if_the_rule_says_so(mailed):
    change(mailed, AlertKind.RUNS, mails_when_closed=True)
    fail(mailed)
    look(mailed)
    look(mailed, later(hours=1))
    send()
    subjects = [each.subject for each in mail.outbox]
    assert subjects == [
        "[Orchestra] Critical: Runs fail",
        "[Orchestra] Over: Runs fail",
    ]


def test_a_muted_alert_that_opens_again_sends_nothing(mailed):
    fail(mailed)
    look(mailed)
    send()
    (alert,) = open_alerts(mailed)
    alert_mute(alert=alert, values={"minutes": 600}, actor=ACTOR)
    look(mailed, later(hours=1))
    send()
    assert len(mail.outbox) == 1
    look(mailed)  # the failed runs are within the window again
    send()
    (again,) = open_alerts(mailed)
    assert (len(mail.outbox), again.muted_until is None) == (1, False)


def news(cast: Cast, count: int) -> None:
    """Let so many alerts wait for a mail to Alice."""
    for _ in range(count):
        alert = Alert.objects.create(
            team=cast.team,
            kind="ledger",
            severity="warning",
            figures={"count": 1},
            opened_at=later(),
            closed_at=later(),
        )
        AlertMail.objects.create(
            team=cast.team,
            alert=alert,
            user=cast.alice,
            state="waiting",
            next_attempt_at=later(minutes=-1),
            created_at=later(),
        )


def test_many_at_once_come_in_one_mail(cast):
    news(cast, 30)
    send()
    (sent,) = mail.outbox
    assert sent.subject == "[Orchestra] 30 alerts"
    assert sent.body.count("/alerts/0") == 30


def test_beyond_the_limit_of_an_hour_mails_wait_and_come_together(cast):
    for _ in range(MAILS_AN_HOUR):
        news(cast, 1)
        send()
    news(cast, 3)
    send()
    assert len(mail.outbox) == MAILS_AN_HOUR
    send(minutes=61)
    assert len(mail.outbox) > MAILS_AN_HOUR
    assert not AlertMail.objects.for_team(cast.team.id).filter(state="waiting").exists()


def test_a_mail_that_is_not_taken_is_tried_again(mailed, settings):
    fail(mailed)
    look(mailed)
    works = settings.EMAIL_BACKEND
    dead(settings)
    send()
    settings.EMAIL_BACKEND = works
    send()
    assert mail.outbox == []
    send(minutes=2)
    assert len(mail.outbox) == 1


def test_a_mail_that_is_never_taken_is_said_on_the_page(mailed, settings, alice):
    fail(mailed)
    look(mailed)
    dead(settings)
    for number in range(len(RETRIES) + 1):
        send(hours=12 * (number + 1))
    row = AlertMail.objects.for_team(mailed.team.id).get()
    assert row.state == AlertMailState.FAILED
    assert b"1 email about alerts could not be sent" in alice.get("/alerts/").content


def test_a_former_member_gets_no_mail(mailed):
    chosen = [str(mailed.bob.id), str(mailed.vera.id)]
    change(mailed, AlertKind.RUNS, audience="chosen", member_ids=chosen)
    fail(mailed)
    look(mailed)
    member_remove(team=mailed.team, user=mailed.bob, actor=ACTOR)
    send()
    assert recipients() == ["vera@example.org"]


def test_a_mail_that_waits_is_not_sent_when_its_alert_is_muted(mailed):
    fail(mailed)
    look(mailed)
    (alert,) = open_alerts(mailed)
    alert_mute(alert=alert, values={"minutes": 60}, actor=ACTOR)
    send()
    send(hours=2)
    assert mail.outbox == []


def test_a_mail_that_waits_is_not_sent_to_an_account_that_is_off(mailed):
    fail(mailed)
    look(mailed)
    mailed.alice.is_active = False
    mailed.alice.save()
    send()
    assert mail.outbox == []


def test_a_mail_that_waits_is_not_sent_to_who_chose_otherwise_meanwhile(mailed):
    fail(mailed)
    look(mailed)
    off = {"kinds_off": ["runs"]}
    mail_choice_set(team=mailed.team, user=mailed.alice, values=off)
    send()
    assert mail.outbox == []


def test_an_unmuted_alert_that_opens_again_is_mailed(mailed):
    fail(mailed)
    look(mailed)
    send()
    (alert,) = open_alerts(mailed)
    alert_mute(alert=alert, values={"minutes": 600}, actor=ACTOR)
    look(mailed, later(hours=1))
    look(mailed)
    (again,) = open_alerts(mailed)
    alert_mute(alert=again, values={"minutes": 0}, actor=ACTOR)
    look(mailed, later(hours=1))
    look(mailed)
    send()
    (third,) = open_alerts(mailed)
    assert third.muted_until is None
    assert len(mail.outbox) == 2


def test_a_rule_that_is_switched_off_says_so_and_mails_nothing(mailed):
    change(mailed, AlertKind.RUNS, mails_when_closed=True)
    fail(mailed)
    look(mailed)
    change(mailed, AlertKind.RUNS, is_enabled=False)
    look(mailed)
    send()
    assert [each.subject for each in mail.outbox] == ["[Orchestra] Critical: Runs fail"]
    (facts,) = recorded(mailed, "alert.closed")
    assert facts["reason"] == "the rule was switched off"


class OddBackend(EmailBackend):
    """A mail server whose driver fails in its own way."""

    def send_messages(self, messages: Any) -> int:
        raise ValueError("no address is right")


def test_a_mail_that_fails_in_any_way_counts_as_failed(mailed, settings):
    fail(mailed)
    look(mailed)
    settings.EMAIL_BACKEND = f"{__name__}.{OddBackend.__name__}"
    for number in range(len(RETRIES) + 1):
        send(hours=12 * (number + 1))
    row = AlertMail.objects.for_team(mailed.team.id).get()
    assert row.state == AlertMailState.FAILED
    fault = mail_test_send(mailed.team, mailed.alice)
    assert fault == "ValueError: no address is right"


def test_where_no_mail_is_sent_the_page_says_so_and_nothing_waits(
    mailed, settings, alice
):
    settings.EMAIL_BACKEND = PRINTED
    fail(mailed)
    look(mailed)
    assert not AlertMail.objects.for_team(mailed.team.id).exists()
    assert b"this site sends no email" in alice.get("/alerts/rules/").content


# --- a warning that becomes critical -------------------------------------------------


def rising(cast: Cast) -> Any:
    """Let a budget be nearly spent, with mails about it; return what spends it."""
    change(cast, AlertKind.BUDGET, channels=["bell", "mail"])
    budget = budget_of(cast.team, "month")

    def spent(micros: int) -> None:
        spend(budget, micros, later())
        look(cast)
        send()

    spent(85)
    return spent


def subjects() -> list[str]:
    return [each.subject.removeprefix("[Orchestra] ") for each in mail.outbox]


def test_a_warning_that_becomes_critical_is_mailed_again_once(cast):
    spent = rising(cast)
    for micros in (90, 120, 95, 130):
        spent(micros)
    warning, critical = subjects()
    assert warning.startswith("Warning: ") and critical.startswith("Critical: ")
    assert "It was a warning before." in mail.outbox[1].body
    assert "It was a warning before." in html_of(mail.outbox[1])
    (facts,) = recorded(cast, "alert.escalated")
    assert (facts["severity"], facts["figures"]) == ("critical", {"percent": 120})


def test_an_alert_that_opened_as_critical_is_not_mailed_again(cast):
    change(cast, AlertKind.BUDGET, channels=["mail"])
    budget = budget_of(cast.team, "month")
    for micros in (120, 90, 120):
        spend(budget, micros, later())
        look(cast)
    send()
    assert len(mail.outbox) == 1
    assert recorded(cast, "alert.escalated") == []


def test_a_mail_that_still_waits_says_that_it_is_critical_and_none_follows(cast):
    change(cast, AlertKind.BUDGET, channels=["mail"])
    budget = budget_of(cast.team, "month")
    for micros in (85, 120):
        spend(budget, micros, later())
        look(cast)
    send()
    (subject,) = subjects()
    assert subject.startswith("Critical: ")


def test_an_acknowledged_warning_that_becomes_critical_is_in_the_bell_again(cast):
    spent = rising(cast)
    (alert,) = open_alerts(cast)
    alert_acknowledge(alert=alert, actor=ACTOR)
    spent(120)
    (alert,) = open_alerts(cast)
    assert alert.acknowledged_at is None
    alert_acknowledge(alert=alert, actor=ACTOR)
    spent(90)
    spent(130)
    (alert,) = open_alerts(cast)
    assert alert.acknowledged_at is not None


def test_a_muted_warning_that_becomes_critical_sends_nothing(cast):
    spent = rising(cast)
    (alert,) = open_alerts(cast)
    alert_mute(alert=alert, values={"minutes": 60}, actor=ACTOR)
    spent(120)
    assert len(mail.outbox) == 1


# --- chosen members who have left ----------------------------------------------------


def test_owners_get_the_mails_once_all_chosen_members_have_left(mailed, ada):
    chosen = [str(mailed.bob.id), str(mailed.vera.id)]
    change(mailed, AlertKind.RUNS, audience="chosen", member_ids=chosen)
    member_remove(team=mailed.team, user=mailed.bob, actor=ACTOR)
    fail(mailed)
    look(mailed)
    send()
    assert recipients() == ["vera@example.org"]
    member_remove(team=mailed.team, user=mailed.vera, actor=ACTOR)
    look(mailed, later(hours=1))
    look(mailed)
    send()
    assert recipients() == ["alice@example.org", "vera@example.org"]
