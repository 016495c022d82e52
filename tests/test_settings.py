"""Settings come from the environment alone, and production refuses to be unsafe."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.processes.python import python_output, python_run
from tests.scratch_database import migrated_file

pytestmark = pytest.mark.slow

SAFE = {
    "CONDUCTOR_ENV": "production",
    "SECRET_KEY": "a-long-random-text-for-this-test-only-0123456789-abcdefghij",
    "CONDUCTOR_ENCRYPTION_KEYS": "k1:" + "A" * 43 + "=",
    "ALLOWED_HOSTS": "conductor.example",
    "CONDUCTOR_URL": "https://conductor.example",
    "EMAIL_BACKEND": "django.core.mail.backends.smtp.EmailBackend",
}


def check(tmp_path: Path, **changes: str) -> subprocess.CompletedProcess[str]:
    """Check a site's settings as before a deployment."""
    level = ("--fail-level", "WARNING")
    return manage(tmp_path, "check", "--deploy", *level, **changes)


def manage(
    tmp_path: Path, *arguments: str, **changes: str
) -> subprocess.CompletedProcess[str]:
    values = {**SAFE, "CONDUCTOR_VAR_DIR": str(tmp_path), **changes}
    kept = {k: v for k, v in os.environ.items() if k in {"PATH", "HOME", "LANG"}}
    environment = {**kept, **{k: v for k, v in values.items() if v}}
    return python_run("manage.py", *arguments, environment=environment)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a database and static files, as before a start."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copy(migrated_file(), folder / "conductor.sqlite3")
    manage(folder, "collectstatic", "--no-input", "--verbosity", "0").check_returncode()
    return folder


def test_safe_production_settings_pass_the_deployment_check(prepared):
    result = check(prepared)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(("mode", "is_demo"), [("production", 0), ("development", 1)])
def test_a_demo_lets_anybody_in_but_never_in_production(tmp_path, mode, is_demo):
    line = ("shell", "-c", "from django.conf import settings as s; print(+s.IS_DEMO)")
    shown = manage(tmp_path, *line, CONDUCTOR_ENV=mode, CONDUCTOR_DEMO="true")
    assert shown.stdout.strip().endswith(str(is_demo)), shown.stderr


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"DEBUG": "true"}, "DEBUG is on"),
        ({"SECRET_KEY": ""}, "SECRET_KEY is not set"),
        ({"SECRET_KEY": "a"}, "SECRET_KEY is too weak (at least 32 random"),
        ({"SECRET_KEY": "short-but-random-0123456789-xyz"}, "SECRET_KEY is too weak"),
        ({"SECRET_KEY": "ab" * 40}, "SECRET_KEY is too weak"),
        ({"CONDUCTOR_ENCRYPTION_KEYS": ""}, "CONDUCTOR_ENCRYPTION_KEYS is not set"),
        ({"ALLOWED_HOSTS": ""}, "ALLOWED_HOSTS is not set"),
        ({"ALLOWED_HOSTS": "*"}, "ALLOWED_HOSTS contains *"),
    ],
)
def test_unsafe_production_is_refused_by_name(tmp_path, change, complaint):
    result = check(tmp_path, **change)
    assert result.returncode != 0
    assert complaint in result.stderr


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"CONDUCTOR_ENV": "prod"}, "CONDUCTOR_ENV='prod': expected development or"),
        ({"DEBUG": "maybe"}, "DEBUG='maybe': expected true or false"),
        ({"MAX_LIVE_RUNS": "-1"}, "MAX_LIVE_RUNS='-1': expected a whole number"),
        ({"SECRET_KEY_FILE": "/nowhere"}, "SECRET_KEY_FILE='/nowhere' cannot be read"),
        ({"PRICE_LIST_URL": "ftp://a.example"}, "PRICE_LIST_URL: not an address like"),
        ({"PRICE_LIST_URL": "https://"}, "PRICE_LIST_URL: not an address like"),
        ({"PRICE_LIST_URL": "https://a:x"}, "PRICE_LIST_URL: not an address like"),
        ({"CONDUCTOR_ENCRYPTION_KEYS": "k1:aGk="}, "CONDUCTOR_ENCRYPTION_KEYS: key 1"),
        ({"RETENTION_DAYS": "30"}, "RETENTION_DAYS=30: expected 183 to 2557 days"),
        ({"FILE_DAYS": "184"}, "FILE_DAYS=184: expected at most 183"),
    ],
)
def test_a_bad_value_is_named(tmp_path, change, complaint):
    assert complaint in check(tmp_path, **change).stderr


@pytest.mark.parametrize(
    ("mode", "given", "networks"),
    [
        ("development", None, ["127.0.0.0/8", "::1/128"]),
        ("development", "", []),
        ("development", "10.1.0.0/16", ["10.1.0.0/16"]),
        ("production", None, []),
        ("production", "", []),
    ],
)
def test_networks_of_models_that_are_set_and_empty_are_none(mode, given, networks):
    """T15: in development it fell back to this machine."""
    code = "from conductor_site.settings import MODEL_NETWORKS as n; print(n)"
    kept = {k: v for k, v in os.environ.items() if k in {"PATH", "HOME", "LANG"}}
    given_too = {} if given is None else {"MODEL_NETWORKS": given}
    environment = {**kept, **SAFE, "CONDUCTOR_ENV": mode, **given_too}
    assert python_output("-c", code, environment=environment) == f"{networks}\n"


def test_a_bad_encryption_key_is_not_repeated(tmp_path):
    key = "B" * 43 + "="  # whoever forgets the name before it
    result = check(tmp_path, CONDUCTOR_ENCRYPTION_KEYS=key)
    assert "CONDUCTOR_ENCRYPTION_KEYS: key 1" in result.stderr
    assert key not in result.stderr


def test_a_bad_address_of_a_price_list_is_not_repeated(tmp_path):
    result = check(tmp_path, PRICE_LIST_URL="https://me:canary@a.example/list")
    assert "PRICE_LIST_URL: not an address like https://host/path" in result.stderr
    assert "canary" not in result.stderr


def test_a_secret_may_come_from_a_file(prepared, tmp_path):
    (tmp_path / "secret").write_text(SAFE["SECRET_KEY"] + "\n")
    change = {"SECRET_KEY": "", "SECRET_KEY_FILE": str(tmp_path / "secret")}
    assert check(prepared, **change).returncode == 0


def test_an_empty_name_of_a_file_is_none(prepared):
    assert check(prepared, SECRET_KEY_FILE="").returncode == 0
