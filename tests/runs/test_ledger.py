"""The ledger after real traffic: it verifies, and every change to it is found."""

from __future__ import annotations

import io

import pytest
from django.core.management import CommandError, call_command

from apps.audit.models import Entry
from apps.runs.models import Run, RunState
from tests.audit.examples import execute
from tests.runs.clients import ask_all, request

MODELS = (
    "conductor-ultra",
    "conductor-mini",
    "worker/sim-birch",
    "worker/fault-400",
    "worker/fault-500-once",
    "worker/instant",
    "worker/nobody",
)
QUESTIONS = ("What is 17 * 23 + 4?", "What is the capital of France?", "Reverse «abc».")


def verify() -> str:
    """Return what the command complains of; empty if it exits with 0."""
    err = io.StringIO()
    try:
        call_command("audit_verify", stdout=io.StringIO(), stderr=err)
    except CommandError:
        return err.getvalue()
    assert err.getvalue() == ""
    return ""


def ask_mixed(site, count: int):
    for name in ("fault-400", "fault-500-once", "instant"):
        site.add_worker(name)
    return ask_all(
        site,
        [
            (
                str(n),
                "",
                request(
                    MODELS[n % len(MODELS)],
                    f"{QUESTIONS[n % len(QUESTIONS)]} ({n})",
                    is_streamed=n % 2 == 0,
                ),
            )
            for n in range(count)
        ],
    )


def test_two_hundred_mixed_runs_leave_a_sound_ledger(site):
    answers = ask_mixed(site, 200)
    named = [said for said in answers if said.run_id]
    runs = Run.objects.for_team(site.cast.team.id)
    assert runs.count() == len(named) == 200 - 200 // len(MODELS)
    assert not runs.filter(state=RunState.RUNNING).exists()
    assert verify() == ""


@pytest.fixture
def chain(site):
    """A team's chain after a few runs, and the seq of an entry in its middle."""
    ask_mixed(site, 14)
    assert verify() == ""
    team_id = site.cast.team.id
    return team_id, Entry.objects.for_team(team_id).count() // 2


def change_a_byte(team_id, seq) -> None:
    entry = Entry.objects.for_team(team_id).get(seq=seq)
    changed = bytearray(entry.canonical)
    changed[len(changed) // 2] ^= 1
    entries = Entry.objects.for_team(team_id).filter(seq=seq)
    entries.update(canonical=bytes(changed))


def delete_a_row(team_id, seq) -> None:
    Entry.objects.for_team(team_id).filter(seq=seq).delete()


def swap_two_rows(team_id, seq) -> None:
    move = "UPDATE audit_entry SET seq = %s WHERE team_id = %s AND seq = %s"
    for old, new in ((seq, -1), (seq + 1, seq), (-1, seq + 1)):
        execute(move, new, team_id, old)


@pytest.mark.parametrize("tamper", [change_a_byte, delete_a_row, swap_two_rows])
def test_every_change_is_found_at_its_place(chain, tamper):
    team_id, seq = chain
    tamper(team_id, seq)
    complaint = verify()
    assert f"team {team_id}" in complaint
    assert f"at seq {seq}:" in complaint
