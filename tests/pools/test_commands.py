"""`manage.py pool_import`, and every example file through it."""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from apps.accounts.models import Team
from apps.audit.models import Entry
from apps.pools.models import Pool
from tests.pools.files import CANARY, ENVIRON, text

EXAMPLES = sorted((Path(settings.BASE_DIR) / "docs" / "pools").glob("*.yaml"))


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ENVIRON.items():
        monkeypatch.setenv(name, value)


def run(path: Path, team: Team, *arguments: str) -> str:
    out = StringIO()
    call_command("pool_import", path, "--team", team.slug, *arguments, stdout=out)
    return out.getvalue()


def write(folder: Path, source: str) -> Path:
    path = folder / "pool.yaml"
    path.write_text(source, encoding="utf-8")
    return path


def test_import_says_what_it_did(team: Team, tmp_path: Path):
    path = write(tmp_path, text())
    out = run(path, team)
    assert "created: worker strong" in out
    assert "pool main, version 1" in out
    assert CANARY not in out


def test_second_import_says_that_nothing_changed(team: Team, tmp_path: Path):
    path = write(tmp_path, text())
    run(path, team)
    assert "nothing to change" in run(path, team)


def test_dry_run_changes_nothing(team: Team, tmp_path: Path):
    out = run(write(tmp_path, text()), team, "--dry-run")
    assert "would be created: worker strong" in out
    assert not Pool.objects.for_team(team.id).exists()
    assert not Entry.objects.for_team(team.id).exists()


def test_fault_is_shown_with_its_path(team: Team, tmp_path: Path):
    path = write(tmp_path, text(workers__2__price={"input": "x"}))
    with pytest.raises(CommandError, match=r"workers\[2\]\.price\.input: "):
        run(path, team)


def test_missing_variable_is_named(
    team: Team, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("PLANNER_KEY")
    with pytest.raises(CommandError, match="'PLANNER_KEY' is not set"):
        run(write(tmp_path, text()), team)


def test_missing_file_is_named(team: Team, tmp_path: Path):
    with pytest.raises(CommandError, match="cannot read"):
        run(tmp_path / "nothing.yaml", team)


def test_binary_file_is_refused(team: Team, tmp_path: Path):
    path = tmp_path / "pool.yaml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(CommandError, match="not UTF-8"):
        run(path, team)


@pytest.mark.django_db
def test_unknown_team_is_refused(tmp_path: Path):
    with pytest.raises(CommandError, match="no team"):
        run(tmp_path / "pool.yaml", Team(slug="nowhere"))


def test_there_are_examples():
    assert len(EXAMPLES) >= 6


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_imports_and_is_idempotent(
    path: Path, team: Team, monkeypatch: pytest.MonkeyPatch
):
    source = path.read_text(encoding="utf-8")
    for name in re.findall(r"api_key_env: (\w+)", source):
        monkeypatch.setenv(name, "sk-example")
    assert "version 1" in run(path, team)
    assert "nothing to change" in run(path, team)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_says_how_to_use_it(path: Path):
    assert f"manage.py pool_import docs/pools/{path.name}" in path.read_text()
