"""Rows for tests, with as little in them as a test can do with.

Factories build rows; where a row needs more than its own table (a key and its secret,
a pool with its places and tiers) a plain function builds all of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import factory

from apps.accounts.models import ApiKey, Membership, Role, Team, User
from apps.accounts.services import api_key_issue
from apps.audit.types import Actor
from apps.pools.documents import TIER_LIMITS
from apps.pools.models import Conductor, Pool, PoolWorker, Price, Tier, Worker

ACTOR = Actor(type="service", id="tests", display="tests")
PASSWORD = "correct horse battery staple"
BASE_URL = "http://127.0.0.1:9/v1"
"""Nothing listens there."""


class UserFactory(factory.django.DjangoModelFactory):
    """A person who can sign in with `PASSWORD`."""

    class Meta:
        model = User

    email = factory.Sequence(lambda n: f"person{n}@example.org")
    name = factory.Sequence(lambda n: f"Person {n}")
    password = factory.django.Password(PASSWORD)


class TeamFactory(factory.django.DjangoModelFactory):
    """A team without members."""

    class Meta:
        model = Team

    name = factory.Sequence(lambda n: f"Team {n}")
    slug = factory.Sequence(lambda n: f"team-{n}")


class MembershipFactory(factory.django.DjangoModelFactory):
    """A member of a team; both new unless given."""

    class Meta:
        model = Membership

    team = factory.SubFactory(TeamFactory)
    user = factory.SubFactory(UserFactory)
    role = Role.MEMBER


class WorkerFactory(factory.django.DjangoModelFactory):
    """A worker that needs no key and has no known price."""

    class Meta:
        model = Worker

    team = factory.SubFactory(TeamFactory)
    name = factory.Sequence(lambda n: f"worker-{n}")
    base_url = BASE_URL
    model = factory.SelfAttribute("name")


class ConductorFactory(factory.django.DjangoModelFactory):
    """A conductor that needs no key and has no known price."""

    class Meta:
        model = Conductor

    team = factory.SubFactory(TeamFactory)
    name = factory.Sequence(lambda n: f"conductor-{n}")
    base_url = BASE_URL
    model = factory.SelfAttribute("name")


class PriceFactory(factory.django.DjangoModelFactory):
    """A price of one dollar in and two dollars out per million tokens."""

    class Meta:
        model = Price

    team = factory.SelfAttribute("worker.team")
    worker = factory.SubFactory(WorkerFactory)
    valid_from = "2025-01-01"
    input_micros = 1_000_000
    output_micros = 2_000_000


@dataclass(frozen=True)
class IssuedKey:
    """A key row together with the key itself."""

    row: ApiKey
    secret: str


def issue_key(team: Team | None = None, **values: Any) -> IssuedKey:
    """Issue an API key for `team`, or for a new one."""
    values = {"name": "a key", "actor": ACTOR, **values}
    return IssuedKey(*api_key_issue(team=team or TeamFactory(), **values))


class PoolFactory(factory.django.DjangoModelFactory):
    """A team's default pool: three workers, a conductor, both tiers.

    `base_url` is where all of its models are served, `workers` are the names of new
    workers in order. Pass `conductor=None` for a pool that cannot plan.
    """

    class Meta:
        model = Pool

    team = factory.SubFactory(TeamFactory)
    name = factory.Sequence(lambda n: f"pool-{n}")
    is_default = True
    base_url = BASE_URL
    workers = ("alpha", "beta", "gamma")
    conductor = factory.SubFactory(
        ConductorFactory,
        team=factory.SelfAttribute("..team"),
        base_url=factory.SelfAttribute("..base_url"),
    )

    @classmethod
    def _create(cls, model_class: type[Pool], *args: Any, **values: Any) -> Pool:
        team, base_url = values["team"], values.pop("base_url")
        workers = [
            WorkerFactory(team=team, name=name, base_url=base_url)
            for name in values.pop("workers")
        ]
        pool = Pool.objects.create(**{"fallback": workers[0], **values})
        for position, worker in enumerate(workers):
            PoolWorker.objects.create(
                team=team, pool=pool, worker=worker, position=position
            )
        for name, limits in TIER_LIMITS.items():
            Tier.objects.create(team=team, pool=pool, name=name, **limits)
        return pool
