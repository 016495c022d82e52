"""The operator's pages: who gets in, what they show, and what they never show."""

from __future__ import annotations

from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import TOTP
from django.contrib import admin
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from apps.accounts.models import ApiKey, Role
from apps.accounts.services import invitation_create
from apps.budgets.models import Budget
from apps.core.ids import new_id
from apps.governance.services import hold_place, retention_set
from apps.pools.models import Pool, Worker
from apps.runs.models import Run
from tests.factories import (
    ACTOR,
    PoolFactory,
    TeamFactory,
    UserFactory,
    issue_key,
)

pytestmark = pytest.mark.django_db

LISTS = [
    "accounts_user",
    "accounts_team",
    "accounts_membership",
    "accounts_invitation",
    "accounts_apikey",
    "pools_pool",
    "pools_worker",
    "budgets_budget",
    "governance_legalhold",
    "governance_retention",
    "runs_run",
]
READ_ONLY = LISTS[1:]
OWN_PAGES = [
    "site_operations",
    "site_suspensions",
    "site_policy",
    "site_settings",
    "site_ledger",
    "admin:index",
]


@pytest.fixture
def operator(client: Client) -> Client:
    client.force_login(UserFactory.create(is_staff=True, is_superuser=True))
    return client


@pytest.fixture
def rows() -> dict[str, Any]:
    """One row of each kind, by the name of its list."""
    team = TeamFactory.create(name="Orchestra")
    pool = PoolFactory.create(team=team)
    issued = issue_key(team)
    invitation, token = invitation_create(
        team=team, email="new@example.org", role=Role.MEMBER, actor=ACTOR
    )
    run = Run.objects.create(
        id=new_id(),
        team=team,
        state="completed",
        source="api",
        model="conductor-ultra",
        pool_name=pool.name,
        pool_version=1,
        title="a canary of a prompt",
        actor_type="service",
        actor_id="tests",
        actor_name="tests",
        created_at=timezone.now(),
    )
    budget = Budget.objects.create(
        team=team, kind="team", period="day", limit_micros=5_000_000
    )
    return {
        "accounts_team": team,
        "accounts_invitation": invitation,
        "accounts_apikey": issued.row,
        "pools_pool": pool,
        "pools_worker": pool.fallback,
        "budgets_budget": budget,
        "governance_legalhold": hold_place(
            team=team, run_id=None, reason="Matter 7", actor=ACTOR
        ),
        "governance_retention": retention_set(team=team, days=365, actor=ACTOR),
        "runs_run": run,
        "token": token,
        "secret": issued.secret,
    }


@pytest.mark.parametrize("name", LISTS)
def test_list_opens(operator: Client, rows: dict[str, Any], name: str):
    page = operator.get(reverse(f"admin:{name}_changelist"), {"q": "a"})
    assert page.status_code == 200


@pytest.mark.parametrize("name", [name for name in READ_ONLY if "member" not in name])
def test_row_opens_and_stays_as_it_is(
    operator: Client, rows: dict[str, Any], name: str
):
    row = rows[name]
    address = reverse(f"admin:{name}_change", args=[row.pk])
    page = operator.get(address)
    assert page.status_code == 200
    assert 'name="_save"' not in page.content.decode()
    assert operator.post(address, {"name": "changed"}).status_code == 403


@pytest.mark.parametrize("name", READ_ONLY)
def test_nothing_is_added(operator: Client, name: str):
    assert operator.get(reverse(f"admin:{name}_add")).status_code == 403


@pytest.mark.parametrize("name", LISTS)
def test_nothing_is_deleted(operator: Client, rows: dict[str, Any], name: str):
    row = rows.get(name) or UserFactory.create()
    address = reverse(f"admin:{name}_delete", args=[row.pk])
    assert operator.post(address, {"post": "yes"}).status_code in {302, 403}
    chosen = {"action": "delete_selected", "_selected_action": [str(row.pk)]}
    operator.post(reverse(f"admin:{name}_changelist"), {**chosen, "post": "yes"})
    row.refresh_from_db()


def test_digests_prompts_and_secrets_are_on_no_page(
    operator: Client, rows: dict[str, Any]
):
    key: ApiKey = rows["accounts_apikey"]
    kept = [key.digest, rows["accounts_invitation"].digest, rows["token"]]
    kept += [rows["secret"], "a canary of a prompt"]
    for name, row in rows.items():
        if name in {"token", "secret"}:
            continue
        for address in (
            reverse(f"admin:{name}_changelist"),
            reverse(f"admin:{name}_change", args=[row.pk]),
        ):
            page = operator.get(address).content.decode()
            assert not [secret for secret in kept if secret in page], address


def test_models_with_secrets_are_not_in_the_admin():
    shown = {model.__name__ for model in admin.site._registry}
    assert shown == {
        *("User", "Team", "Membership", "Invitation", "ApiKey"),
        *(Pool.__name__, Worker.__name__, "Budget", "Run"),
        *("LegalHold", "Retention"),
    }


def test_ledger_is_read_entry_by_entry(operator: Client, rows: dict[str, Any]):
    team = rows["accounts_team"]
    overview = operator.get(reverse("site_ledger")).content.decode()
    assert "Orchestra" in overview
    page = operator.get(reverse("site_ledger_team", args=[team.id]))
    assert "invitation.created" in page.content.decode()
    assert "new@example.org" not in page.content.decode()


def test_ledger_is_shown_in_pages(
    operator: Client, rows: dict[str, Any], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("apps.web.site.ledger.PAGE", 2)
    address = reverse("site_ledger_team", args=[rows["accounts_team"].id])
    newest = operator.get(address).context
    older = operator.get(address, {"before": newest["older"]}).context
    assert [e["seq"] for e in (*newest["entries"], *older["entries"])] == [4, 3, 2, 1]
    assert older["older"] is None
    assert operator.get(address, {"before": "x" * 50}).status_code == 200
    assert operator.get(address, {"before": "9" * 50}).status_code == 200


def test_ledger_takes_no_changes(operator: Client, rows: dict[str, Any]):
    address = reverse("site_ledger_team", args=[rows["accounts_team"].id])
    assert operator.post(address).status_code == 405
    unknown = reverse("site_ledger_team", args=[new_id()])
    assert operator.get(unknown).status_code == 404


def test_settings_are_shown_without_secrets(operator: Client, settings: Any):
    settings.OIDC_CLIENT_SECRET = settings.EMAIL_HOST_PASSWORD = "canary-secret"
    settings.REDIS_URL = "redis://user:canary-secret@cache.example:6379/0"
    settings.PRICE_LIST_URL = "https://prices.example/list?token=canary-secret"
    page = operator.get(reverse("site_settings")).content.decode()
    assert "SIGN_UP" in page
    assert "cache.example" in page
    assert "canary-secret" not in page
    assert settings.SECRET_KEY not in page
    assert settings.ENCRYPTION_KEYS[0].partition(":")[2] not in page


@pytest.mark.parametrize(
    "name", [*OWN_PAGES, *(f"admin:{name}_changelist" for name in LISTS)]
)
def test_people_who_are_no_operators_stay_out(client: Client, name: str):
    client.force_login(UserFactory.create())
    response = client.get(reverse(name), follow=True)
    assert response.status_code == 403


@pytest.mark.parametrize("name", [*OWN_PAGES, "admin:login"])
def test_visitor_signs_in_where_second_factors_are_asked_for(client: Client, name: str):
    response = client.get(reverse(name), follow=True)
    assert response.redirect_chain[-1][0].startswith(reverse("account_login"))


def test_admins_own_sign_in_takes_no_password(client: Client):
    boss = UserFactory.create(is_staff=True, is_superuser=True)
    values = {"username": boss.email, "password": "correct horse battery staple"}
    client.post(reverse("admin:login"), values)
    assert "_auth_user_id" not in client.session


def test_policy_is_relaxed_for_the_record_lists_alone(operator: Client):
    lists = operator.get(reverse("admin:accounts_user_changelist"))
    inside = lists.headers["Content-Security-Policy"]
    assert "script-src 'self' 'unsafe-eval'" in inside
    for name in ("account", *OWN_PAGES):
        outside = operator.get(reverse(name)).headers["Content-Security-Policy"]
        assert "'unsafe" not in outside, name
    assert "script-src 'self' 'unsafe-inline'" not in inside


def test_operator_removes_a_lost_second_factor(operator: Client):
    person = UserFactory.create()
    TOTP.activate(person, "A" * 32)
    chosen = {"action": "remove_second_factors", "_selected_action": [str(person.pk)]}
    operator.post(reverse("admin:accounts_user_changelist"), chosen)
    assert not Authenticator.objects.exists()


def test_overview_names_every_list_in_plain_words(operator: Client):
    page = operator.get(reverse("admin:index")).content.decode()
    for name in LISTS:
        assert reverse(f"admin:{name}_changelist") in page, name
    assert "API keys" in page
    assert "Api keys" not in page


@pytest.mark.parametrize("name", ["site_overview", "admin:accounts_user_changelist"])
def test_operators_pages_stand_in_the_frame_of_all_pages(operator: Client, name: str):
    page = operator.get(reverse(name)).content.decode()
    assert 'id="rail"' in page
    assert 'id="place-tabs"' in page
    assert page.count("<h1>") == 1


def test_lists_of_an_app_lead_to_the_overview(operator: Client):
    response = operator.get(reverse("admin:app_list", args=["accounts"]))
    assert response["Location"] == reverse("admin:index")


def test_overview_of_staff_shows_what_they_may_see(client: Client):
    client.force_login(UserFactory.create(is_staff=True))
    page = client.get(reverse("admin:index")).content.decode()
    assert reverse("site_settings") in page
    assert reverse("admin:accounts_user_changelist") not in page
    assert "attention" not in page
