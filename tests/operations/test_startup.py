"""What is wrong with the configuration is named before anything starts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from django.core.checks import ERROR, WARNING
from django.db.utils import ConnectionHandler

from apps.pools.services import credential_set
from conductor_site import checks
from conductor_site.databases import database_of
from conductor_site.pending_migrations import TABLE, own_migrations
from tests.audit.examples import chain_of
from tests.factories import ACTOR, PoolFactory, TeamFactory
from tests.processes.python import python_run
from tests.services import Postgres, postgres, redis

pytestmark = pytest.mark.slow

NOBODY = "127.0.0.1:1"
"""A port that nobody listens on."""
OTHER_KEY = "k9:" + "A" * 43 + "="
CHECKS = [
    checks.check_modes,
    checks.check_production,
    checks.check_database,
    checks.check_redis,
]
Told = list[tuple[int, str]]
UseDatabase = Callable[[str], ConnectionHandler]


def told(*those: Callable[..., Any]) -> Told:
    """Return levels and texts of what checks say, all of them if none are given."""
    found = [message for check in those or CHECKS for message in check()]
    return [(message.level, message.msg) for message in found]


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with postgres() as running:
        yield running


@pytest.fixture
def use_database(monkeypatch: pytest.MonkeyPatch, db: None) -> UseDatabase:
    """Let the checks look at another database than the tests'."""

    def use(url: str) -> ConnectionHandler:
        handler = ConnectionHandler({"default": database_of(url, Path())})
        monkeypatch.setattr(checks, "connections", handler)
        return handler

    return use


@pytest.fixture
def production(settings: Any, tmp_path: Path) -> Any:
    """The settings of a site that lacks nothing."""
    settings.IS_PRODUCTION = True
    settings.CONDUCTOR_URL = "https://conductor.example"
    settings.ALLOWED_HOSTS = ["conductor.example"]
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.STATIC_ROOT = tmp_path
    (tmp_path / "css").mkdir()
    return settings


# --- modes ---------------------------------------------------------------------------


def test_workers_on_sqlite_are_refused(use_database, settings):
    use_database("sqlite:///nowhere")
    settings.BACKGROUND_RUNS = "workers"
    assert told(checks.check_modes) == [
        (
            ERROR,
            "DATABASE_URL: worker processes need PostgreSQL, and this is SQLite; set "
            "it, or BACKGROUND_RUNS=here",
        )
    ]


def test_postgresql_without_redis_is_a_warning(use_database, settings):
    use_database(f"postgres://{NOBODY}/x")
    settings.REDIS_URL = ""
    [(level, text)] = told(checks.check_modes)
    assert level == WARNING
    assert text.startswith("REDIS_URL: not set, so start one web process only")


def test_postgresql_with_redis_and_workers_is_fine(use_database, settings):
    use_database(f"postgres://{NOBODY}/x")
    settings.REDIS_URL, settings.BACKGROUND_RUNS = f"redis://{NOBODY}", "workers"
    assert told(checks.check_modes) == []


def test_nothing_of_production_is_asked_of_a_laptop(settings):
    settings.CONDUCTOR_URL = "http://127.0.0.1:8000"
    assert told(checks.check_production) == []


def test_a_complete_production_is_fine(production):
    assert told(checks.check_production) == []


@pytest.mark.parametrize(
    ("name", "value", "begins"),
    [
        ("CONDUCTOR_URL", "http://127.0.0.1:8000", "CONDUCTOR_URL: 'http://127.0.0.1"),
        ("ALLOWED_HOSTS", ["other.example"], "ALLOWED_HOSTS: lacks 'conductor.exam"),
        ("EMAIL_BACKEND", checks.CONSOLE, "EMAIL_BACKEND: mails are printed"),
        ("STATIC_ROOT", Path("nowhere"), "CONDUCTOR_VAR_DIR: holds no collected"),
    ],
)
def test_what_production_lacks_is_a_warning(production, name, value, begins):
    setattr(production, name, value)
    [(level, text)] = told(checks.check_production)
    assert level == WARNING
    assert text.startswith(begins)


# --- the database --------------------------------------------------------------------


def test_an_unreachable_database_is_named_without_its_password(use_database):
    use_database(f"postgres://conductor:s3cret@{NOBODY}/conductor")
    [(level, text)] = told(checks.check_database)
    assert level == ERROR
    assert text.startswith("DATABASE_URL: the PostgreSQL database at 127.0.0.1 cannot")
    assert "refused" in text
    assert "s3cret" not in text
    assert "\n" not in text


def test_a_database_that_does_not_exist_is_named(use_database, server):
    use_database(server.url_of("nowhere"))
    [(level, text)] = told(checks.check_database)
    assert level == ERROR
    assert 'database "nowhere" does not exist' in text


def test_a_file_that_cannot_be_opened_is_named(use_database, tmp_path):
    use_database(f"sqlite:///{tmp_path}/none/conductor.sqlite3")
    [(level, text)] = told(checks.check_database)
    assert level == ERROR
    assert text.startswith("DATABASE_URL: the SQLite database at ")
    assert text.endswith("unable to open database file")


def test_an_empty_database_is_named(use_database, server):
    use_database(server.create_database("empty"))
    assert told(checks.check_database) == [
        (
            ERROR,
            "DATABASE_URL: the database is empty; run: python manage.py migrate",
        )
    ]


def test_pending_migrations_are_counted_and_the_first_is_named(use_database, tmp_path):
    handler = use_database(f"sqlite:///{tmp_path}/old.sqlite3")
    pending = {name for name in own_migrations() if name[0] == "runs"}
    with closing(handler["default"]) as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE {TABLE} (app TEXT, name TEXT)")
        rows = f"INSERT INTO {TABLE} VALUES (%s, %s)"
        cursor.executemany(rows, sorted(own_migrations() - pending))
    [(level, text)] = told(checks.check_database)
    assert level == ERROR
    assert text.startswith(
        f"DATABASE_URL: the database lacks {len(pending)} migrations, "
        f"{'.'.join(min(pending))} among them; run: "
    )


# --- Redis ---------------------------------------------------------------------------


def test_an_unreachable_redis_is_named_without_its_password(settings):
    settings.REDIS_URL = f"redis://:s3cret@{NOBODY}/0"
    [(level, text)] = told(checks.check_redis)
    assert level == ERROR
    assert text.startswith("REDIS_URL: Redis at 127.0.0.1 does not answer: ")
    assert "s3cret" not in text


def test_a_silent_redis_is_named(settings, monkeypatch):
    monkeypatch.setattr(checks, "REDIS_TIME_S", 0.1)
    with redis() as server:
        settings.REDIS_URL = server.url
        server.pause()
        [(level, text)] = told(checks.check_redis)
        server.resume()
        assert level == ERROR
        assert text.startswith("REDIS_URL: Redis at 127.0.0.1 does not answer: ")
        assert told(checks.check_redis) == []


# --- keys and conductors -------------------------------------------------------------

needs_rows = pytest.mark.django_db(transaction=True)


@needs_rows
def test_the_key_of_stored_texts_is_missed(settings):
    chain_of(1)
    assert told(checks.check_database) == []
    settings.ENCRYPTION_KEYS = [OTHER_KEY]
    [(level, text)] = told(checks.check_database)
    assert level == ERROR
    assert text == (
        "CONDUCTOR_ENCRYPTION_KEYS: what is stored cannot be read: encryption key "
        "'dev' is not among the settings"
    )


@needs_rows
def test_another_key_of_the_same_name_does_not_pass(settings):
    credential_set(
        team=TeamFactory.create(),
        name="ours",
        base_url="https://api.example",
        secret="s3cret",
        actor=ACTOR,
    )
    assert told(checks.check_database) == []
    settings.ENCRYPTION_KEYS = [OTHER_KEY.replace("k9", "dev")]
    [(level, text)] = told(checks.check_database)
    assert level == ERROR
    assert text.startswith("CONDUCTOR_ENCRYPTION_KEYS: what is stored cannot be read")


@needs_rows
def test_an_unreachable_conductor_is_a_warning(simulator_url):
    PoolFactory.create(base_url=simulator_url)
    assert told(checks.check_database) == []
    PoolFactory.create(base_url=f"http://{NOBODY}/v1")
    [(level, text)] = told(checks.check_database)
    assert level == WARNING
    assert text.startswith(f"conductor at {NOBODY}: ")
    assert text.endswith("or allow it in MODEL_NETWORKS")


# --- the entrances -------------------------------------------------------------------

ENTRANCES = {
    "web": ["-m", "conductor_site", "--port", "0"],
    "worker": ["-m", "conductor_site.worker"],
    "check": ["manage.py", "check", "--deploy"],
}
each_entrance = pytest.mark.parametrize("entrance", ENTRANCES)


def refusal(entrance: str, **environment: str) -> list[str]:
    """Start a process that must refuse to, and return what it says."""
    kept = {k: v for k, v in os.environ.items() if k in {"PATH", "HOME", "LANG"}}
    merged = {**kept, **environment}
    result = python_run(*ENTRANCES[entrance], environment=merged)
    assert result.returncode == 1, result.stdout + result.stderr
    assert "Traceback" not in result.stderr
    assert "s3cret" not in result.stdout + result.stderr
    return result.stderr.splitlines()


@each_entrance
def test_each_bad_setting_is_a_line(entrance, tmp_path):
    lines = refusal(
        entrance, CONDUCTOR_ENV="production", CONDUCTOR_VAR_DIR=str(tmp_path)
    )
    assert lines == [
        "error: SECRET_KEY is not set, in production",
        "error: CONDUCTOR_ENCRYPTION_KEYS is not set, in production",
        "error: ALLOWED_HOSTS is not set, in production",
    ]


@each_entrance
def test_each_silent_service_is_a_line(entrance, tmp_path):
    lines = refusal(
        entrance,
        DATABASE_URL=f"postgres://conductor:s3cret@{NOBODY}/conductor",
        REDIS_URL=f"redis://:s3cret@{NOBODY}",
        CONDUCTOR_VAR_DIR=str(tmp_path),
    )
    named = [line for line in lines if "cannot be used" in line or "not answer" in line]
    assert [line.partition("_URL: ")[0].split()[-1] for line in named] == [
        "DATABASE",
        "REDIS",
    ]


@pytest.mark.parametrize(
    "change",
    [
        {"DATABASE_URL": "postgre://conductor:s3cret@db/conductor"},
        {"DATABASE_URL": "postgres://conductor:s3cret@db:x/conductor"},
        {"DATABASE_URL": "s3cret"},
        {"REDIS_URL": "http://:s3cret@redis"},
    ],
)
def test_a_malformed_address_is_named_and_not_quoted(change, tmp_path):
    [name] = change
    [line] = refusal("web", CONDUCTOR_VAR_DIR=str(tmp_path), **change)
    assert line.startswith(f"error: {name}: not an address like ")
