"""API keys are issued, changed, rotated and revoked; no secret stays behind."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.models import TIERS, ApiKey, Scope
from apps.accounts.services import (
    api_key_issue,
    api_key_peek,
    api_key_resolve,
    api_key_revoke,
    api_key_rotate,
    api_key_update,
    key_authentication,
)
from apps.core.errors import (
    Conflict,
    InvalidFields,
    NotAllowed,
    NotAuthenticated,
    NotFound,
)
from apps.core.ttl_cache import CACHE_SECONDS, TtlCache
from apps.pools.models import TierName
from tests.accounts.ledger import actions, data, recorded
from tests.factories import ACTOR, IssuedKey, TeamFactory, UserFactory, issue_key

pytestmark = pytest.mark.django_db

LIMITS: dict[str, Any] = {
    "allowed_tiers": ["mini"],
    "allowed_workers": ["alpha", "beta"],
    "requests_per_minute": 60,
    "tokens_per_minute": 9000,
}


def resolve(key: IssuedKey):
    return api_key_resolve(key.secret, now=timezone.now())


def expire(key: IssuedKey) -> None:
    rows = ApiKey.objects.for_team(key.row.team_id).filter(pk=key.row.pk)
    rows.update(expires_at=timezone.now() - timedelta(seconds=1))


def test_key_lives_ninety_days():
    key = issue_key().row
    assert (key.expires_at - key.created_at).days in (89, 90)


def test_key_is_stored_and_resolved_with_its_limits():
    key = issue_key(**{**LIMITS, "allowed_workers": ["beta", "alpha", "beta"]})
    holder = resolve(key)
    assert holder.allowed_tiers == {"mini"}
    assert holder.allowed_workers == {"alpha", "beta"}
    assert (holder.requests_per_minute, holder.tokens_per_minute) == (60, 9000)
    assert holder.team_requests_per_minute is None
    assert data(key.row.team, "api_key.issued") == {
        **LIMITS,
        "name": key.row.name,
        "prefix": key.row.prefix,
        "scopes": ["runs:create", "runs:read", "workers:direct"],
        "always_include_usage": False,
        "delivery": "",
        "progress": "",
        "data_class": "",
        "expires_at": key.row.expires_at.isoformat(timespec="seconds"),
    }


def test_key_without_limits_may_use_everything():
    holder = resolve(issue_key())
    assert holder.allowed_tiers == holder.allowed_workers == frozenset()
    assert holder.requests_per_minute is holder.tokens_per_minute is None


def test_tiers_are_those_of_pools():
    assert list(TIERS) == TierName.values


BAD_VALUES = [
    ({"name": "  "}, "name"),
    ({"name": "a\0b"}, "name"),
    ({"name": "n" * 101}, "name"),
    ({"scopes": ()}, "scopes"),
    ({"scopes": ("everything",)}, "scopes"),
    ({"scopes": "runs:read"}, "scopes"),
    ({"scopes": None}, "scopes"),
    ({"allowed_tiers": ["huge"]}, "allowed_tiers"),
    ({"allowed_tiers": [["mini"]]}, "allowed_tiers"),
    ({"allowed_workers": [""]}, "allowed_workers"),
    ({"allowed_workers": [7]}, "allowed_workers"),
    ({"allowed_workers": [f"w{n}" for n in range(201)]}, "allowed_workers"),
    ({"requests_per_minute": 0}, "requests_per_minute"),
    ({"tokens_per_minute": 10**10}, "tokens_per_minute"),
    ({"always_include_usage": "yes"}, "always_include_usage"),
    ({"delivery": "later"}, "delivery"),
    ({"delivery": ["live"]}, "delivery"),
    ({"progress": "loud"}, "progress"),
    ({"data_class": "secret"}, "data_class"),
]


@pytest.mark.parametrize(
    ("values", "field"),
    [
        *BAD_VALUES,
        ({"lifetime": timedelta()}, "lifetime"),
        ({"lifetime": timedelta(days=4000)}, "lifetime"),
    ],
)
def test_bad_key_request_is_refused(values: dict[str, Any], field: str):
    team = TeamFactory.create()
    with pytest.raises(InvalidFields) as caught:
        api_key_issue(**{"team": team, "name": "n", "actor": ACTOR, **values})
    assert list(caught.value.fields) == [field]
    assert not ApiKey.objects.for_team(team.id).exists()
    assert actions(team) == []


@pytest.mark.parametrize(
    ("values", "field"),
    [*BAD_VALUES, ({"team": 1}, "team"), ({"digest": "x"}, "digest")],
)
def test_bad_change_is_refused(values: dict[str, Any], field: str):
    key = issue_key()
    with pytest.raises(InvalidFields) as caught:
        api_key_update(api_key=key.row, actor=ACTOR, **values)
    assert list(caught.value.fields) == [field]
    assert actions(key.row.team) == ["api_key.issued"]


def test_key_gives_no_scope_that_it_lacks():
    team, within = TeamFactory.create(), {Scope.KEYS_WRITE, Scope.READ}
    with pytest.raises(NotAllowed, match="'pools:write'"):
        issue_key(team, scopes=["runs:read", "pools:write"], within=within)
    assert actions(team) == []
    assert issue_key(team, scopes=["runs:read"], within=within).row.scopes


def test_key_adds_no_scope_that_it_lacks():
    key, within = issue_key(scopes=["audit:read"]), {"keys:write", "runs:read"}
    change: dict[str, Any] = {"api_key": key.row, "actor": ACTOR, "within": within}
    with pytest.raises(NotAllowed, match="'audit:export'"):
        api_key_update(scopes=["audit:read", "audit:export"], **change)
    changed = api_key_update(scopes=["audit:read", "runs:read"], **change)
    assert changed.scopes == ["audit:read", "runs:read"]


def test_key_gets_no_wider_key_by_rotating_it():
    key = issue_key(scopes=["audit:read"])
    with pytest.raises(NotAllowed):
        api_key_rotate(api_key=key.row, actor=ACTOR, within={"keys:write"})
    assert actions(key.row.team) == ["api_key.issued"]


WIDER = [
    {"scopes": ["keys:write", "pools:write"]},
    {"allowed_tiers": []},
    {"allowed_tiers": ["mini", "ultra"]},
    {"allowed_workers": []},
    {"allowed_workers": ["alpha", "gamma"]},
    {"requests_per_minute": None},
    {"requests_per_minute": 61},
    {"tokens_per_minute": None},
]


@pytest.mark.parametrize("wider", WIDER)
def test_limited_key_hands_on_no_more_than_it_has(wider: dict[str, Any]):
    maker = issue_key(scopes=["keys:write", "runs:create"], **LIMITS)
    team, within = maker.row.team, resolve(maker)
    with pytest.raises(NotAllowed):
        issue_key(team, within=within, **{"scopes": ["runs:create"], **LIMITS, **wider})
    with pytest.raises(NotAllowed):
        api_key_update(api_key=maker.row, actor=ACTOR, within=within, **wider)
    other = issue_key(team, **{"scopes": ["runs:create"], **LIMITS, **wider})
    with pytest.raises(NotAllowed):
        api_key_rotate(api_key=other.row, actor=ACTOR, within=within)
    assert actions(team) == ["api_key.issued", "api_key.issued"]


def test_limited_key_hands_on_what_it_has_or_less():
    maker = issue_key(scopes=["keys:write", "runs:create"], **LIMITS)
    less = {**LIMITS, "allowed_workers": ["beta"], "requests_per_minute": 1}
    within = resolve(maker)
    made = issue_key(maker.row.team, scopes=["runs:create"], within=within, **less)
    api_key_rotate(api_key=made.row, actor=ACTOR, within=within)
    # What was wider before may stay when something else changes.
    wide = issue_key(maker.row.team, scopes=["pools:write"])
    renamed = api_key_update(
        api_key=wide.row, actor=ACTOR, within=within, name="x", allowed_tiers=[]
    )
    assert renamed.name == "x"


def test_change_is_recorded_before_and_after_and_felt_at_once(
    django_capture_on_commit_callbacks,
):
    key = issue_key(name="Old")
    resolve(key)
    with django_capture_on_commit_callbacks(execute=True):
        row = api_key_update(
            api_key=key.row,
            actor=ACTOR,
            name="New",
            scopes=["runs:read"],
            allowed_tiers=[],
            requests_per_minute=5,
            delivery="verified",
        )
    assert api_key_peek(key.secret) is None
    holder = resolve(key)
    assert (holder.display, holder.scopes) == ("New", {"runs:read"})
    assert (holder.requests_per_minute, row.requests_per_minute) == (5, 5)
    assert holder.delivery == "verified"
    assert data(row.team, "api_key.updated") == {
        "prefix": row.prefix,
        "before": {
            "name": "Old",
            "scopes": ["runs:create", "runs:read", "workers:direct"],
            "requests_per_minute": None,
            "delivery": "",
        },
        "after": {
            "name": "New",
            "scopes": ["runs:read"],
            "requests_per_minute": 5,
            "delivery": "verified",
        },
    }


def test_change_that_changes_nothing_records_nothing():
    key = issue_key(name="Same", **LIMITS)
    api_key_update(api_key=key.row, actor=ACTOR, name="Same", **LIMITS)
    assert actions(key.row.team) == ["api_key.issued"]


def test_dead_key_is_neither_changed_nor_rotated():
    revoked, expired = issue_key(), issue_key()
    api_key_revoke(api_key=revoked.row, actor=ACTOR)
    expire(expired)
    for key in (revoked, expired):
        with pytest.raises(Conflict):
            api_key_update(api_key=key.row, actor=ACTOR, name="New")
        with pytest.raises(Conflict):
            api_key_rotate(api_key=key.row, actor=ACTOR)


def test_key_of_a_deleted_team_is_not_found():
    key = issue_key()
    key.row.team.delete()
    with pytest.raises(NotFound):
        api_key_update(api_key=key.row, actor=ACTOR, name="New")


class TestRotation:
    """A new key takes over; the old one works a while longer."""

    def rotate(self, key: IssuedKey, **values: Any) -> IssuedKey:
        new = IssuedKey(*api_key_rotate(api_key=key.row, actor=ACTOR, **values))
        key.row.refresh_from_db()
        return new

    def test_new_key_has_the_settings_lifetime_and_maker_of_the_old(self):
        maker = UserFactory.create()
        old = issue_key(
            scopes=["runs:read"],
            created_by=maker,
            lifetime=timedelta(days=7),
            always_include_usage=True,
            delivery="verified",
            **LIMITS,
        )
        new = self.rotate(old)
        kept = ("team_id", "name", "scopes", "always_include_usage", "delivery")
        for name in (*kept, *LIMITS):
            assert getattr(new.row, name) == getattr(old.row, name)
        left = new.row.expires_at - timezone.now()
        assert timedelta(days=6, hours=23) < left <= timedelta(days=7)
        assert old.row.replaced_by == new.row

    def test_both_work_until_the_overlap_ends(self):
        old = issue_key()
        new = self.rotate(old, overlap=timedelta(hours=2))
        assert resolve(old).key_id == old.row.id
        assert resolve(new).key_id == new.row.id
        left = old.row.expires_at - timezone.now()
        assert timedelta(minutes=119) < left <= timedelta(hours=2)

    def test_old_key_never_lives_longer_than_before(self):
        old = issue_key(lifetime=timedelta(hours=1))
        before = old.row.expires_at
        self.rotate(old, overlap=timedelta.max)
        assert old.row.expires_at == before

    def test_without_overlap_the_old_key_stops_at_once(
        self, django_capture_on_commit_callbacks
    ):
        old = issue_key()
        resolve(old)
        with django_capture_on_commit_callbacks(execute=True):
            self.rotate(old, overlap=timedelta())
        assert api_key_peek(old.secret) is None
        with pytest.raises(NotAuthenticated, match="expired"):
            resolve(old)

    def test_another_person_may_make_the_new_key(self):
        rotator = UserFactory.create()
        new = self.rotate(issue_key(), created_by=rotator)
        assert new.row.created_by == rotator

    def test_key_is_rotated_once(self):
        old = issue_key()
        new = self.rotate(old)
        with pytest.raises(Conflict, match="already"):
            self.rotate(old)
        assert self.rotate(new).row.is_live(timezone.now())

    def test_overlap_cannot_be_negative(self):
        with pytest.raises(InvalidFields) as caught:
            self.rotate(issue_key(), overlap=timedelta(seconds=-1))
        assert list(caught.value.fields) == ["overlap"]

    def test_both_keys_are_in_the_ledger(self):
        old = issue_key()
        before = old.row.expires_at
        new = self.rotate(old)
        team = old.row.team
        assert actions(team) == ["api_key.issued", "api_key.rotated", "api_key.issued"]
        entry = data(team, "api_key.rotated")
        assert entry["replaced_by"] == str(new.row.id)
        assert entry["before"] == {"expires_at": before.isoformat(timespec="seconds")}
        assert new.secret not in recorded(team)


def test_entries_of_a_key_hold_no_secret():
    team = TeamFactory.create()
    key = issue_key(team)
    api_key_revoke(api_key=key.row, actor=ACTOR)
    assert actions(team) == ["api_key.issued", "api_key.revoked"]
    assert key.row.prefix in recorded(team)
    assert key.secret[12:] not in recorded(team)


def test_second_revoke_records_nothing():
    key = issue_key()
    api_key_revoke(api_key=key.row, actor=ACTOR)
    api_key_revoke(api_key=key.row, actor=ACTOR)
    assert actions(key.row.team) == ["api_key.issued", "api_key.revoked"]


def test_failed_entry_undoes_the_change(monkeypatch: pytest.MonkeyPatch):
    def refuse(**kwargs: object) -> None:
        raise RuntimeError("the ledger is away")

    team = TeamFactory.create()
    monkeypatch.setattr("apps.accounts.services.ledger_entries.entries_append", refuse)
    with pytest.raises(RuntimeError):
        issue_key(team)
    assert not ApiKey.objects.for_team(team.id).exists()


@pytest.mark.parametrize(
    "elsewhere",
    [
        {"revoked_at": datetime(2026, 1, 1, tzinfo=UTC)},
        {"expires_at": datetime(2026, 1, 1, tzinfo=UTC)},
    ],
)
def test_end_made_by_another_process_is_felt_within_five_seconds(
    elsewhere: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    django_assert_num_queries,
):
    clock = [100.0]
    monkeypatch.setattr(key_authentication, "_cache", TtlCache(clock=lambda: clock[0]))
    key = issue_key()
    resolve(key)
    # Another process knows nothing of what is remembered here.
    ApiKey.objects.for_team(key.row.team_id).filter(pk=key.row.pk).update(**elsewhere)
    clock[0] += CACHE_SECONDS - 0.001
    with django_assert_num_queries(0):
        assert resolve(key).key_id == key.row.id
    clock[0] += 0.001
    with pytest.raises(NotAuthenticated):
        resolve(key)


def test_limit_set_by_another_process_is_felt_within_five_seconds(
    monkeypatch: pytest.MonkeyPatch,
):
    clock = [100.0]
    monkeypatch.setattr(key_authentication, "_cache", TtlCache(clock=lambda: clock[0]))
    key = issue_key()
    resolve(key)
    type(key.row.team).objects.filter(pk=key.row.team_id).update(tokens_per_minute=7)
    clock[0] += CACHE_SECONDS
    assert resolve(key).team_tokens_per_minute == 7
