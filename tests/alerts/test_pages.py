"""Pages of alerts: the list, one alert, the rules, mails to me, the bell, home."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.core import mail
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from apps.accounts.services import member_remove
from apps.alerts.models import Alert
from apps.alerts.selectors import access_rule, mail_choice
from apps.alerts.types import AlertKind
from tests.alerts.looking import change, fail, later, look, open_alerts, runs
from tests.alerts.test_mails import PRINTED, dead
from tests.budgets.test_services import recorded
from tests.conftest import Cast
from tests.console.conftest import text_of
from tests.console.test_home import needs
from tests.factories import ACTOR
from tests.webhooks.examples import make_webhook

ROW = re.compile(r'<strong><a href="/alerts/[^"]*"><bdi>([^<]*)')
BELL = re.compile(r'aria-label="Alerts, ([^"]*)"')


def bell(browser: Client, address: str = "/runs/") -> str | None:
    """Return what the bell in the header says; None: there is no bell."""
    found = BELL.search(text_of(browser.get(address)))
    return found[1] if found else None


def listed(browser: Client, address: str) -> list[str]:
    """Return the titles of the alerts that a list shows."""
    return ROW.findall(text_of(browser.get(address)))


@pytest.fixture
def alert(cast: Cast) -> Alert:
    fail(cast)
    look(cast)
    (found,) = open_alerts(cast)
    return found


# --- bell ----------------------------------------------------------------------------


def test_the_bell_is_clear_while_nothing_is_open(alice):
    page = text_of(alice.get("/runs/"))
    assert "All clear" in page
    assert bell(alice) == "no open alert"


def test_the_bell_of_owners_and_admins_counts_open_alerts(alert, alice, ada, mallory):
    assert bell(alice) == bell(ada) == "1 open alert"
    assert "Runs fail" in text_of(alice.get("/alerts/bell/"))
    assert bell(mallory) == "no open alert"


@pytest.mark.parametrize("who", ["bob", "vera"])
def test_others_have_no_bell_unless_they_are_chosen(request, cast, alert, who):
    browser = request.getfixturevalue(who)
    assert bell(browser) is None
    assert text_of(browser.get("/alerts/bell/")).strip() == ""
    chosen = [str(getattr(cast, who).id)]
    change(cast, AlertKind.RUNS, audience="chosen", member_ids=chosen)
    assert bell(browser) == "1 open alert"


def test_owners_have_the_bell_once_all_chosen_members_have_left(
    cast, alert, alice, ada
):
    change(cast, AlertKind.RUNS, audience="chosen", member_ids=[str(cast.bob.id)])
    assert bell(alice) == "no open alert"
    assert "1 chosen member<" in text_of(alice.get("/alerts/rules/"))
    member_remove(team=cast.team, user=cast.bob, actor=ACTOR)
    assert (bell(alice), bell(ada)) == ("1 open alert", "no open alert")
    for page in ("/alerts/rules/", "/alerts/rules/runs/"):
        assert "hosen members have left" in text_of(alice.get(page))


def test_a_rule_without_the_bell_is_in_the_list_alone(cast, alice):
    change(cast, AlertKind.RUNS, channels=[])
    fail(cast)
    look(cast)
    assert bell(alice) == "no open alert"
    assert "Runs fail" in text_of(alice.get("/alerts/"))


def test_the_bell_is_in_the_header_of_documentation_too(alert, alice):
    assert bell(alice, "/docs/") == "1 open alert"


def test_a_bell_costs_two_queries(cast, alice, recorded_queries):
    fail(cast)
    look(cast)
    alice.get("/alerts/bell/")
    with recorded_queries():  # session, user, teams, membership
        alice.get("/alerts/bell/")


# --- the list ------------------------------------------------------------------------


def test_the_list_shows_open_alerts_and_filters(cast, alert, alice):
    page = text_of(alice.get("/alerts/"))
    assert "10 of 10 runs failed in 15 minutes." in page
    assert "/runs/?state=failed&amp;period=" in page
    assert listed(alice, "/alerts/?kind=worker") == []
    assert listed(alice, "/alerts/?state=closed") == []
    look(cast, later(hours=1))
    assert "All clear" in text_of(alice.get("/alerts/"))
    assert listed(alice, "/alerts/?state=closed") == ["Runs fail"]
    assert listed(alice, "/alerts/?state=all") == ["Runs fail"]
    closed = text_of(alice.get(f"/alerts/{alert.id}/"))
    assert "/runs/?state=failed&amp;period=" in closed


@pytest.mark.release
def test_an_alert_is_told_in_the_language_of_its_reader(cast, alert, alice):
    change(cast, AlertKind.RUNS, channels=["bell", "mail"])
    for address in ("/alerts/", f"/alerts/{alert.id}/", "/alerts/bell/"):
        page = text_of(alice.get(address, headers={"accept-language": "de"}))
        assert "10 Läufe in 15 Minuten, davon 10 fehlgeschlagen" in page
        assert "Kritisch" in page
    rules = text_of(alice.get("/alerts/rules/", headers={"accept-language": "de"}))
    assert "Wenn 80 % eines Tages- oder Monatsbudgets ausgegeben sind." in rules
    assert "10 of 10 runs failed" in text_of(alice.get("/alerts/"))
    told = alice.get("/api/v1/alerts/", headers={"accept-language": "de"}).json()
    assert told["data"][0]["detail"] == "10 of 10 runs failed in 15 minutes"


def test_filters_that_make_no_sense_are_left_out(alert, alice):
    assert listed(alice, "/alerts/?state=lost&kind=planet&page=x") == ["Runs fail"]


def test_a_viewer_reads_alerts_and_changes_nothing(alert, vera):
    page = text_of(vera.get(f"/alerts/{alert.id}/"))
    assert "Runs fail" in page
    assert "/acknowledge/" not in page
    assert vera.post(f"/alerts/{alert.id}/acknowledge/").status_code == 403
    assert vera.get("/alerts/rules/runs/").status_code == 403


def test_another_team_gets_404(alert, mallory):
    assert mallory.get(f"/alerts/{alert.id}/").status_code == 404
    assert mallory.post(f"/alerts/{alert.id}/acknowledge/").status_code == 404
    assert mallory.post(f"/alerts/{alert.id}/mute/").status_code == 404
    assert listed(mallory, "/alerts/?state=all") == []


def test_rows_cost_no_queries_of_their_own(cast, alice):
    def queries() -> int:
        with CaptureQueriesContext(connection) as found:
            alice.get("/alerts/?state=all")
        return len(found)

    fail(cast)
    look(cast)
    before = queries()
    for number in range(10):
        Alert.objects.create(
            team=cast.team,
            kind="budget",
            subject=str(number),
            name="Daily budget",
            severity="warning",
            figures={"percent": 90},
            opened_at=later(),
        )
    assert queries() == before


# --- what people do ------------------------------------------------------------------


def test_an_acknowledged_alert_leaves_the_bell_and_stays_open(cast, alert, alice):
    alice.post(f"/alerts/{alert.id}/acknowledge/")
    assert bell(alice) == "no open alert"
    page = text_of(alice.get("/alerts/"))
    assert "acknowledged by <bdi>Alice</bdi>" in page
    alice.post(f"/alerts/{alert.id}/acknowledge/")
    assert len(recorded(cast, "alert.acknowledged")) == 1


def test_a_muted_alert_leaves_the_bell_for_a_while(cast, alert, alice):
    alice.post(f"/alerts/{alert.id}/mute/", {"minutes": "60"})
    assert bell(alice) == "no open alert"
    Alert.objects.for_team(cast.team.id).update(muted_until=later(minutes=-1))
    assert bell(alice) == "1 open alert"
    alice.post(f"/alerts/{alert.id}/mute/", {"minutes": "60"})
    alice.post(f"/alerts/{alert.id}/mute/", {"minutes": "0"})
    assert bell(alice) == "1 open alert"
    assert [each["minutes"] for each in recorded(cast, "alert.muted")] == [60, 60, 0]


@pytest.mark.parametrize("minutes", ["", "-5", "x", "99999", "1.5", "٣"])
def test_a_mute_of_no_sense_is_refused(cast, alert, alice, minutes):
    answer = alice.post(f"/alerts/{alert.id}/mute/", {"minutes": minutes}, follow=True)
    assert 'data-level="error"' in text_of(answer)
    alert.refresh_from_db()
    assert alert.muted_until is None


def test_a_closed_alert_cannot_be_acknowledged_any_more(cast, alert, alice):
    look(cast, later(hours=1))
    answer = alice.post(f"/alerts/{alert.id}/acknowledge/", follow=True)
    assert "This alert is closed already" in text_of(answer)


# --- rules ---------------------------------------------------------------------------


def form(**changes: Any) -> dict[str, Any]:
    values = {
        "is_enabled": "on",
        "threshold": "20",
        "window_minutes": "15",
        "least": "10",
        "channels": ["bell"],
        "audience": "admins",
    }
    return {**values, **changes}


def test_an_admin_changes_a_rule_on_record(cast, ada):
    ada.post("/alerts/rules/runs/", form(threshold="35", channels=["bell", "mail"]))
    rule = access_rule(cast.team.id, "runs")
    assert (rule.threshold, rule.channels) == (35, ["bell", "mail"])
    (facts,) = recorded(cast, "alert_rule.updated")
    assert facts["before"] == {"threshold": 20, "channels": ["bell"]}
    assert "35 % of at least 10 runs failed" in text_of(ada.get("/alerts/rules/"))


def test_saving_a_rule_unchanged_records_nothing(cast, alice):
    assert alice.post("/alerts/rules/runs/", form()).status_code == 302
    assert recorded(cast, "alert_rule.updated") == []


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"threshold": "101"}, "Must be 100 or less."),
        ({"threshold": ""}, "This field is required."),
        ({"window_minutes": "1"}, "greater than or equal to 5"),
        ({"audience": "chosen"}, "Choose at least one member."),
        ({"channels": ["pigeon"]}, "Select a valid choice"),
    ],
)
def test_a_rule_of_no_sense_is_refused_and_nothing_is_saved(
    cast, alice, changes, fault
):
    answer = alice.post("/alerts/rules/runs/", form(**changes))
    assert answer.status_code == 422
    assert fault in text_of(answer)
    assert recorded(cast, "alert_rule.updated") == []


def test_a_rule_that_does_not_exist_is_not_found(alice):
    assert alice.get("/alerts/rules/planet/").status_code == 404


def test_every_rule_has_its_page(alice):
    for kind in AlertKind.values:
        assert alice.get(f"/alerts/rules/{kind}/").status_code == 200


def test_a_person_chooses_their_mails(cast, bob):
    assert bob.get("/alerts/mails/").status_code == 200
    bob.post("/alerts/mails/", {"kinds": ["budget", "ledger"]})
    off = mail_choice(cast.team.id, cast.bob.id)
    assert set(off) == set(AlertKind.values) - {"budget", "ledger"}
    assert mail_choice(cast.team.id, cast.alice.id) == []


# --- tests of channels ---------------------------------------------------------------


def said_of_test(browser: Client, channel: str) -> str:
    return text_of(browser.post("/alerts/test/", {"channel": channel}, follow=True))


def test_a_test_of_the_bell_is_in_ones_own_bell_for_a_while(cast, alice, ada):
    assert "A test alert is in your bell." in said_of_test(alice, "bell")
    said_of_test(alice, "bell")
    assert (bell(alice), bell(ada)) == ("1 open alert", "no open alert")
    look(cast, later(minutes=11))
    assert bell(alice) == "no open alert"


def test_a_test_of_the_bell_comes_back_after_it_was_acknowledged(cast, alice):
    said_of_test(alice, "bell")
    (alert,) = open_alerts(cast)
    alice.post(f"/alerts/{alert.id}/acknowledge/")
    assert bell(alice) == "no open alert"
    said_of_test(alice, "bell")
    assert bell(alice) == "1 open alert"


def test_a_test_of_the_bell_of_somebody_without_one_says_so(cast, ada):
    for kind in AlertKind:
        change(cast, kind, audience="owners")
    assert "No rule names you for the bell" in said_of_test(ada, "bell")
    assert open_alerts(cast) == []


def test_a_test_of_mail_says_what_the_server_did(cast, alice, settings):
    assert "has taken a test email to alice@example.org" in said_of_test(alice, "mail")
    assert mail.outbox[0].to == ["alice@example.org"]
    dead(settings)
    assert "no mail server here" in said_of_test(alice, "mail")
    settings.EMAIL_BACKEND = PRINTED
    assert "This site sends no email" in said_of_test(alice, "mail")
    assert [each["channel"] for each in recorded(cast, "alert.tested")] == ["mail"]


def test_a_test_of_webhooks_goes_to_those_that_are_subscribed(cast, alice):
    hook = make_webhook(cast.team)
    assert "No enabled webhook is subscribed" in said_of_test(alice, "webhook")
    place = f"/webhooks/{hook['webhook_id']}/edit/"
    url = "https://receiver.example/hooks"
    values = {"name": "Chat", "url": url, "event_types": ["alert.opened"]}
    alice.post(place, values)
    assert "A test is on its way to Chat" in said_of_test(alice, "webhook")
    assert recorded(cast, "webhook.tested") == [{"name": "Chat"}]


def test_a_test_of_an_unknown_channel_is_refused(alice):
    assert "Choose bell, email or webhook." in said_of_test(alice, "pigeon")


# --- home ----------------------------------------------------------------------------


def test_home_shows_the_number_of_the_bell_and_says_nothing_twice(cast, alice):
    runs(cast, 5, planner="fallback")
    unplanned = "runs answered without a plan in the last 7 days"
    assert unplanned in needs(alice)
    look(cast)
    found = needs(alice)
    assert found["open alert"] == (1, "/alerts/?state=waiting")
    assert unplanned not in found
    assert len(listed(alice, "/alerts/?state=waiting")) == 1
    (alert,) = open_alerts(cast)
    alice.post(f"/alerts/{alert.id}/acknowledge/")
    assert "open alert" not in needs(alice)
