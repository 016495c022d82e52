"""Rows for tests, with as little in them as a test can do with.

Factories build rows; where a row needs more than its own table (a key and its secret,
a pool with its places and tiers) a plain function builds all of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from factory.declarations import SelfAttribute, Sequence, SubFactory
from factory.django import DjangoModelFactory, Password

from apps.accounts.models import ApiKey, Membership, Role, Team, User
from apps.accounts.services import api_key_issue
from apps.audit.types import Actor
from apps.pools.attributes import TIER_LIMITS
from apps.pools.models import Conductor, Pool, PoolWorker, Price, Tier, Worker

ACTOR = Actor(type="service", id="tests", display="tests")
PASSWORD = "correct horse battery staple"
BASE_URL = "http://127.0.0.1:9/v1"
"""Nothing listens there."""


class UserFactory(DjangoModelFactory[User]):
    """A person who can sign in with `PASSWORD`."""

    class Meta:
        model = User

    email = Sequence(lambda n: f"person{n}@example.org")
    name = Sequence(lambda n: f"Person {n}")
    password = Password(PASSWORD)


class TeamFactory(DjangoModelFactory[Team]):
    """A team without members."""

    class Meta:
        model = Team

    name = Sequence(lambda n: f"Team {n}")
    slug = Sequence(lambda n: f"team-{n}")


class MembershipFactory(DjangoModelFactory[Membership]):
    """A member of a team; both new unless given."""

    class Meta:
        model = Membership

    team = SubFactory(TeamFactory)
    user = SubFactory(UserFactory)
    role = Role.MEMBER


class WorkerFactory(DjangoModelFactory[Worker]):
    """A worker that needs no key and has no known price."""

    class Meta:
        model = Worker

    team = SubFactory(TeamFactory)
    name = Sequence(lambda n: f"worker-{n}")
    base_url = BASE_URL
    model = SelfAttribute("name")


class ConductorFactory(DjangoModelFactory[Conductor]):
    """A conductor that needs no key and has no known price."""

    class Meta:
        model = Conductor

    team = SubFactory(TeamFactory)
    name = Sequence(lambda n: f"conductor-{n}")
    base_url = BASE_URL
    model = SelfAttribute("name")


class PriceFactory(DjangoModelFactory[Price]):
    """A price of one dollar in and two dollars out per million tokens."""

    class Meta:
        model = Price

    team = SelfAttribute("worker.team")
    worker = SubFactory(WorkerFactory)
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
    return IssuedKey(*api_key_issue(team=team or TeamFactory.create(), **values))


class PoolFactory(DjangoModelFactory[Pool]):
    """A team's default pool: three workers, a conductor, both tiers.

    `base_url` is where all of its models are served, `workers` are the names of new
    workers in order. Pass `conductor=None` for a pool that cannot plan.
    """

    class Meta:
        model = Pool

    team = SubFactory(TeamFactory)
    name = Sequence(lambda n: f"pool-{n}")
    is_default = True
    base_url = BASE_URL
    workers = ("alpha", "beta", "gamma")
    conductor = SubFactory(
        ConductorFactory,
        team=SelfAttribute("..team"),
        base_url=SelfAttribute("..base_url"),
    )

    @classmethod
    def _create(cls, model_class: type[Pool], *args: Any, **values: Any) -> Pool:
        team, base_url = values["team"], values.pop("base_url")
        workers = [
            WorkerFactory.create(team=team, name=name, base_url=base_url)
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
