"""No fault can be taken out of the product's verifier without something unseen.

Each case tampers with a chain; a verifier without a fault must judge one differently.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable
from functools import partial

import pytest

from apps.audit import chain
from apps.audit.chain import FaultKind
from apps.audit.checkpoints.verification import Copies
from apps.audit.merkle import hashing, stored_tree
from apps.audit.models import Entry
from apps.audit.signing import own_public_keys
from apps.audit.storage.stored import stored_links
from apps.audit.verify import VerifyReport, team_ids, verify_subject, verify_team
from tests.audit import test_forging, test_verify, trials
from tests.audit.examples import RUN, append, chain_of, digest_at, draft
from tests.audit.mutation import Mutant, mutants
from tests.audit.tampering import authenticate, checkpoint, cut_tail
from tests.audit.test_tampering_trials import undone

pytestmark = pytest.mark.django_db

Judgement = dict[str, list[tuple[int, FaultKind]]]
"""Seq and kind of each fault, by what was verified."""
Case = Callable[[], Callable[[], Judgement]]
"""Tampers; what it returns verifies."""


# --- cases ---------------------------------------------------------------------------


def with_copies(tamper: trials.Tamper) -> Callable[[], Judgement]:
    """Two chains with checkpoints, their copies and stored trees."""
    ledger = trials.two_chains(random.Random(tamper.__name__))
    tamper(ledger)

    def judge() -> Judgement:
        copies = Copies(own_public_keys())
        copies.read("copies.jsonl", ledger.lines)
        found = {f"copies of {t}": [(f.seq, f.kind)] for t, f in copies.faults.items()}
        return found | {str(team): chain_judged(team) for team in team_ids()}

    return judge


def one_chain(tamper: test_verify.Tamper) -> Callable[[], Judgement]:
    team_id = chain_of(test_verify.LENGTH)
    tamper(team_id, 5)
    return lambda: {"chain": chain_judged(team_id)}


def without_the_key(tamper: test_forging.Tamper) -> Callable[[], Judgement]:
    team_id = chain_of(test_forging.LENGTH)
    tamper(team_id)
    return lambda: {"chain": chain_judged(team_id)}


def one_subject(tamper: test_verify.Tamper, seq: int) -> Callable[[], Judgement]:
    """Entries 2, 5 and 8 of nine are about it."""
    team_id = uuid.uuid4()
    for number in range(1, 10):
        subject = RUN if number % 3 == 2 else uuid.uuid4()
        append(team_id, draft(subject_id=subject, bodies={"text": str(number)}))
    tamper(team_id, seq)
    return lambda: {"subject": faults_of(verify_subject(team_id, RUN))}


def before_a_checkpoint(seq: int) -> Callable[[], Judgement]:
    """Entry 2 is about it; 6 is signed, and 4 or 6 is gone, all with the key."""
    team_id = uuid.uuid4()
    others = [draft(subject_id=uuid.uuid4()) for _ in range(5)]
    append(team_id, others[0], draft(), *others[1:])
    checkpoint()
    if seq == 6:
        append(team_id, *others)
        test_verify.deleted_row(team_id, seq)
    else:
        cut_tail(team_id, seq)
    return lambda: {"subject": faults_of(verify_subject(team_id, RUN))}


def no_entry(canonical: bytes) -> Callable[[], Judgement]:
    """Well linked and authenticated bytes that are none."""
    return alone(chain_of(1), canonical)


def odd_digest() -> Callable[[], Judgement]:
    team_id = chain_of(1)
    canonical = bytes(Entry.objects.for_team(team_id).get().canonical)
    own = digest_at(team_id, 1).encode()
    return alone(team_id, canonical.replace(own, b"sha256:00"))


def alone(team_id: uuid.UUID, canonical: bytes) -> Callable[[], Judgement]:
    """Make other bytes the only entry of a chain, with the key."""
    forged = chain.tagged(chain.entry_hash(team_id, 1, chain.GENESIS, canonical))
    test_verify.set_column(team_id, 1, "canonical", canonical)
    test_verify.set_column(team_id, 1, "hash", forged)
    test_verify.set_head(team_id, "hash", forged)
    authenticate(team_id)
    return lambda: {"chain": chain_judged(team_id)}


def link_twice() -> Callable[[], Judgement]:
    """No table holds a place twice; an export may."""
    team_id = chain_of(2)
    links = stored_links(team_id, (1, 2))

    def judge() -> Judgement:
        fault = chain.verify_chain(team_id, [links[1], links[2], links[1]]).fault
        return {"links": [(fault.seq, fault.kind)] if fault else []}

    return judge


def malformed_head(team_id: uuid.UUID, seq: int) -> test_verify.Found:
    test_verify.set_head(team_id, "hash", "none")
    return seq, FaultKind.HEAD_CHANGED


def filed_elsewhere(team_id: uuid.UUID, seq: int) -> test_verify.Found:
    test_verify.set_column(team_id, seq, "subject_id", uuid.uuid4())
    return seq, FaultKind.COLUMN_CHANGED


CASES: list[Case] = [
    *(partial(one_chain, each) for each in test_verify.TAMPERINGS),
    *(partial(without_the_key, each) for each in test_forging.TAMPERINGS),
    partial(one_subject, test_verify.deleted_row, 4),
    partial(one_subject, test_verify.malformed_hash, 4),
    partial(one_subject, malformed_head, 9),
    partial(one_subject, filed_elsewhere, 5),
    partial(before_a_checkpoint, 4),
    partial(before_a_checkpoint, 6),
    odd_digest,
    link_twice,
    partial(no_entry, b""),
    partial(no_entry, b"{}"),
    partial(no_entry, b'{ "v": 1}'),
    *(
        partial(with_copies, each)
        for variants in trials.KINDS.values()
        for each in variants
    ),
]


def faults_of(report: VerifyReport) -> list[tuple[int, FaultKind]]:
    return [(fault.seq, fault.kind) for fault in report.faults]


def chain_judged(team_id: uuid.UUID) -> list[tuple[int, FaultKind]]:
    return faults_of(verify_team(team_id))


# --- the promise ---------------------------------------------------------------------


@pytest.fixture(autouse=True)
def small_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stored node has 4 children, so that a short chain has a tree of rows."""
    monkeypatch.setattr(hashing, "STEP", 2)
    monkeypatch.setattr(stored_tree, "STEP", 2)
    monkeypatch.setattr(stored_tree, "WIDTH", 4)


def test_verifier_without_any_of_its_faults_misses_something() -> None:
    left, seen = mutants(), set[FaultKind]()
    assert len(left) > 30
    for case in CASES:
        with undone():
            judge = case()
            told = judge()
            left = [each for each in left if judged_by(each, judge) == told]
        seen |= {kind for faults in told.values() for _, kind in faults}
    assert [each.name for each in left] == []
    assert seen == set(FaultKind)


def judged_by(mutant: Mutant, judge: Callable[[], Judgement]) -> Judgement:
    with mutant.in_force():
        return judge()
