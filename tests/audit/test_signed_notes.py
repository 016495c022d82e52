"""Signed notes and checkpoints are those of C2SP: an example, and cosignatures."""

from __future__ import annotations

import io
import json
import uuid
from base64 import b64decode, b64encode
from collections.abc import Callable
from hashlib import sha256

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)

from apps.audit.bundles import verifier
from apps.audit.checkpoints.format import read_line
from apps.audit.checkpoints.notes import note_key_id, signed_note, verifier_key
from apps.audit.checkpoints.verification import Copies
from apps.audit.signing import is_signed_by, own_public_keys
from tests.audit.bundles.forging import (
    Files,
    export,
    own_keys,
    signed,
    team_with_two_runs,
    unzipped,
    zipped,
)
from tests.audit.examples import chain_of
from tests.audit.tampering import copied_lines
from tests.docs.reading import run, snippets

NAME = "PeterNeumann"
SKEY = "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz"
VKEY = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
TEXT = (
    "If you think cryptography is the answer to your problem,\n"
    "then you don't know what your problem is.\n"
)
SIGNATURE = (
    "\u2014 PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZ"
    "SNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
)
"""The example of the package documentation of golang.org/x/mod/sumdb/note."""
Move = Callable[[str, str], str]


def example_key() -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(b64decode(SKEY.split("+", 4)[4])[1:])


# --- the example of Go ---------------------------------------------------------------


def test_our_signer_makes_the_published_note() -> None:
    key = example_key()
    signature = note_key_id(NAME, key.public_key()) + key.sign(TEXT.encode())
    assert signed_note(TEXT, NAME, signature) == f"{TEXT}\n{SIGNATURE}"
    assert verifier_key(NAME, key.public_key()) == VKEY


def test_our_verifier_takes_the_published_signature_and_no_changed_text() -> None:
    key = Ed25519PublicKey.from_public_bytes(b64decode(VKEY.split("+", 2)[2])[1:])
    signature = b64decode(SIGNATURE.split(" ")[2])
    assert signature[:4].hex() == VKEY.split("+")[1]
    assert is_signed_by(key, signature[4:], TEXT.encode())
    assert not is_signed_by(key, signature[4:], TEXT.replace("your", "my").encode())


def test_the_verifier_of_exports_reads_the_published_form() -> None:
    """There a key is called as the first line says, so the example is of another."""
    key = example_key()
    first_line = TEXT.partition("\n")[0].replace(" ", "-")
    text = f"{first_line}\n{TEXT}"
    signature = note_key_id(first_line, key.public_key()) + key.sign(text.encode())
    note = f"{text}\n{SIGNATURE}".encode()
    keys = [key.public_key()]
    with pytest.raises(verifier.BundleRefused, match="not signed"):
        verifier.open_note("note", {"note": note}, keys)
    both = note + signed_note("", first_line, signature).lstrip("\n").encode()
    assert verifier.open_note("note", {"note": both}, keys)[0] == text


# --- cosignatures --------------------------------------------------------------------


def cosignature(text: str, name: str = "cosigner.example/one") -> str:
    """Return the line of a witness. Source: C2SP tlog-cosignature, cosignature/v1."""
    key, time = Ed25519PrivateKey.generate(), 1_900_000_000
    signed_text = f"cosignature/v1\ntime {time}\n{text}".encode()
    key_data = b"\x04" + key.public_key().public_bytes_raw()
    key_id = sha256(f"{name}\n".encode() + key_data).digest()[:4]
    data = key_id + time.to_bytes(8, "big") + key.sign(signed_text)
    return f"\u2014 {name} {b64encode(data).decode()}\n"


def text_of(note: str) -> str:
    return note.partition("\n\n")[0] + "\n"


def after(note: str, line: str) -> str:
    return note + line


def before(note: str, line: str) -> str:
    text, _, signatures = note.partition("\n\n")
    return f"{text}\n\n{line}{signatures}"


def around(note: str, line: str) -> str:
    second = line.replace("/one", "/two")
    return before(after(note, line), second)


MOVES: tuple[Move, ...] = (after, before, around)


def broken(note: str) -> str:
    """Return a note with another signature of ours: of one bit."""
    text, _, line = note.partition("\n\n")
    start, _, data = line.strip("\n").rpartition(" ")
    signature = bytearray(b64decode(data))
    signature[-1] ^= 1
    return f"{text}\n\n{start} {b64encode(signature).decode()}\n"


@pytest.fixture
def team(transactional_db: None) -> uuid.UUID:
    return team_with_two_runs()


def cosigned(files: Files, move: Move, *, is_broken: bool = False) -> bytes:
    """Return an export whose checkpoint a witness has cosigned, listed as it is."""
    note = files[verifier.CHECKPOINT].decode()
    line = cosignature(text_of(note))
    note = broken(note) if is_broken else note
    return zipped(signed({**files, verifier.CHECKPOINT: move(note, line).encode()}))


@pytest.mark.parametrize("move", MOVES)
def test_exports_with_a_cosigned_checkpoint_verify(team, move) -> None:
    content = cosigned(unzipped(export(team)), move)
    found = verifier.verify_bundle(io.BytesIO(content), public_keys=own_keys())
    assert found.entries == 3


@pytest.mark.parametrize("move", MOVES)
def test_a_cosignature_does_not_stand_for_ours(team, move) -> None:
    content = cosigned(unzipped(export(team)), move, is_broken=True)
    with pytest.raises(verifier.BundleRefused, match=r"checkpoint\.txt: it is not"):
        verifier.verify_bundle(io.BytesIO(content), public_keys=own_keys())


def with_note(line: str, change: Callable[[str], str]) -> str:
    said = json.loads(line)
    return json.dumps({**said, "note": change(said["note"])})


def compared(lines: list[str]) -> Copies:
    copies = Copies(own_public_keys())
    copies.read("copies.jsonl", lines)
    return copies


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("move", MOVES)
def test_cosigned_copies_are_compared_as_others(move) -> None:
    team_id = chain_of(5)
    (line,) = copied_lines()
    changed = with_note(line, lambda note: move(note, cosignature(text_of(note))))
    checkpoint = read_line(changed)
    assert checkpoint == read_line(line)
    assert checkpoint is not None and checkpoint.is_genuine(own_public_keys())
    copies = compared([changed])
    assert (copies.counts[team_id], copies.faults, copies.refused) == (1, {}, [])


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("move", MOVES)
def test_cosigned_copies_with_a_wrong_signature_of_ours_are_refused(move) -> None:
    chain_of(5)
    (line,) = copied_lines()
    changed = with_note(
        line, lambda note: move(broken(note), cosignature(text_of(note)))
    )
    copies = compared([changed])
    assert copies.total == 0
    assert copies.refused[0].startswith("copies.jsonl line 1: checkpoint_forged")


@pytest.mark.django_db(transaction=True)
def test_a_copy_that_only_a_witness_has_signed_is_no_checkpoint() -> None:
    chain_of(5)
    (line,) = copied_lines()
    changed = with_note(
        line, lambda note: f"{text_of(note)}\n{cosignature(text_of(note))}"
    )
    copies = compared([changed])
    assert (copies.total, copies.others) == (0, 1)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("move", MOVES)
def test_the_printed_comparison_reads_several_signatures(move) -> None:
    chain_of(5)
    (line,) = copied_lines()
    changed = with_note(line, lambda note: move(note, cosignature(text_of(note))))
    _, code = snippets("docs/ledger.md", "python")
    statement = run(code, "compare")["statement"]
    assert callable(statement)
    assert statement(json.loads(changed)) == statement(json.loads(line))
