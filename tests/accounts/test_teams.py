"""Teams are made, changed and deleted, and what is refused."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.apps import apps
from django.core.exceptions import FieldDoesNotExist
from django.utils import timezone

from apps.accounts.models import ApiKey, Membership, Role, Team
from apps.accounts.services import (
    api_key_peek,
    api_key_resolve,
    api_key_rotate,
    invitation_create,
    team_create,
    team_delete,
    team_update,
)
from apps.audit.models import Entry
from apps.core.errors import InvalidFields, InvalidInput, NotFound
from apps.core.scoping import UnscopedQuery
from apps.runs.models import Run
from tests.accounts.ledger import actions, data
from tests.factories import (
    ACTOR,
    MembershipFactory,
    PoolFactory,
    PriceFactory,
    TeamFactory,
    UserFactory,
    issue_key,
)

pytestmark = pytest.mark.django_db


def test_team_gets_its_first_owner():
    user = UserFactory.create()
    team = team_create(name=" Blue Whales ", owner=user, actor=ACTOR)
    assert (team.name, team.slug) == ("Blue Whales", "blue-whales")
    assert Membership.objects.for_team(team.id).get().role == Role.OWNER
    assert actions(team) == ["team.created", "member.added"]


@pytest.mark.parametrize(
    "slug", ["Upper", "with space", "a/b", "x" * 61, str(uuid.UUID(int=7))]
)
def test_bad_slug_is_refused(slug: str):
    with pytest.raises(InvalidInput, match="slug"):
        team_create(name="x", slug=slug, actor=ACTOR)


def test_slug_is_taken_once():
    TeamFactory.create(slug="taken")
    with pytest.raises(InvalidFields, match="already") as caught:
        team_create(name="Taken", slug="taken", actor=ACTOR)
    assert list(caught.value.fields) == ["slug"]


def test_slug_made_of_a_name_gets_a_number_if_taken():
    slugs = [team_create(name="Taken", actor=ACTOR).slug for _ in range(3)]
    assert slugs == ["taken", "taken-2", "taken-3"]


def test_long_names_get_slugs_that_fit():
    slugs = [team_create(name="n" * 100, actor=ACTOR).slug for _ in range(2)]
    assert slugs == ["n" * 60, "n" * 52 + "-2"]


@pytest.mark.parametrize("name", ["!!!", "天文台", str(uuid.UUID(int=7))])
def test_name_without_a_slug_of_its_own_gets_one(name: str):
    assert team_create(name=name, actor=ACTOR).slug == "team"


@pytest.mark.parametrize("name", ["", "  ", "n" * 101, "a\0b", "a\nb", "\ud800", 7])
def test_bad_name_is_refused(name: Any):
    with pytest.raises(InvalidFields) as caught:
        team_create(name=name, actor=ACTOR)
    assert list(caught.value.fields) == ["name"]
    assert not Team.objects.exists()


def test_update_records_what_changed_and_nothing_else():
    team = TeamFactory.create(name="Old")
    changed = team_update(
        team=team,
        actor=ACTOR,
        name="New",
        requests_per_minute=60,
        tokens_per_minute=None,
    )
    team.refresh_from_db()
    assert (team.name, team.requests_per_minute) == ("New", 60)
    assert changed == team
    assert data(team, "team.updated") == {
        "before": {"name": "Old", "requests_per_minute": None},
        "after": {"name": "New", "requests_per_minute": 60},
    }


def test_update_that_changes_nothing_records_nothing():
    team = TeamFactory.create(name="Same")
    team_update(team=team, actor=ACTOR, name=" Same ")
    assert actions(team) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"name": ""},
        {"slug": "other"},
        {"id": uuid.UUID(int=7)},
        {"requests_per_minute": 0},
        {"requests_per_minute": -1},
        {"requests_per_minute": 1_000_001},
        {"tokens_per_minute": True},
        {"tokens_per_minute": "60"},
        {"tokens_per_minute": 1.5},
        {"tokens_per_minute": 10**30},
    ],
)
def test_bad_change_is_refused_whole(changes: dict[str, Any]):
    team = TeamFactory.create(name="Old")
    with pytest.raises(InvalidFields) as caught:
        team_update(team=team, actor=ACTOR, **{"name": "New", **changes})
    assert set(caught.value.fields) == set(changes)
    team.refresh_from_db()
    assert team.name == "Old"
    assert actions(team) == []


def test_every_wrong_field_is_named():
    with pytest.raises(InvalidFields) as caught:
        team_update(team=TeamFactory.create(), actor=ACTOR, name="", colour="red")
    assert set(caught.value.fields) == {"name", "colour"}


def test_new_rate_is_felt_at_once(django_capture_on_commit_callbacks):
    key = issue_key()
    api_key_resolve(key.secret, now=timezone.now())
    with django_capture_on_commit_callbacks(execute=True):
        team_update(team=key.row.team, actor=ACTOR, requests_per_minute=60)
    assert api_key_peek(key.secret) is None
    holder = api_key_resolve(key.secret, now=timezone.now())
    assert holder.team_requests_per_minute == 60


def test_team_is_deleted_with_all_its_rows():
    pool = PoolFactory.create()
    team = pool.team
    PriceFactory.create(worker=pool.fallback)
    MembershipFactory.create(team=team)
    key = issue_key(team)
    api_key_rotate(api_key=key.row, actor=ACTOR)
    invitation_create(team=team, email="a@example.org", role="member", actor=ACTOR)
    Run.objects.create(
        id=uuid.uuid4(),
        team=team,
        api_key=key.row,
        pool_version=1,
        created_at=timezone.now(),
    )
    other = PoolFactory.create()
    team_delete(team=team, confirmation=team.slug, actor=ACTOR)
    assert rows_of(team.id) == {}
    assert {"Team", "Pool", "Worker"} <= set(rows_of(other.team.id))


def test_ledger_of_a_deleted_team_stays_and_says_so():
    team = TeamFactory.create(name="Gone", slug="gone")
    issue_key(team)
    team_delete(team=team, confirmation="gone", actor=ACTOR)
    assert actions(team) == ["api_key.issued", "team.deleted"]
    assert data(team, "team.deleted") == {"name": "Gone", "slug": "gone"}


def test_keys_of_a_deleted_team_stop_at_once(django_capture_on_commit_callbacks):
    key = issue_key()
    team = key.row.team
    api_key_resolve(key.secret, now=timezone.now())
    with django_capture_on_commit_callbacks(execute=True):
        team_delete(team=team, confirmation=team.slug, actor=ACTOR)
    assert api_key_peek(key.secret) is None


@pytest.mark.parametrize("confirmation", ["", "yes", "Gone"])
def test_team_stays_without_the_right_confirmation(confirmation: str):
    team = TeamFactory.create(name="Gone", slug="gone")
    with pytest.raises(InvalidFields, match="'gone'"):
        team_delete(team=team, confirmation=confirmation, actor=ACTOR)
    assert Team.objects.filter(pk=team.pk).exists()
    assert actions(team) == []


def test_deleted_team_cannot_be_changed_or_deleted():
    team = TeamFactory.create()
    Team.objects.filter(pk=team.pk).delete()
    with pytest.raises(NotFound):
        team_update(team=team, actor=ACTOR, name="New")
    with pytest.raises(NotFound):
        team_delete(team=team, confirmation=team.slug, actor=ACTOR)


@pytest.mark.parametrize("model", [ApiKey, Membership])
def test_query_without_a_team_is_refused(model: type[ApiKey] | type[Membership]):
    with pytest.raises(UnscopedQuery):
        list(model.objects.all())


def rows_of(team_id: uuid.UUID) -> dict[str, int]:
    """Count the rows that belong to a team, in every table but the ledger's."""
    counts = {"Team": Team.objects.filter(pk=team_id).count()}
    for model in apps.get_models():
        if model._meta.app_label == Entry._meta.app_label:
            continue
        try:
            model._meta.get_field("team")
        except FieldDoesNotExist:
            continue
        counts[model.__name__] = model._base_manager.filter(team=team_id).count()
    return {name: count for name, count in counts.items() if count}
