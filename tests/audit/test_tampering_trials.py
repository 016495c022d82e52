"""G11: random trials of every kind of tampering, found by team, seq and kind.

Five of each kind, at least one of each way to do it, and 100 in `make test-all`.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import orjson
import pytest
from django.db import IntegrityError, transaction

from apps.audit.bundles import verifier
from apps.audit.bundles.export import bundle_create
from apps.audit.checkpoints.verification import Copies
from apps.audit.merkle import hashing, stored_tree
from apps.audit.signing import own_public_keys
from apps.audit.verify import team_ids, verify_team
from apps.core.errors import ConductorError
from tests.audit.bundles.forging import unzipped
from tests.audit.examples import ALICE, append, draft
from tests.audit.tampering import copied_lines, erase, verify
from tests.audit.trials import (
    CAN_EXPORT_A_LIE,
    KINDS,
    LENGTH,
    RUNS,
    Found,
    Ledger,
    two_chains,
)
from tests.seeds import new_dice
from tests.tiers import trials

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def small_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stored node has 4 children, so that a short chain has a tree of rows."""
    monkeypatch.setattr(hashing, "STEP", 2)
    monkeypatch.setattr(stored_tree, "STEP", 2)
    monkeypatch.setattr(stored_tree, "WIDTH", 4)


@contextmanager
def undone() -> Iterator[None]:
    """Undo what a trial does to the database."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def found_in(ledger: Ledger) -> Found:
    """Return what verification says of each team at fault: the first seq and kind."""
    copies = Copies(own_public_keys())
    copies.read("copies.jsonl", ledger.lines)
    assert copies.refused == []
    found = {}
    for team in {*team_ids(), *copies.counts}:
        report = verify_team(team).with_fault(copies.faults.get(team))
        if report.fault:
            found[team] = (report.fault.seq, report.fault.kind)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_g11_every_trial_is_found_by_team_seq_and_kind(kind: str) -> None:
    ledger = two_chains(new_dice())
    recorded = exports_of(ledger)
    assert len(recorded) == LENGTH
    lines = list(ledger.lines)
    variants = KINDS[kind]
    for number in range(trials(max(5, len(variants)), exhaustive=100)):
        ledger.dice = new_dice()
        ledger.lines = list(lines)
        tamper = variants[number % len(variants)]
        told = f"{tamper.__name__}, trial {number}"
        with undone():
            assert tamper(ledger) == found_in(ledger), told
            if number < 5 * len(variants) and tamper not in CAN_EXPORT_A_LIE:
                assert exports_of(ledger) <= recorded, told
    ledger.lines = lines
    assert found_in(ledger) == {}


def exports_of(ledger: Ledger) -> set[tuple[bytes, bytes]]:
    """Return each entry, with its texts, that exports of a team's runs prove.

    An export that would not verify is refused, and none is made where a row stands in
    the place of the entry that records it: both prove nothing.
    """
    proven = set()
    for run in RUNS:
        with undone(), suppress(ConductorError, IntegrityError):
            made = bundle_create(team_id=ledger.team, run_id=run, actor=ALICE)
            files = unzipped(made.content)
            entries = files[verifier.ENTRIES].splitlines()
            texts = orjson.loads(files[verifier.BODIES])["bodies"]
            proofs = orjson.loads(files[verifier.PROOFS])["entries"]
            for line, proof in zip(entries, proofs, strict=True):
                of_entry = [text for text in texts if text["seq"] == proof["seq"]]
                proven.add((line, orjson.dumps(of_entry)))
    return proven


def test_g11_untouched_chains_raise_no_alarm() -> None:
    """Whatever their history: random ones."""
    dice, count = new_dice(), trials(5, exhaustive=100)
    lines: list[str] = []
    for number in range(count):
        team = uuid.uuid4()
        for _ in range(dice.randint(1, 4)):
            texts = [{"text": "a"}] * dice.randint(1, 9)
            seqs = append(team, *(draft(bodies=each) for each in texts))
            if dice.random() < 0.3:
                erase(team, dice.choice(seqs))
            if dice.random() < 0.7:
                lines += copied_lines()
        assert verify_team(team).is_intact, f"trial {number}"
    assert len(team_ids()) == count
    assert found_in(Ledger(team, team, dice, lines)) == {}


def test_g11_the_command_names_team_seq_and_kind(tmp_path: Path) -> None:
    for kind, (tamper, *_) in KINDS.items():
        ledger = two_chains(new_dice())
        with undone():
            expected = tamper(ledger)
            file = tmp_path / "copies.jsonl"
            file.write_text("\n".join(ledger.lines))
            complaint = verify("--checkpoints", file)[1]
        for team, (seq, fault) in expected.items():
            named = rf"team {team}.*; FAULT {fault} at seq {seq}: "
            assert re.search(named, complaint), kind
