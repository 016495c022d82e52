"""The pages of webhooks: who may, the secret once, changes, tests, deliveries."""

from __future__ import annotations

import re

import pytest
from django.utils import timezone

from apps.audit.selectors import entry_list
from apps.webhooks.models import Webhook, WebhookDelivery
from tests.console.conftest import text_of

PAGE = "/webhooks/"
NEW = {
    "name": "Tickets",
    "kind": "events",
    "event_types": ["run.ended", "policy.hit"],
    "url": "https://tickets.example/hooks?token=canary-url",
    "header_name": "Authorization",
    "header_value": "Bearer canary-header",
}


def row_of(team):
    return Webhook.objects.for_team(team.id).get()


def added(browser, **values):
    """Return the page after a webhook was added."""
    return browser.post(f"{PAGE}new/", {**NEW, **values})


def test_g17_secret_is_shown_once_and_the_header_never(alice, cast):
    assert "No webhooks yet" in text_of(alice.get(PAGE))
    page = text_of(added(alice))
    (secret,) = re.findall(r"whsec_[A-Za-z0-9+/]{43}=", page)
    row = row_of(cast.team)
    pages = [alice.get(PAGE), alice.get(f"{PAGE}{row.id}/")]
    pages.append(alice.get(f"{PAGE}{row.id}/edit/"))
    shown = "".join(map(text_of, pages))
    for canary in (secret, "canary-header"):
        assert canary not in shown
    assert "https://tickets.example/hooks?token=canary-url" in shown
    entry = entry_list(cast.team.id)[-1]
    assert entry.action == "webhook.created"
    assert entry.data["after"]["origin"] == "https://tickets.example"
    recorded = str(entry.data)
    for canary in (secret, "canary-header", "canary-url"):
        assert canary not in recorded
    assert secret.encode() not in bytes(row.secret)
    assert b"canary" not in bytes(row.header_value or b"")


def test_a_test_is_sent_when_the_form_is_saved(alice, cast):
    assert "Save and send a test" in text_of(alice.get(f"{PAGE}new/"))
    page = text_of(added(alice, test=""))
    assert "A test is on its way" in page
    assert re.search(r"whsec_", page)
    assert entry_list(cast.team.id)[-1].action == "webhook.tested"
    place = f"{PAGE}{row_of(cast.team).id}/"
    assert "A test is on its way" in text_of(
        alice.post(f"{place}edit/", {**NEW, "test": ""}, follow=True)
    )
    alice.post(f"{place}edit/", {**NEW, "name": "Another"}, follow=True)
    actions = [entry.action for entry in entry_list(cast.team.id)]
    assert actions.count("webhook.tested") == 2


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"url": "http://tickets.example/"}, "begin with https://"),
        ({"url": "https://10.0.0.1/"}, "not in an allowed network"),
        ({"url": "https://169.254.169.254/latest"}, "not in an allowed network"),
        ({"url": "https://me:pass@tickets.example/"}, "user, query and fragment"),
        ({"url": "ftp://tickets.example/"}, "expected an address"),
        ({"url": "https://tickets.example/#x"}, "fragment"),
        ({"event_types": []}, "choose at least one"),
        ({"header_name": "Host"}, "this header cannot be set"),
        ({"header_name": "X Y"}, "this header cannot be set"),
        ({"header_value": ""}, "a name and a value"),
        ({"header_value": "a\x01b"}, "printable"),
        ({"name": "a\x07b"}, "control characters"),
    ],
)
def test_g16_rubbish_and_forbidden_addresses_are_refused(
    alice, cast, values, complaint
):
    answer = added(alice, **values)
    assert answer.status_code == 422
    page = text_of(answer)
    assert complaint.lower() in page.lower()
    assert "canary-header" not in page
    assert not Webhook.objects.across_teams().exists()


def test_name_is_taken_once(alice, cast):
    added(alice)
    assert "taken already" in text_of(added(alice)).lower()


def test_change_keeps_the_header_unless_it_is_replaced(alice, cast):
    added(alice)
    row = row_of(cast.team)
    kept = {**NEW, "header_value": "", "name": "Desk"}
    assert alice.post(f"{PAGE}{row.id}/edit/", kept).status_code == 302
    changed = row_of(cast.team)
    assert changed.name == "Desk"
    assert bytes(changed.header_value or b"") == bytes(row.header_value or b"")
    facts = entry_list(cast.team.id)[-1].data
    assert facts == {"before": {"name": "Tickets"}, "after": {"name": "Desk"}}
    gone = {**kept, "header_name": ""}
    alice.post(f"{PAGE}{row.id}/edit/", gone)
    assert row_of(cast.team).header_value is None
    assert entry_list(cast.team.id)[-1].data["is_header_replaced"] is True


def test_webhook_is_tested_disabled_enabled_and_deleted(alice, cast):
    added(alice)
    place = f"{PAGE}{row_of(cast.team).id}/"
    assert "A test is on its way" in text_of(alice.post(f"{place}test/", follow=True))
    page = text_of(alice.post(f"{place}switch/", {"enable": "no"}, follow=True))
    assert "Disabled</span>" in page
    assert "Send a test" not in page
    assert "enable it first" in text_of(alice.post(f"{place}test/", follow=True))
    alice.post(f"{place}switch/", {"enable": "yes"})
    assert row_of(cast.team).is_enabled
    assert "cannot" not in text_of(alice.get(f"{place}delete/"))
    alice.post(f"{place}delete/")
    assert not Webhook.objects.across_teams().exists()
    actions = [entry.action for entry in entry_list(cast.team.id)]
    assert actions[-5:] == [
        "webhook.created",
        "webhook.tested",
        "webhook.updated",
        "webhook.updated",
        "webhook.deleted",
    ]


def test_secret_is_replaced_after_a_question(alice, cast):
    first = re.findall(r"whsec_[^\"]+", text_of(added(alice)))
    place = f"{PAGE}{row_of(cast.team).id}/secret/"
    assert "whsec_" not in text_of(alice.get(place))
    page = text_of(alice.post(place))
    second = re.findall(r"whsec_[^\"]+", page)
    assert first != second
    assert "The old secret signs as well until" in page


def test_deliveries_are_listed_and_sent_again(alice, cast):
    added(alice)
    row = row_of(cast.team)
    delivery = WebhookDelivery.objects.create(
        webhook=row,
        team=cast.team,
        event_type="policy.hit",
        first_seq=1,
        last_seq=1,
        state="given_up",
        attempts=11,
        next_attempt_at=timezone.now(),
        attempted_at=timezone.now(),
        status=500,
        error="answered 500",
    )
    page = text_of(alice.get(f"{PAGE}{row.id}/"))
    assert "Given up</span>" in page
    assert "Answered 500." in page
    assert "A rule of the policy denied" in page
    place = f"{PAGE}{row.id}/deliveries/{delivery.id}/resend/"
    assert "sent again, with the same id" in text_of(alice.post(place, follow=True))
    delivery.refresh_from_db()
    assert delivery.state == "waiting"
    assert entry_list(cast.team.id)[-1].action == "webhook.resent"


def test_stream_has_no_events_and_no_resend(alice, cast):
    added(alice, kind="ledger")
    row = row_of(cast.team)
    assert row.event_types == []
    assert "Every ledger entry, in order" in text_of(alice.get(f"{PAGE}{row.id}/"))


def test_reason_of_a_disabled_webhook_is_shown(alice, cast):
    added(alice)
    Webhook.objects.across_teams().update(
        is_enabled=False, disabled_reason="it answered 410 Gone"
    )
    page = text_of(alice.get(f"{PAGE}{row_of(cast.team).id}/"))
    assert "Disabled by the site:</strong> it answered 410 Gone" in page


@pytest.mark.parametrize("who", ["bob", "vera"])
def test_others_do_not_manage_webhooks(request, cast, who):
    browser = request.getfixturevalue(who)
    assert browser.get(PAGE).status_code == 403
    assert added(browser).status_code == 403
    assert 'href="/webhooks/"' not in text_of(browser.get("/members/"))


def test_g15_other_team_reaches_no_webhook(alice, mallory, cast):
    added(alice)
    row = row_of(cast.team)
    for action in ("", "edit/", "secret/", "delete/"):
        assert mallory.get(f"{PAGE}{row.id}/{action}").status_code == 404
    for action in ("test/", "switch/", "secret/", "delete/"):
        assert mallory.post(f"{PAGE}{row.id}/{action}").status_code == 404
    assert row_of(cast.team).is_enabled
