"""Importing pool files: rows, entries, versions; a second import changes nothing."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from apps.accounts.models import Team
from apps.audit.models import Entry
from apps.pools.errors import PoolDocumentInvalid
from apps.pools.models import Credential, Pool, PoolWorker, Price, Tier, Worker
from apps.pools.selectors import pool_snapshot
from tests.factories import TeamFactory
from tests.pools.conftest import Import
from tests.pools.files import CANARY, ENVIRON, values


def actions(team: Team) -> list[str]:
    entries = Entry.objects.for_team(team.id).order_by("seq")
    return list(entries.values_list("action", flat=True))


def order(team: Team) -> list[str]:
    places = PoolWorker.objects.for_team(team.id).order_by("position")
    return list(places.values_list("worker__name", flat=True))


def test_first_import_creates_everything(team: Team, import_file: Import):
    report = import_file()
    pool = Pool.objects.for_team(team.id).get()
    assert (report.version, pool.version, pool.is_default) == (1, 1, True)
    assert order(team) == ["strong", "quick", "local"]
    assert report.changed == ()
    assert Tier.objects.for_team(team.id).count() == 2
    assert Price.objects.for_team(team.id).get().input_micros == 1_250_000


def test_other_conductors_are_there_to_be_chosen(team: Team, import_file: Import):
    other = {**values()["conductor"], "name": "second", "prompt_style": "brief"}
    report = import_file(other_conductors=[other])
    assert "conductor second" in report.created
    assert team.conductors.get(name="second").prompt_style == "brief"
    pool = Pool.objects.for_team(team.id).get()
    assert pool.conductor == team.conductors.get(name="planner")
    assert not import_file(other_conductors=[other]).has_changes


def test_one_credential_serves_one_host(team: Team, import_file: Import):
    import_file()
    rows = Credential.objects.for_team(team.id).values_list("name", "host")
    assert sorted(rows) == [
        ("PLANNER_KEY", "127.0.0.1:8001"),
        ("PROVIDER_KEY", "api.example.com:443"),
    ]


def test_second_import_changes_nothing(team: Team, import_file: Import):
    import_file()
    before = actions(team)
    report = import_file()
    assert (report.has_changes, report.version) == (False, 1)
    assert report.unchanged > 0
    assert actions(team) == before


def test_import_is_recorded_once_with_its_credentials(team: Team, import_file: Import):
    import_file()
    assert actions(team) == ["credential.set", "credential.set", "pool.imported"]


@pytest.mark.parametrize(
    ("changes", "label"),
    [
        ({"workers__0__description": "new"}, "worker strong: description"),
        ({"workers__0__tags": ["a"]}, "worker strong: tags"),
        ({"workers__0__accepts_images": True}, "worker strong: accepts_images"),
        ({"workers__0__protocol": "gemini"}, "worker strong: protocol"),
        ({"workers__2__may_substitute": False}, "workers of pool main"),
        ({"conductor__context_tokens": 9000}, "conductor planner: context_tokens"),
        ({"conductor__protocol": "anthropic"}, "conductor planner: protocol"),
        ({"tiers__mini__delivery": "verified"}, "tier mini: delivery"),
        ({"tiers__ultra__is_hedged": True}, "tier ultra: is_hedged"),
        ({"workers__1__timeouts__total_s": 21}, "worker quick: total_timeout_s"),
        ({"workers__0__price__input": "1.26"}, "price of strong from 2025-01-01"),
        ({"conductor__temperature": "0.3"}, "conductor planner: temperature"),
        ({"tiers__ultra__max_steps": 4}, "tier ultra: max_steps"),
        ({"pool__fallback": "quick"}, "pool main: fallback"),
        ({"pool__default": False}, "pool main: is_default"),
    ],
)
def test_real_change_counts_up_the_version(
    import_file: Import, changes: dict[str, Any], label: str
):
    import_file()
    report = import_file(**changes)
    assert (report.version, len(report.changed)) == (2, 1)
    assert label in report.changed[0]


def test_new_key_in_the_environment_is_a_change(team: Team, import_file: Import):
    import_file()
    report = import_file(environ={**ENVIRON, "PROVIDER_KEY": "sk-new"})
    assert report.changed == (
        "credential PROVIDER_KEY for https://api.example.com:443",
    )
    assert pool_snapshot(team.id).workers[0].endpoint.api_key == "sk-new"


def test_lost_encryption_key_is_healed_by_an_import(
    team: Team, import_file: Import, settings
):
    import_file()
    settings.ENCRYPTION_KEYS = ["new:" + "A" * 43 + "="]
    assert len(import_file().changed) == 2
    assert pool_snapshot(team.id).workers[0].endpoint.api_key == CANARY


def test_new_order_of_workers_is_a_change(team: Team, import_file: Import):
    import_file()
    workers = [
        {"name": "local", "base_url": "http://127.0.0.1:11434/v1", "model": "tiny"},
        {"name": "other", "base_url": "http://127.0.0.1:11434/v1", "model": "tiny"},
    ]
    report = import_file(workers=workers, pool__fallback="local")
    assert "workers of pool main" in report.changed
    assert order(team) == ["local", "other"]
    assert Worker.objects.for_team(team.id).count() == 4


def test_later_price_is_added_beside_the_earlier_one(team: Team, import_file: Import):
    import_file()
    import_file(workers__0__price__valid_from="2025-06-01")
    dates = Price.objects.for_team(team.id).values_list("valid_from", flat=True)
    assert set(dates) == {dt.date(2025, 1, 1), dt.date(2025, 6, 1)}


def test_conductor_removed_from_the_file_takes_its_tier_along(
    team: Team, import_file: Import
):
    import_file()
    report = import_file(conductor=None)
    assert "tier ultra removed" in report.changed
    assert Pool.objects.for_team(team.id).get().conductor is None


def test_second_pool_becomes_the_default_only_on_demand(
    team: Team, import_file: Import
):
    import_file()
    import_file(pool__name="second")
    import_file(pool__name="third", pool__default=True)
    default = Pool.objects.for_team(team.id).get(is_default=True)
    assert default.name == "third"


def test_change_of_a_shared_worker_counts_up_every_pool(
    team: Team, import_file: Import
):
    import_file()
    import_file(pool__name="second")
    import_file(pool__name="second", workers__0__description="new")
    versions = Pool.objects.for_team(team.id).values_list("name", "version")
    assert dict(versions) == {"main": 2, "second": 2}
    assert actions(team)[-2:] == ["pool.imported", "pool.changed"]


def test_every_missing_variable_is_named(team: Team, import_file: Import):
    with pytest.raises(PoolDocumentInvalid) as caught:
        import_file(environ={"PROVIDER_KEY": " "})
    assert [fault.split(":")[0] for fault in caught.value.faults] == [
        "workers[0].api_key_env",
        "workers[1].api_key_env",
        "conductor.api_key_env",
    ]
    assert "'PLANNER_KEY' is not set" in caught.value.message
    assert not Worker.objects.for_team(team.id).exists()


@pytest.mark.parametrize("spoiled", [f"{CANARY}\nx: y", f"{CANARY} x", f"{CANARY}é"])
def test_unusable_key_is_refused_without_repeating_it(
    import_file: Import, spoiled: str
):
    with pytest.raises(PoolDocumentInvalid, match="no key can have") as caught:
        import_file(environ={**ENVIRON, "PROVIDER_KEY": spoiled})
    assert CANARY not in caught.value.message


def test_team_is_not_touched_by_the_import_of_another(team: Team, import_file: Import):
    import_file()
    assert not Worker.objects.for_team(TeamFactory.create().id).exists()


def test_failed_entry_undoes_the_import(
    team: Team, import_file: Import, monkeypatch: pytest.MonkeyPatch
):
    def refuse(**kwargs: object) -> None:
        raise RuntimeError("the ledger is away")

    monkeypatch.setattr("apps.pools.pool_transaction.entries_append", refuse)
    with pytest.raises(RuntimeError):
        import_file()
    assert not Pool.objects.for_team(team.id).exists()
    assert not Credential.objects.for_team(team.id).exists()
