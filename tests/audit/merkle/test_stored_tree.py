"""The tree in the database: nodes made in pages, signed roots, and what is found."""

from __future__ import annotations

import io
import json
import uuid
from base64 import b64decode, b64encode
from hashlib import sha256

import pytest
from django.core.management import call_command

from apps.audit import chain
from apps.audit.checkpoints import creation
from apps.audit.checkpoints.creation import checkpoints_create
from apps.audit.checkpoints.notes import read_note
from apps.audit.merkle import hashing, prefix_roots, stored_tree
from apps.audit.merkle.proofs import (
    consistency_proof,
    inclusion_proof,
    is_consistent,
    is_included,
)
from apps.audit.merkle.stored_tree import StoredTree, TreeUnavailable, tree_extend
from apps.audit.models import Checkpoint, Entry, TreeNode
from apps.audit.services import head_accept
from tests.audit.examples import ALICE, append, chain_of, draft, execute, place
from tests.audit.merkle import naive
from tests.audit.tampering import (
    copied_lines,
    cut_tail,
    remove_checkpoints,
    rewrite,
    set_head,
    verify,
)

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes of 4 children instead of 256."""
    monkeypatch.setattr(hashing, "STEP", 2)
    monkeypatch.setattr(stored_tree, "STEP", 2)
    monkeypatch.setattr(stored_tree, "WIDTH", 4)
    monkeypatch.setattr(stored_tree, "PAGE_NODES", 3)


def leaves(team_id: uuid.UUID) -> list[bytes]:
    """Return the data of all leaves."""
    rows = Entry.objects.for_team(team_id).order_by("seq")
    return [chain.untagged(text) for text in rows.values_list("hash", flat=True)]


def encoded(root: bytes) -> str:
    return b64encode(root).decode()


def nodes(team_id: uuid.UUID) -> int:
    return TreeNode.objects.for_team(team_id).count()


def newest(team_id: uuid.UUID) -> Checkpoint:
    return Checkpoint.objects.for_team(team_id).latest("seq")


@pytest.mark.parametrize("size", [1, 3, 4, 5, 15, 16, 17, 63, 64, 70])
def test_roots_and_proofs_are_those_of_the_definition(small_steps, size):
    team_id = chain_of(size)
    assert tree_extend(team_id, size)
    assert nodes(team_id) == size // 4 + size // 16 + size // 64
    tree, data = StoredTree(team_id, size), leaves(team_id)
    for old in range(1, size + 1):
        assert tree.root(old) == naive.root(data[:old])
        proof = consistency_proof(old, size, tree.hash_of)
        assert is_consistent(old, size, tree.root(old), tree.root(), proof)
        leaf = hashing.leaf_hash(data[old - 1])
        path = inclusion_proof(old - 1, size, tree.hash_of)
        assert is_included(leaf, old - 1, size, tree.root(), path)


def test_nodes_of_the_real_width_give_the_same_root():
    team_id = chain_of(515)
    assert tree_extend(team_id, 515)
    assert nodes(team_id) == 2
    assert StoredTree(team_id, 515).root() == naive.root(leaves(team_id))


def test_extension_is_resumed_where_it_stopped(small_steps):
    team_id = chain_of(70)
    calls = 1
    while not tree_extend(team_id, 70, max_pages=1):
        calls += 1
        assert nodes(team_id) <= 3 * calls
    assert calls > 5
    assert StoredTree(team_id, 70).root() == naive.root(leaves(team_id))


def test_roots_of_the_first_entries_need_no_nodes(monkeypatch):
    monkeypatch.setattr(prefix_roots, "PAGE", 4)
    team_id = chain_of(9)
    roots, data = prefix_roots.PrefixRoots(team_id), leaves(team_id)
    for size in (3, 8, 9, 2):
        assert roots.root(size) == naive.root(data[:size])
    execute("DELETE FROM audit_entry WHERE seq = 5")
    assert prefix_roots.PrefixRoots(team_id).root(9) is None
    assert nodes(team_id) == 0


def test_missing_entry_has_no_tree(small_steps):
    team_id = chain_of(9)
    execute("DELETE FROM audit_entry WHERE seq = 3")
    with pytest.raises(TreeUnavailable, match="3 of 4 entries from 1 on"):
        tree_extend(team_id, 4)


# --- checkpoints ---------------------------------------------------------------------


def test_checkpoint_is_a_signed_note_with_the_root():
    team_id = chain_of(5)
    (line,) = copied_lines()
    assert '"v":2' in line
    row = newest(team_id)
    assert row.root == encoded(naive.root(leaves(team_id)))
    note = json.loads(line)["note"]
    told = read_note(note)
    assert told is not None
    assert (told.team, told.size, told.root) == (str(team_id), 5, row.root)
    assert note.startswith(f"conductor/ledger/{team_id}\n5\n{row.root}\n")
    assert verify()[1] == ""


def test_command_prints_a_team_s_key_as_signed_notes_have_it():
    """C2SP signed-note: name, id of the key, base64 of the algorithm and the key."""
    team_id, out = uuid.uuid4(), io.StringIO()
    call_command("audit_public_key", "--team", str(team_id), stdout=out)
    name, digits, data = out.getvalue().strip().split("+", 2)
    assert name == f"conductor/ledger/{team_id}"
    decoded = b64decode(data)
    assert (decoded[0], len(decoded)) == (1, 33)
    assert digits == sha256(f"{name}\n".encode() + decoded).hexdigest()[:8]


def test_every_root_is_checked_against_the_one_before(caplog):
    team_id = chain_of(5)
    checkpoints_create()
    Checkpoint.objects.for_team(team_id).update(root=encoded(bytes(32)))
    append(team_id, draft())
    checkpoints_create()
    assert "it contradicts the checkpoint at 5" in caplog.text
    assert newest(team_id).root == ""


def test_checkpoint_of_a_commit_gets_its_root_later(monkeypatch):
    monkeypatch.setattr("apps.audit.append.is_due", lambda *_: True)
    team_id = chain_of(5)
    assert newest(team_id).root == ""
    assert checkpoints_create() == 1
    row = newest(team_id)
    assert (row.seq, row.root) == (5, encoded(naive.root(leaves(team_id))))
    assert checkpoints_create() == 0
    assert verify()[1] == ""


def test_checkpoint_of_a_chain_that_was_cut_gets_no_root(monkeypatch):
    monkeypatch.setattr("apps.audit.append.is_due", lambda *_: True)
    team_id = chain_of(5)
    signed = newest(team_id).hash
    cut_tail(team_id, 5)
    monkeypatch.undo()
    append(team_id, draft("run.other"))
    checkpoints_create()
    assert (newest(team_id).hash, newest(team_id).root) == (signed, "")


def test_long_chain_gets_checkpoints_before_its_tree_is_ready(small_steps):
    team_id = chain_of(70)
    assert checkpoints_create(max_pages=1) == 1
    assert newest(team_id).root == ""
    while not newest(team_id).root:
        checkpoints_create(max_pages=1)
    assert newest(team_id).root == encoded(naive.root(leaves(team_id)))
    assert verify()[1] == ""


# --- what verification finds ---------------------------------------------------------


def test_signed_root_that_does_not_follow_is_found(monkeypatch):
    team_id = chain_of(5)
    monkeypatch.setattr(creation, "_root", lambda *_: encoded(bytes(32)))
    checkpoints_create()
    assert place(team_id) == (5, "tree_mismatch")
    assert "FAULT tree_mismatch at seq 5: signed root 'AAAA" in verify()[1]


def test_root_changed_in_the_database_is_a_forged_checkpoint():
    team_id = chain_of(5)
    checkpoints_create()
    Checkpoint.objects.for_team(team_id).update(root=encoded(bytes(32)))
    assert place(team_id) == (5, "checkpoint_forged")
    Checkpoint.objects.for_team(team_id).update(root="")
    assert place(team_id) == (5, "checkpoint_forged")


@pytest.mark.parametrize(("level", "index", "seq"), [(2, 1, 8), (4, 0, 16)])
def test_changed_node_is_found_and_no_wrong_root_signed(small_steps, level, index, seq):
    team_id = chain_of(17)
    checkpoints_create()
    rows = TreeNode.objects.for_team(team_id).filter(level=level, index=index)
    rows.update(hash=bytes(32))
    assert place(team_id) == (seq, "tree_mismatch")
    append(team_id, draft())
    checkpoints_create()
    assert newest(team_id).root in ("", encoded(naive.root(leaves(team_id))))


def test_nodes_say_where_a_chain_was_rewritten(small_steps):
    team_id = chain_of(9)
    checkpoints_create()
    rewrite(team_id, 3)
    assert place(team_id) == (4, "tree_mismatch")
    TreeNode.objects.for_team(team_id).filter(level=2, index=0).delete()
    assert place(team_id) == (4, "tree_mismatch")
    TreeNode.objects.for_team(team_id).delete()
    assert place(team_id) == (9, "rewritten")


def test_accepted_chain_gets_its_tree_from_what_it_holds(small_steps):
    team_id = chain_of(9)
    checkpoints_create()
    rewrite(team_id, 3)
    remove_checkpoints(team_id)
    set_head(team_id, mac=b"")
    head_accept(team_id=team_id, actor=ALICE, reason="looked into")
    checkpoints_create()
    assert newest(team_id).root == encoded(naive.root(leaves(team_id)))
