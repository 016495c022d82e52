"""Random tampering with an export: each kind, and the words in which it is refused.

Whoever tampers signs the list of files again with the site's key; without it, every
change is refused by the signature or a digest alone.
"""

from __future__ import annotations

import json
import random
import uuid
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from apps.audit import chain
from apps.audit.bundles import verifier
from apps.audit.canonical_json import canonical_bytes
from tests.audit.bundles.forging import (
    LATER,
    RUNS,
    Files,
    export,
    team_with_two_runs,
    unzipped,
)
from tests.audit.examples import append, draft

NOT_SHOWN = "the proof does not show it in the signed tree"


@dataclass
class Exports:
    """What somebody has at hand, and what they make of the first of them."""

    team: uuid.UUID
    other_team: uuid.UUID
    of_run: Files
    of_other_run: Files
    of_later_run: Files
    of_other_team: Files
    dice: random.Random
    options: dict[str, Any] = field(default_factory=dict)
    """For the verifier."""


class Rows:
    """The entries, proofs and texts of an export, to be changed one by one."""

    def __init__(self, files: Files) -> None:
        self.lines = files[verifier.ENTRIES].splitlines()
        self.proofs: list[Any] = json.loads(files[verifier.PROOFS])["entries"]
        self.bodies: list[Any] = json.loads(files[verifier.BODIES])["bodies"]

    def seq(self, index: int) -> int:
        return int(self.proofs[index]["seq"])

    @property
    def files(self) -> Files:
        return {
            verifier.ENTRIES: b"".join(line + b"\n" for line in self.lines),
            verifier.PROOFS: json.dumps({"entries": self.proofs}).encode(),
            verifier.BODIES: json.dumps({"bodies": self.bodies}).encode(),
        }

    def drop(self, index: int) -> None:
        seq = self.seq(index)
        del self.lines[index], self.proofs[index]
        self.bodies = [body for body in self.bodies if body["seq"] != seq]


Tampered = tuple[Files, str]
"""What is changed, and the words of the refusal."""
Tamper = Callable[[Exports], Tampered]


def exports(dice: random.Random) -> Exports:
    """Return the exports of two runs, of a later one, and of another team's run."""
    team, other = team_with_two_runs(), team_with_two_runs()
    first, second = unzipped(export(team)), unzipped(export(team, RUNS[1]))
    append(team, draft(subject_id=LATER))
    later, foreign = unzipped(export(team, LATER)), unzipped(export(other))
    return Exports(team, other, first, second, later, foreign, dice)


def field_changed(given: Exports) -> Tampered:
    rows = Rows(given.of_run)
    index = given.dice.randrange(3)
    document = json.loads(rows.lines[index])
    name, value = given.dice.choice(
        [
            ("action", "run.deleted"),
            ("outcome", "denied"),
            ("data", {"number": 9}),
            ("actor", {"type": "user", "id": "2", "display": "Mallory"}),
            ("recorded", "2020-01-01T00:00:00.000001Z"),
        ]
    )
    rows.lines[index] = canonical_bytes({**document, name: value})
    return rows.files, f"entries.jsonl seq {rows.seq(index)}: {NOT_SHOWN}"


def content_byte_changed(given: Exports) -> Tampered:
    rows = Rows(given.of_run)
    body = given.dice.choice(rows.bodies)
    if given.dice.random() < 0.5:
        at = given.dice.randrange(len(body["text"]))
        body["text"] = f"{body['text'][:at]}_{body['text'][at + 1 :]}"
    else:
        salt = bytearray.fromhex(body["salt"])
        salt[given.dice.randrange(len(salt))] ^= 1 << given.dice.randrange(8)
        body["salt"] = salt.hex()
    where = f"bodies.json seq {body['seq']} {body['name']}"
    return rows.files, f"{where}: it is not what was recorded"


def row_deleted(given: Exports) -> Tampered:
    rows = Rows(given.of_run)
    rows.drop(given.dice.randrange(3))
    return rows.files, "entries.jsonl: 2 entries, the manifest says 3"


def row_inserted(given: Exports) -> Tampered:
    rows, others = Rows(given.of_run), Rows(given.of_other_run)
    index = given.dice.randrange(3)
    rows.lines.insert(index, others.lines[index])
    rows.proofs.insert(index, others.proofs[index])
    return rows.files, "entries.jsonl: 4 entries, the manifest says 3"


def rows_swapped(given: Exports) -> Tampered:
    rows = Rows(given.of_run)
    first, second = sorted(given.dice.sample(range(3), 2))
    swap(rows.lines, first, second)
    if given.dice.random() < 0.5:
        return rows.files, f"entries.jsonl seq {rows.seq(first)}: {NOT_SHOWN}"
    swap(rows.proofs, first, second)
    seqs = [rows.seq(index) for index in range(3)]
    late = next(i for i in range(1, 3) if seqs[i] < seqs[i - 1])
    words = f"it comes after seq {seqs[late - 1]} of 6"
    return rows.files, f"entries.jsonl seq {seqs[late]}: {words}"


def swap(values: list[Any], first: int, second: int) -> None:
    values[first], values[second] = values[second], values[first]


def chain_recomputed(given: Exports) -> Tampered:
    """From a row on: each says that the one before was what it now is."""
    rows = Rows(given.of_run)
    index = given.dice.randrange(3)
    rows.lines[index] = rows.lines[index].replace(b"Alice", b"Mally")
    for number in range(index, 3):
        previous = bytes.fromhex(rows.proofs[number]["previous"])
        line = rows.lines[number]
        end = chain.entry_hash(given.team, rows.seq(number), previous, line)
        for later in rows.proofs[number + 1 :]:
            later["previous"] = end.hex()
    return rows.files, f"entries.jsonl seq {rows.seq(index)}: {NOT_SHOWN}"


def checkpoint_dropped(given: Exports) -> Tampered:
    return (
        {verifier.CHECKPOINT: b""},
        "checkpoint.txt: it is not signed with the public key",
    )


def checkpoint_replaced(given: Exports) -> Tampered:
    name = verifier.CHECKPOINT
    root = b64encode(given.dice.randbytes(32))
    lines = given.of_run[name].split(b"\n")
    forged = b"\n".join([*lines[:2], root, *lines[3:]])
    content, words = given.dice.choice(
        [
            (given.of_other_team[name], "it is of another team"),
            (given.of_later_run[name], "it is not the one that the manifest names"),
            (forged, "it is not signed with the public key"),
        ]
    )
    return {name: content}, f"checkpoint.txt: {words}"


def tail_cut(given: Exports) -> Tampered:
    rows = Rows(given.of_run)
    cut = given.dice.randint(1, 2)
    for index in range(2, 2 - cut, -1):
        rows.drop(index)
    return rows.files, f"entries.jsonl: {3 - cut} entries, the manifest says 3"


def rows_moved_between_teams(given: Exports) -> Tampered:
    rows, others = Rows(given.of_run), Rows(given.of_other_team)
    index = given.dice.randrange(3)
    rows.lines[index] = others.lines[index]
    if given.dice.random() < 0.5:
        rows.proofs[index] = others.proofs[index]
    return rows.files, f"entries.jsonl seq {rows.seq(index)}: {NOT_SHOWN}"


def bundle_of_another_team_replayed(given: Exports) -> Tampered:
    given.options = {"team": given.team}
    if given.dice.random() < 0.5:
        given.options["run"] = RUNS[0]
    return given.of_other_team, "manifest.txt: it is of another team"


def proof_of_another_entry(given: Exports) -> Tampered:
    rows = Rows(given.of_run)
    first, second = given.dice.sample(range(3), 2)
    rows.proofs[first]["path"] = rows.proofs[second]["path"]
    return rows.files, f"entries.jsonl seq {rows.seq(first)}: {NOT_SHOWN}"


KINDS: Mapping[str, Tamper] = {
    "field changed": field_changed,
    "content byte changed": content_byte_changed,
    "row deleted": row_deleted,
    "row inserted": row_inserted,
    "rows swapped": rows_swapped,
    "chain recomputed": chain_recomputed,
    "checkpoint dropped": checkpoint_dropped,
    "checkpoint replaced": checkpoint_replaced,
    "tail cut": tail_cut,
    "rows moved between teams": rows_moved_between_teams,
    "bundle of another team replayed": bundle_of_another_team_replayed,
    "proof of another entry": proof_of_another_entry,
}
