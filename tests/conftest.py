"""What all tests share: the cast, a running site, simulated models, no network."""

from __future__ import annotations

import dataclasses
import ipaddress
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.db import connections
from django.test import override_settings

from apps.accounts.models import Membership, Role, Team, User
from apps.audit import jobs
from apps.pools import selectors
from apps.pools.providers import known_providers
from apps.pools.types import KnownProvider
from apps.simulator.app import create_app
from conductor_site.redis_backends import caches, channel_layers
from tests.factories import (
    IssuedKey,
    MembershipFactory,
    PoolFactory,
    PriceFactory,
    TeamFactory,
    UserFactory,
    WorkerFactory,
    issue_key,
)
from tests.ledger_schema import appended_faults as appended_faults
from tests.ledger_schema import (
    entries_fit_their_schema as entries_fit_their_schema,
)
from tests.process_state import process_state_reset
from tests.quick_flush import quick_flush as quick_flush
from tests.scratch_database import django_db_setup as django_db_setup
from tests.services import Redis, redis
from tests.serving import LastingServer, lasting_server, serving
from tests.worlds import KeptDatabases
from tests.worlds import kept_databases as kept_databases

pytest_plugins = ("tests.tiers", "tests.seeds", "tests.recorded")
WORKERS = ("alpha", "beta", "gamma")
PROVIDER_KEY = "sk-canary-4f9b2d7e6a"
"""What the provider at `locked_url` wants; no page, log or entry may show it."""
FILLED = pytest.StashKey[object]()
FillWorld = Callable[[Callable[["Site"], object]], tuple["Cast", object]]


@pytest.fixture(autouse=True)
def _closed_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse every connection that would leave this machine."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if self.family in {socket.AF_INET, socket.AF_INET6}:
            host = address[0]
            if host != "localhost" and not ipaddress.ip_address(host).is_loopback:
                raise AssertionError(f"a test tried to reach {host}")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture(autouse=True)
def _process_begins_anew() -> None:
    """Let this process know nothing of the tests before."""
    process_state_reset()


@pytest.fixture(scope="session", autouse=True)
def _site_of_tests() -> Iterator[None]:
    """Make what a site does by the way cheap, and let it leave nothing behind."""
    with (
        pytest.MonkeyPatch.context() as patch,
        override_settings(
            # Slow by design is right for a site and not for its tests.
            PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
            CHECKPOINT_DIR="",  # checkpoints go to the log alone
        ),
    ):
        # Each site of a test has seven threads that look for jobs of others.
        patch.setattr(jobs, "LOOK_S", 5.0)
        yield


@pytest.fixture(scope="session")
def simulator_url() -> Iterator[str]:
    """Simulated models that never wait, on a real socket."""
    with serving(create_app(speed=0), ws="none") as url:
        yield f"{url}/v1"


@pytest.fixture(scope="session")
def locked_url() -> Iterator[str]:
    """A provider that answers nobody without its key."""
    with serving(create_app(speed=0, api_key=PROVIDER_KEY), ws="none") as url:
        yield f"{url}/v1"


@pytest.fixture
def listed_provider(monkeypatch: pytest.MonkeyPatch, locked_url: str) -> KnownProvider:
    """The one known provider of the site; its keys look like `PROVIDER_KEY`."""
    first = known_providers.KNOWN_PROVIDERS[0]
    known = dataclasses.replace(
        first, name="Lab", base_url=locked_url, key_form=f"{PROVIDER_KEY[:3]}.*"
    )
    for module in (known_providers, selectors):
        monkeypatch.setattr(module, "KNOWN_PROVIDERS", (known,))
    return known


@pytest.fixture
def own_redis(settings: Any) -> Iterator[Redis]:
    """A Redis for this test alone, to be killed and started; `site` goes after it."""
    with redis() as server:
        settings.REDIS_URL = server.url
        settings.CHANNEL_LAYERS = channel_layers(server.url)
        settings.CACHES = caches(server.url)
        yield server


@dataclass(frozen=True)
class Cast:
    """alice owns, bob is a member, vera only views; mallory is of another team."""

    team: Team
    other_team: Team
    alice: User
    bob: User
    vera: User
    mallory: User
    key: IssuedKey
    """A key of the team, with every scope."""


@pytest.fixture
def cast(request: pytest.FixtureRequest, transactional_db: None) -> Cast:
    world = request.node.get_closest_marker("world")
    if world is None:
        return make_cast()
    fill_world: FillWorld = request.getfixturevalue("fill_world")
    cast, request.node.stash[FILLED] = fill_world(world.args[0])
    return cast


@pytest.fixture
def fill_world(
    kept_databases: KeptDatabases, simulator_url: str, site_server: LastingServer
) -> FillWorld:
    """Let a function fill the database, if it has not done so before."""

    def inner(fill: Callable[[Site], object]) -> tuple[Cast, object]:
        def filled() -> tuple[Cast, object]:
            cast = make_cast()
            make_pool(cast.team, simulator_url)
            with site_server.open():
                value = fill(Site(site_server.url, cast, simulator_url))
            connections.close_all()
            return cast, value

        cast_and_value = kept_databases.enter(filled, key=fill)
        process_state_reset()
        return cast_and_value

    return inner


@pytest.fixture
def filled(request: pytest.FixtureRequest, cast: Cast) -> object:
    """What the function has returned that filled the world of this test."""
    return request.node.stash[FILLED]


def make_cast() -> Cast:
    """Add two teams with their people."""
    team = TeamFactory.create(name="Orchestra", slug="orchestra")
    other = TeamFactory.create(name="Others", slug="others")
    people = {
        name: UserFactory.create(email=f"{name}@example.org", name=name.title())
        for name in ("alice", "bob", "vera", "mallory")
    }
    for name, of, role in (
        ("alice", team, Role.OWNER),
        ("bob", team, Role.MEMBER),
        ("vera", team, Role.VIEWER),
        ("mallory", other, Role.OWNER),
    ):
        MembershipFactory.create(team=of, user=people[name], role=role)
    key = issue_key(team, name="Build server", created_by=people["alice"])
    return Cast(team, other, **people, key=key)


@dataclass(frozen=True)
class Site:
    """The whole product, serving on a real socket."""

    url: str
    cast: Cast
    simulator_url: str

    @property
    def api_url(self) -> str:
        return f"{self.url}/v1"

    @property
    def key(self) -> str:
        return self.cast.key.secret

    def add_worker(self, model: str, *, team: Team | None = None) -> None:
        """Serve a simulated model as a worker of the default pool."""
        add_worker(team or self.cast.team, self.simulator_url, model)

    def set_conductor(self, model: str) -> None:
        """Let another simulated model plan."""
        pool = self.cast.team.pools.get(is_default=True)
        conductor = pool.conductor
        assert conductor is not None
        conductor.model = model
        conductor.save()


def add_worker(team: Team, base_url: str, model: str) -> None:
    pool = team.pools.get(is_default=True)
    worker = WorkerFactory.create(team=team, name=model, base_url=base_url, model=model)
    PriceFactory.create(worker=worker)
    pool.places.create(team=team, worker=worker, position=pool.places.count())


def make_pool(team: Team, simulator_url: str) -> None:
    """Give a team a pool of simulated models, with prices."""
    pool = PoolFactory.create(
        team=team, base_url=simulator_url, workers=("sim-delta", "sim-birch")
    )
    for place in pool.places.all():
        PriceFactory.create(worker=place.worker)
    assert pool.conductor is not None
    pool.conductor.model = "sim-conductor"
    pool.conductor.save()
    PriceFactory.create(team=team, worker=None, conductor=pool.conductor)


@pytest.fixture(scope="session")
def site_server() -> Iterator[LastingServer]:
    """The server of this test process, which serves all its sites."""
    from conductor_site.asgi import application
    from conductor_site.serving.uvicorn_protocol import JoiningProtocol

    with lasting_server(application, http=JoiningProtocol) as server:
        yield server


@pytest.fixture
def site(
    request: pytest.FixtureRequest,
    cast: Cast,
    simulator_url: str,
    site_server: LastingServer,
) -> Iterator[Site]:
    """The product with its executor, ledger writer and jobs, opened for this test."""
    if request.node.get_closest_marker("world") is None:
        make_pool(cast.team, simulator_url)
    with site_server.open():
        yield Site(site_server.url, cast, simulator_url)
    connections.close_all()


def membership(team: Team, user: User) -> Membership:
    return Membership.objects.for_team(team.id).get(user=user)
