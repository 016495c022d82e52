"""Real models in the demo: of the providers whose keys were given at its start."""

from __future__ import annotations

import dataclasses

import pytest

from apps.accounts.models import Team
from apps.audit.models import Entry
from apps.playground.demo.real_models import PREFIX, real_models_add
from apps.pools import selectors
from apps.pools.models import Credential, Pool, Worker
from apps.pools.providers import known_providers
from apps.pools.selectors import known_provider_list
from tests.conftest import PROVIDER_KEY

GIVEN = {f"{PREFIX}OPENAI_API_KEY": PROVIDER_KEY}


@pytest.fixture(autouse=True)
def provider(monkeypatch, locked_url):
    known = tuple(
        dataclasses.replace(row, base_url=locked_url) if row.id == "openai" else row
        for row in known_provider_list()
    )
    for module in (known_providers, selectors):
        monkeypatch.setattr(module, "KNOWN_PROVIDERS", known)


def added(team: Team, given: dict[str, str]) -> list[str]:
    return list(real_models_add(team, given))


def test_its_models_get_a_pool_that_is_the_default(cast, locked_url):
    (line,) = added(cast.team, GIVEN)
    assert line.startswith("OpenAI: ")
    rows = Worker.objects.for_team(cast.team.id).filter(base_url=locked_url)
    pool = Pool.objects.for_team(cast.team.id).get(is_default=True)
    assert set(pool.enabled_workers) == set(rows) != set()
    assert all(row.name in line for row in rows)
    key = Credential.objects.for_team(cast.team.id).get()
    assert key.is_bound_to(locked_url)
    assert PROVIDER_KEY not in line
    for entry in Entry.objects.for_team(cast.team.id):
        assert PROVIDER_KEY.encode() not in bytes(entry.canonical)


def test_the_next_start_adds_nothing(cast):
    added(cast.team, GIVEN)
    workers = Worker.objects.for_team(cast.team.id).count()
    assert added(cast.team, GIVEN) == []
    assert Worker.objects.for_team(cast.team.id).count() == workers


def test_a_key_that_is_refused_is_said_and_not_kept(cast):
    wrong = f"{PROVIDER_KEY}-wrong"
    (line,) = added(cast.team, {f"{PREFIX}OPENAI_API_KEY": wrong})
    assert line.startswith("OpenAI: not added. ")
    assert wrong not in line
    assert not Credential.objects.for_team(cast.team.id).exists()


def test_a_key_in_the_environment_of_others_is_not_used(cast):
    assert added(cast.team, {"OPENAI_API_KEY": PROVIDER_KEY}) == []
    assert not Credential.objects.for_team(cast.team.id).exists()
