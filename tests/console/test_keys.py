"""API keys: the list, making one with a budget, changing, rotating, revoking."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from apps.accounts.models import ApiKey
from apps.accounts.services import api_key_resolve
from apps.budgets.models import Budget
from tests.conftest import make_pool
from tests.console.conftest import text_of
from tests.factories import issue_key

LIST, NEW = "/keys/", "/keys/new/"
KEY = re.compile(r"cdk_[0-9A-Za-z]{20,}")
FORM = {
    "name": "Nightly reports",
    "scopes": ["runs:create", "runs:read"],
    "lifetime_days": "30",
    "once": "mark",
}


def keys(cast):
    return ApiKey.objects.for_team(cast.team.id).exclude(pk=cast.key.row.pk)


def url_of(cast, what=""):
    return f"/keys/{cast.key.row.id}/{what}"


def secret_in(response):
    found = KEY.search(text_of(response))
    assert found
    return found[0]


def test_everybody_in_the_team_sees_the_keys_but_no_secret(vera, cast):
    page = text_of(vera.get(LIST))
    assert "Build server" in page
    assert cast.key.secret not in page
    assert not KEY.search(page)


def test_another_team_sees_none_of_them(mallory, cast):
    assert "Build server" not in text_of(mallory.get(LIST))


def test_list_without_keys_says_what_to_do(mallory):
    page = text_of(mallory.get(LIST))
    assert "No API keys yet" in page
    assert NEW in page


def test_new_key_is_shown_once_and_works(alice, cast, actions):
    response = alice.post(NEW, FORM)
    secret = secret_in(response)
    holder = api_key_resolve(secret, now=timezone.now())
    assert holder.scopes == {"runs:create", "runs:read"}
    assert "no-store" in response["Cache-Control"]
    assert secret not in text_of(alice.get(LIST))
    assert "api_key.issued" in actions()


def test_reload_makes_no_second_key_and_shows_nothing(alice, cast):
    alice.post(NEW, FORM)
    response = alice.post(NEW, FORM, follow=True)
    assert "That key was made already" in text_of(response)
    assert not KEY.search(text_of(response))
    assert keys(cast).count() == 1


def test_samples_hold_the_key_in_curl_alone(alice, cast, settings):
    settings.CONDUCTOR_URL = "https://conductor.example"
    settings.IS_CONDUCTOR_URL_GIVEN = True
    response = alice.post(NEW, FORM)
    page = text_of(response)
    assert f"export CONDUCTOR_API_KEY={secret_in(response)}" in page
    assert "curl https://conductor.example/v1/chat/completions" in page
    assert 'OpenAI(base_url="https://conductor.example/v1"' in page.replace(
        "&quot;", '"'
    )
    assert "process.env.CONDUCTOR_API_KEY" in page


def test_samples_ask_the_port_of_the_browser_while_the_site_has_no_address(alice):
    headers = {"host": "127.0.0.1:8870"}
    page = text_of(alice.post(NEW, FORM, headers=headers))
    assert "curl http://127.0.0.1:8870/v1/chat/completions" in page
    assert 'OpenAI(base_url="http://127.0.0.1:8870/v1"' in page.replace("&quot;", '"')
    assert ":8000" not in page


def test_no_sample_asks_a_host_that_the_site_does_not_allow(alice, cast):
    response = alice.post(NEW, FORM, headers={"host": "elsewhere.example"})
    assert response.status_code == 400
    assert not keys(cast).exists()


def test_key_that_may_not_run_comes_without_samples(alice):
    page = text_of(alice.post(NEW, {**FORM, "scopes": ["runs:read"]}))
    assert "curl" not in page


def test_sample_asks_a_tier_the_key_may_use(alice):
    page = text_of(alice.post(NEW, {**FORM, "allowed_tiers": ["ultra"]}))
    assert "conductor-ultra" in page
    assert "conductor-mini" not in page


def test_sample_asks_a_tier_that_a_pool_has(alice, cast):
    make_pool(cast.team, "http://127.0.0.1:9/v1")
    pool = cast.team.pools.get(is_default=True)
    pool.tiers.filter(name="mini").delete()
    page = text_of(alice.post(NEW, FORM))
    assert "conductor-ultra" in page
    assert "conductor-mini" not in page


def test_key_is_made_with_all_its_limits(alice, cast):
    make_pool(cast.team, "http://127.0.0.1:9/v1")
    limits = {
        "allowed_tiers": ["mini"],
        "allowed_workers": ["sim-birch"],
        "requests_per_minute": "60",
        "tokens_per_minute": "9000",
        "always_include_usage": "on",
        "delivery": "verified",
        "budget_usd": "2.50",
        "budget_period": "month",
    }
    alice.post(NEW, {**FORM, **limits})
    key = keys(cast).get()
    assert (key.allowed_tiers, key.allowed_workers) == (["mini"], ["sim-birch"])
    assert (key.requests_per_minute, key.tokens_per_minute) == (60, 9000)
    assert key.always_include_usage
    assert key.delivery == "verified"
    assert "Answers: verified" in text_of(alice.get(LIST))
    assert timedelta(29) < key.expires_at - timezone.now() <= timedelta(30)
    budget = Budget.objects.for_team(cast.team.id).get()
    assert (budget.api_key_id, budget.period) == (key.id, "month")
    assert budget.limit_micros == 2_500_000


@pytest.mark.parametrize(
    ("fields", "field", "complaint"),
    [
        ({"name": " "}, "name", "Give the key a name."),
        ({"scopes": []}, "scopes", "Choose at least one."),
        ({"scopes": ["root"]}, "scopes", "Select a valid choice."),
        ({"delivery": "later"}, "delivery", "Select a valid choice."),
        ({"lifetime_days": "9999"}, "lifetime_days", "Select a valid choice."),
        ({"requests_per_minute": "0"}, "requests_per_minute", "Write 1 or more"),
        ({"tokens_per_minute": "many"}, "tokens_per_minute", "whole number"),
        ({"budget_usd": "-1"}, "budget_usd", "above zero"),
        ({"budget_usd": "1e99"}, "budget_usd", "too much"),
        ({"budget_usd": "NaN"}, "budget_usd", "Enter a number."),
        ({"allowed_workers": ["theirs"]}, "allowed_workers", "Select a valid choice."),
    ],
)
def test_bad_field_shows_its_error_and_saves_nothing(
    alice, cast, fields, field, complaint
):
    make_pool(cast.team, "http://127.0.0.1:9/v1")
    page = text_of(alice.post(NEW, {**FORM, **fields}))
    assert re.search(rf'id="id_{field}_error"[^>]*>[^<]*{complaint}', page)
    assert not keys(cast).exists()


def test_key_and_budget_are_made_together_or_not_at_all(alice, cast, monkeypatch):
    from apps.core.errors import InvalidFields

    def refuse(**_):
        raise InvalidFields({"limit_usd": ["this is too much"]})

    monkeypatch.setattr("apps.budgets.services.budget_create", refuse)
    page = text_of(alice.post(NEW, {**FORM, "budget_usd": "1"}))
    assert "This is too much." in page
    assert not keys(cast).exists()


@pytest.mark.parametrize("who", ["bob", "vera"])
@pytest.mark.parametrize("what", ["", "rotate/", "revoke/"])
def test_others_change_no_key(request, cast, who, what):
    browser = request.getfixturevalue(who)
    assert browser.get(url_of(cast, what)).status_code == 403
    assert browser.post(url_of(cast, what), FORM).status_code == 403
    cast.key.row.refresh_from_db()
    assert cast.key.row.revoked_at is None


@pytest.mark.parametrize("who", ["bob", "vera"])
def test_others_make_no_key(request, cast, who):
    browser = request.getfixturevalue(who)
    assert browser.post(NEW, FORM).status_code == 403
    assert not keys(cast).exists()


@pytest.mark.parametrize("what", ["", "rotate/", "revoke/"])
def test_another_team_does_not_find_the_key(mallory, cast, what):
    assert mallory.get(url_of(cast, what)).status_code == 404
    assert mallory.post(url_of(cast, what), FORM).status_code == 404


def test_anonymous_signs_in_first(client, cast):
    assert client.get(LIST).status_code == 302
    assert client.post(NEW, FORM).status_code == 302


def test_key_is_changed(alice, cast, actions):
    response = alice.post(
        url_of(cast), {"name": "CI", "scopes": ["runs:read"], "tokens_per_minute": "5"}
    )
    assert response.status_code == 302
    cast.key.row.refresh_from_db()
    assert (cast.key.row.name, cast.key.row.scopes) == ("CI", ["runs:read"])
    assert cast.key.row.tokens_per_minute == 5
    assert "api_key.updated" in actions()


def test_bad_change_saves_nothing(alice, cast):
    page = text_of(alice.post(url_of(cast), {"name": "CI", "scopes": []}))
    assert "Choose at least one." in page
    cast.key.row.refresh_from_db()
    assert cast.key.row.name == "Build server"


def test_worker_that_has_gone_stays_marked_until_taken_off(alice, cast):
    row = issue_key(cast.team, allowed_workers=["retired"]).row
    page = text_of(alice.get(f"/keys/{row.id}/"))
    assert re.search(r'value="retired"[^>]*checked', page)


def test_rotated_key_is_shown_once_and_both_work(alice, cast):
    form = {"overlap_hours": "24", "once": "mark"}
    response = alice.post(url_of(cast, "rotate/"), form)
    new = secret_in(response)
    assert "no-store" in response["Cache-Control"]
    now = timezone.now()
    assert api_key_resolve(new, now=now).display == "Build server"
    assert api_key_resolve(cast.key.secret, now=now)
    again = alice.post(url_of(cast, "rotate/"), form, follow=True)
    assert not KEY.search(text_of(again))
    assert keys(cast).count() == 1


def test_revoked_key_moves_to_those_that_ended(alice, cast):
    assert "Revoke the key “Build server”?" in text_of(
        alice.get(url_of(cast, "revoke/"))
    )
    alice.post(url_of(cast, "revoke/"))
    assert url_of(cast, "rotate/") not in text_of(alice.get(LIST))
    assert "Build server" in text_of(alice.get(f"{LIST}?state=ended"))


def test_pages_hold_every_key_once_with_those_that_work_apart(alice, cast, monkeypatch):
    monkeypatch.setattr("apps.console.views.keys.KEYS_PER_PAGE", 2)
    now = timezone.now()
    ends = {"revoked": {"revoked_at": now}, "expired": {"expires_at": now}, "fine": {}}
    for name, values in ends.items():
        for number in range(3):
            row = issue_key(cast.team, name=f"{name} {number}").row
            ApiKey.objects.for_team(cast.team.id).filter(pk=row.pk).update(
                created_at=now, **values
            )
    shown = {}
    for state, pages in (("", 2), ("ended", 3)):
        found = "".join(
            text_of(alice.get(f"{LIST}?state={state}&page={number + 1}"))
            for number in range(pages)
        )
        shown[state] = sorted(re.findall(r'entity"><strong><bdi>([^<]+)<', found))
        assert found.count('Active <span class="hint">4') == pages
        assert found.count('Ended <span class="hint">6') == pages
    numbers = range(3)
    assert shown[""] == ["Build server", *(f"fine {n}" for n in numbers)]
    assert shown["ended"] == [
        f"{end} {n}" for end in ("expired", "revoked") for n in numbers
    ]


@pytest.mark.parametrize("what", ["", "rotate/"])
def test_ended_key_can_be_neither_changed_nor_rotated(alice, cast, what):
    alice.post(url_of(cast, "revoke/"))
    assert alice.get(url_of(cast, what)).status_code == 409


def test_names_are_inert(alice, cast):
    issue_key(cast.team, name="<script>alert(1)</script>")
    assert "<script>alert(1)" not in text_of(alice.get(LIST))
