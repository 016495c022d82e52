from __future__ import annotations

import io
import uuid

import pytest
from django.core.management import CommandError, call_command

from apps.audit import checking
from tests.audit.examples import RUN, chain_of, execute

pytestmark = pytest.mark.django_db(transaction=True)


def run(*arguments: str) -> tuple[str, str]:
    """Return what the command prints, and what it complains of."""
    out, err = io.StringIO(), io.StringIO()
    try:
        call_command("audit_verify", *arguments, stdout=out, stderr=err)
    except CommandError as exc:
        err.write(str(exc))
    return out.getvalue(), err.getvalue()


def tamper(team_id: uuid.UUID, seq: int) -> None:
    execute(
        "UPDATE audit_entry SET action = 'x' WHERE team_id = %s AND seq = %s",
        team_id,
        seq,
    )


def test_sound_ledger_is_summed_up() -> None:
    chain_of(3)
    chain_of(4)
    out, err = run()
    assert "2 chains hold, 7 entries" in out
    assert err == ""


def test_tampering_exits_non_zero_and_names_the_place() -> None:
    chain_of(2)
    team_id = chain_of(5)
    tamper(team_id, 4)
    _, err = run()
    assert f"team {team_id}" in err and "FAULT column_changed at seq 4" in err
    assert "1 of 2 chains do not hold" in err


def test_every_faulty_place_is_named() -> None:
    team_id = chain_of(5)
    for seq in (2, 4):
        tamper(team_id, seq)
    _, err = run()
    lines = [line for line in err.splitlines() if "FAULT" in line]
    assert [
        f"FAULT column_changed at seq {seq}" in line
        for seq, line in zip((2, 4), lines, strict=True)
    ] == [True, True]
    assert all(line.startswith(f"team {team_id}") for line in lines)


def test_faults_beyond_the_first_hundred_are_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(checking, "MAX_FAULTS", 2)
    team_id = chain_of(5)
    for seq in range(1, 6):
        tamper(team_id, seq)
    _, err = run()
    assert f"team {team_id}; 3 further faults" in err


def test_one_team_can_be_verified() -> None:
    tamper(chain_of(2), 1)
    out, err = run("--team", str(chain_of(3)))
    assert "1 chain holds, 3 entries" in out
    assert err == ""


def test_one_run_can_be_verified() -> None:
    other = uuid.uuid4()
    chain_of(3, subject_id=other)
    tamper(chain_of(2), 2)
    assert "3 entries, 3 bodies" in run("--run", str(other))[0]
    assert "at seq 2" in run("--run", str(RUN))[1]


def test_unknown_run_is_an_error() -> None:
    with pytest.raises(CommandError, match="no entries about"):
        call_command("audit_verify", run=uuid.uuid4())
