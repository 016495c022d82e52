"""Resolving a key that was sent: who it speaks for, or why it is refused."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.accounts.keys import key_generate
from apps.accounts.models import ApiKey
from apps.accounts.services import (
    api_key_cache_clear,
    api_key_peek,
    api_key_resolve,
    api_key_revoke,
)
from apps.core.errors import NotAuthenticated
from tests.factories import ACTOR, TeamFactory, UserFactory, issue_key

pytestmark = pytest.mark.django_db


def refusal(raw: str, *, now=None) -> str:
    with pytest.raises(NotAuthenticated) as caught:
        api_key_resolve(raw, now=now or timezone.now())
    assert caught.value.http_status == 401
    return caught.value.message


def test_key_speaks_for_its_team():
    team, user = TeamFactory.create(), UserFactory.create()
    key = issue_key(team, created_by=user, always_include_usage=True)
    holder = api_key_resolve(key.secret, now=timezone.now())
    assert (holder.team_id, holder.key_id) == (team.id, key.row.id)
    assert (holder.created_by_id, holder.always_include_usage) == (user.id, True)
    assert holder.scopes == {"runs:read", "runs:create", "workers:direct"}


def test_missing_key_says_how_to_send_one(django_assert_num_queries):
    with django_assert_num_queries(0):
        assert "Authorization: Bearer" in refusal("")


def test_malformed_key_never_reaches_the_database(django_assert_num_queries):
    raw = key_generate().secret[:-1] + "!"
    with django_assert_num_queries(0):
        assert "not well formed" in refusal(raw)


def test_unknown_key_is_refused():
    assert "not known" in refusal(key_generate().secret)


def test_key_with_the_right_prefix_and_another_secret_is_refused():
    key, other = issue_key(), key_generate()
    ApiKey.objects.across_teams().filter(pk=key.row.pk).update(prefix=other.lookup)
    assert "not known" in refusal(other.secret)


def test_expired_key_names_the_day():
    key = issue_key(lifetime=timedelta(days=1))
    message = refusal(key.secret, now=key.row.expires_at)
    assert f"expired on {key.row.expires_at.date().isoformat()}" in message


def test_cached_key_expires_too():
    key = issue_key(lifetime=timedelta(days=1))
    api_key_resolve(key.secret, now=timezone.now())
    assert "expired" in refusal(key.secret, now=key.row.expires_at)


def test_refusal_echoes_eight_characters_at_most():
    raw = key_generate().secret
    message = refusal(raw)
    assert raw[:8] in message
    assert raw[:9] not in message


def test_cached_key_costs_no_query(django_assert_num_queries):
    key = issue_key()
    first = api_key_resolve(key.secret, now=timezone.now())
    with django_assert_num_queries(0):
        assert api_key_resolve(key.secret, now=timezone.now()) is first
        assert api_key_peek(key.secret) is first


def test_peek_at_an_unseen_key_asks_nobody(django_assert_num_queries):
    key = issue_key()
    with django_assert_num_queries(0):
        assert api_key_peek(key.secret) is None


def test_revoked_key_stops_at_once(django_capture_on_commit_callbacks):
    key = issue_key()
    api_key_resolve(key.secret, now=timezone.now())
    with django_capture_on_commit_callbacks(execute=True):
        api_key_revoke(api_key=key.row, actor=ACTOR)
    assert api_key_peek(key.secret) is None
    assert "has been revoked" in refusal(key.secret)


def test_key_rests_while_its_maker_s_account_is_switched_off():
    user = UserFactory.create(is_active=False)
    key = issue_key(created_by=user)
    assert "switched off" in refusal(key.secret)
    user.is_active = True
    user.save()
    assert api_key_resolve(key.secret, now=timezone.now()).key_id == key.row.id


def test_last_use_is_written_at_most_once_a_minute():
    key, now = issue_key(), timezone.now()
    seen = []
    for later_s in (0, 59, 60):
        api_key_cache_clear()
        api_key_resolve(key.secret, now=now + timedelta(seconds=later_s))
        key.row.refresh_from_db()
        seen.append(key.row.last_used_at)
    assert seen == [now, now, now + timedelta(seconds=60)]


def test_key_outlives_a_rotated_site_secret(settings):
    key = issue_key()
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another one, long enough to be taken for a secret"
    assert api_key_resolve(key.secret, now=timezone.now()).key_id == key.row.id


def test_stolen_table_is_worthless_under_another_site_secret(settings):
    key = issue_key()
    settings.SECRET_KEY = "another one, long enough to be taken for a secret"
    assert "not known" in refusal(key.secret)


def test_secret_is_in_no_row_and_no_statement():
    with CaptureQueriesContext(connection) as queries:
        key = issue_key()
        api_key_resolve(key.secret, now=timezone.now())
    assert not any(key.secret in query["sql"] for query in queries)
    row = ApiKey.objects.across_teams().values().get(pk=key.row.pk)
    assert key.secret not in repr(row)
    assert key.secret not in f"{key.row!r} {key.row}"
