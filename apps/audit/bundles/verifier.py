#!/usr/bin/env python3
"""Verifies an export of one run, or of a filter, away from the site that made it.

    python verify.py EXPORT [--public-key FILE] [--team ID] [--run ID]
    python verify.py --consistency PROOF.json --public-key FILE [--team ID]

Needs Python 3.11 or newer and the package `cryptography`, nothing else of the product.
EXPORT is the ZIP file, or the folder that it was unpacked in. It checks that the files
are those that the site signed, that every entry is in the Merkle tree of the team that
the site signed, and that every text is that of its entry. The second form checks that
a later signed tree of a team begins with an earlier one. What it takes on trust is the
public key: compare its id with one that the site has published, or give --public-key.
"""

from __future__ import annotations

import argparse
import io
import json
import re
import sys
import zipfile
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, NamedTuple
from uuid import UUID

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_public_key,
)

MANIFEST = "manifest.txt"
CHECKPOINT = "checkpoint.txt"
ENTRIES = "entries.jsonl"
PROOFS = "proofs.json"
BODIES = "bodies.json"
PUBLIC_KEYS = "public-keys.pem"
EXPORT_NAME = "conductor/export/"
LEDGER_NAME = "conductor/ledger/"
MAX_BYTES = 1 << 30
"""Of all files together, unpacked."""
_END = b"-----END PUBLIC KEY-----"
_ID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_MANIFEST = re.compile(
    rf"conductor/export/(?P<team>{_ID})\n"
    rf"(?:run (?P<run>{_ID})|filter (?P<filter>[^\n]+)\ntexts (?P<texts>yes|no))\n"
    r"entries (?P<entries>[0-9]{1,9})\n"
    r"checkpoint (?P<checkpoint>[0-9]{1,19})\n"
    r"time (?P<time>[0-9T:.Z-]{27})\n"
    r"(?P<files>(?:file [0-9a-f]{64} [A-Za-z.-]+\n)+)"
)
_LISTED = re.compile(rb"^file [0-9a-f]{64} ([A-Za-z.-]+)$", re.MULTILINE)
_CHECKPOINT = re.compile(
    rf"conductor/ledger/(?P<team>{_ID})\n"
    r"(?P<size>[0-9]{1,19})\n"
    r"(?P<root>[A-Za-z0-9+/]{43}=)\n"
    r"(?:[^\n]+\n)*"
)
_NOTE = re.compile(
    r"((?:[^\n]+\n)+)\n((?:\u2014 [^ \n]+ [A-Za-z0-9+/]+={0,2}\n)+)", re.ASCII
)


class BundleRefused(Exception):
    """Something does not hold: the file where, and why."""

    def __init__(self, where: str, why: str) -> None:
        super().__init__(f"{where}: {why}")
        self.where = where


class BundleSummary(NamedTuple):
    """What was verified."""

    team: str
    run: str | None
    """None: it is of the entries that `filter` finds, as the site says."""
    filter: str | None
    entries: int
    texts: int
    """Texts that are those of their entries."""
    erased: int
    """Texts that the site no longer has; their digests are in the entries."""
    size: int
    """Entries of the team that the signed tree covers."""
    exported: str
    """When, as the site says."""
    keys: tuple[str, ...]
    """Ids of the keys that signed."""


class _Entry(NamedTuple):
    seq: int
    previous: bytes
    canonical: bytes
    path: Sequence[bytes]


Keys = Sequence[Ed25519PublicKey]


def verify_bundle(
    file: Path | IO[bytes],
    *,
    public_keys: bytes | None = None,
    team: UUID | None = None,
    run: UUID | None = None,
) -> BundleSummary:
    """Verify an export, packed or in a folder. Raises: BundleRefused.

    `public_keys`: the keys to believe, in PEM, instead of those in the export; `team`
    and `run`: what it must be the export of.
    """
    files = _files(file)
    keys = _keys(files.get(PUBLIC_KEYS, b"") if public_keys is None else public_keys)
    text, export_key = open_note(MANIFEST, files, keys)
    manifest = _match(_MANIFEST, text, MANIFEST)
    _check_files(files, manifest["files"])
    demand(
        team is None or str(team) == manifest["team"], MANIFEST, "it is of another team"
    )
    demand(run is None or str(run) == manifest["run"], MANIFEST, "it is of another run")
    text, ledger_key = open_note(CHECKPOINT, files, keys)
    checkpoint = _match(_CHECKPOINT, text, CHECKPOINT)
    demand(checkpoint["team"] == manifest["team"], CHECKPOINT, "it is of another team")
    demand(
        checkpoint["size"] == manifest["checkpoint"],
        CHECKPOINT,
        "it is not the one that the manifest names",
    )
    entries = _entries(files)
    count, told = len(entries), int(manifest["entries"])
    demand(count == told, ENTRIES, f"{count} entries, the manifest says {told}")
    _check_entries(entries, manifest, checkpoint)
    withheld = manifest["texts"] == "no"
    present_and_erased = _check_bodies([] if withheld else entries, files[BODIES])
    return BundleSummary(
        manifest["team"],
        manifest["run"],
        manifest["filter"],
        len(entries),
        *present_and_erased,
        int(checkpoint["size"]),
        manifest["time"],
        tuple(dict.fromkeys((export_key, ledger_key))),
    )


def demand(holds: bool, where: str, why: str) -> None:
    """Refuse the export unless something holds. Raises: BundleRefused."""
    if not holds:
        raise BundleRefused(where, why)


def _odd(where: str, exc: Exception) -> BundleRefused:
    return BundleRefused(where, f"not of the form that is described: {exc}")


# --- files ---------------------------------------------------------------------------


def _files(file: Path | IO[bytes]) -> dict[str, bytes]:
    """Return the files of an archive, or of an unpacked one, by their names."""
    try:
        with zipfile.ZipFile(_packed(file)) as archive:
            infos = archive.infolist()
            names = [info.filename for info in infos]
            demand(len(set(names)) == len(names), "archive", "a file is there twice")
            size = sum(info.file_size for info in infos)
            demand(size <= MAX_BYTES, "archive", f"{size} bytes are too many")
            return {info.filename: _content(archive, info) for info in infos}
    except (zipfile.BadZipFile, OSError) as exc:
        raise BundleRefused("archive", f"it cannot be read: {exc}") from exc


def _packed(file: Path | IO[bytes]) -> Path | IO[bytes]:
    """Return an archive as it is; of a folder, what its manifest lists, as an archive.

    What else lies in the folder, such as a key, is no part of the export.
    """
    if not isinstance(file, Path) or not file.is_dir():
        return file
    listed = _LISTED.findall((file / MANIFEST).read_bytes())
    with zipfile.ZipFile(packed := io.BytesIO(), "w") as archive:
        for part in (file / name.decode() for name in (MANIFEST.encode(), *listed)):
            if part.is_file():
                archive.writestr(part.name, part.read_bytes())
    return packed


def _content(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    try:
        return archive.read(info)
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as exc:
        raise BundleRefused(info.filename, f"it cannot be read: {exc}") from exc


def _check_files(files: Mapping[str, bytes], listed: str) -> None:
    """Compare the files with those that the manifest lists."""
    digests = {name: digest for _, digest, name in map(str.split, listed.splitlines())}
    for name in files.keys() - {MANIFEST}:
        demand(name in digests, name, "the manifest does not list it")
    for name, digest in digests.items():
        demand(name in files, name, "it is missing")
        is_listed = sha256(files[name]).hexdigest() == digest
        demand(is_listed, name, "it is not the file that the manifest lists")


# --- signatures ----------------------------------------------------------------------


def _keys(pem: bytes) -> Keys:
    """Return the Ed25519 keys of a text in PEM format."""
    keys = []
    for part in pem.split(_END)[:-1]:
        try:
            key = load_pem_public_key(part[max(part.find(b"-----BEGIN"), 0) :] + _END)
        except ValueError as exc:
            raise BundleRefused(PUBLIC_KEYS, "a key cannot be read") from exc
        if isinstance(key, Ed25519PublicKey):
            keys.append(key)
    return keys


def key_name(key: Ed25519PublicKey) -> str:
    """Return the id of a key, as the site prints it beside the key."""
    return "ed25519:" + sha256(_raw(key)).hexdigest()[:16]


def _raw(key: Ed25519PublicKey) -> bytes:
    return key.public_bytes(Encoding.Raw, PublicFormat.Raw)


def open_note(where: str, files: Mapping[str, bytes], keys: Keys) -> tuple[str, str]:
    """Return the text of a signed note, and the id of the key that signed it."""
    note = _NOTE.fullmatch(_decoded(files.get(where, b""), where))
    text, signatures = note.groups() if note else ("", "")
    name = text.partition("\n")[0]
    for line in signatures.splitlines():
        _, signer, data = line.split(" ")
        for key in keys if signer == name else ():
            if _is_signature(data, name, key, text):
                return text, key_name(key)
    raise BundleRefused(where, "it is not signed with the public key")


def _is_signature(data: str, name: str, key: Ed25519PublicKey, text: str) -> bool:
    key_id = sha256(name.encode() + b"\n\x01" + _raw(key)).digest()[:4]
    try:
        signature = b64decode(data, validate=True)
        key.verify(signature[4:], text.encode())
    except (ValueError, InvalidSignature):
        return False
    is_canonical = b64encode(signature).decode() == data  # there are other ways
    return is_canonical and signature[:4] == key_id


def _decoded(content: bytes, where: str) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as exc:
        raise BundleRefused(where, "it is not text in UTF-8") from exc


def _match(pattern: re.Pattern[str], text: str, where: str) -> re.Match[str]:
    found = pattern.fullmatch(text)
    if found is None:
        raise BundleRefused(where, "it does not have the form that is described")
    return found


# --- entries -------------------------------------------------------------------------


def _entries(files: Mapping[str, bytes]) -> list[_Entry]:
    """Return the entries with their proofs."""
    lines = files[ENTRIES].split(b"\n")[:-1]
    try:
        proofs = json.loads(files[PROOFS])["entries"]
        why = f"{len(proofs)} proofs for {len(lines)} entries"
        demand(len(proofs) == len(lines), PROOFS, why)
        return [
            _Entry(
                int(proof["seq"]),
                _hash(bytes.fromhex(proof["previous"])),
                line,
                [_hash(b64decode(part, validate=True)) for part in proof["path"]],
            )
            for proof, line in zip(proofs, lines, strict=True)
        ]
    except (ValueError, KeyError, TypeError) as exc:
        raise _odd(PROOFS, exc) from exc


def _hash(value: bytes) -> bytes:
    """Return a value that has the length of a hash. Raises: ValueError."""
    if len(value) != sha256().digest_size:
        raise ValueError(f"{len(value)} bytes are no hash")
    return value


def _check_entries(
    entries: Iterable[_Entry], manifest: re.Match[str], checkpoint: re.Match[str]
) -> None:
    """Check that every entry is about the run, if it is of one, and in the tree."""
    team, root = UUID(manifest["team"]), b64decode(checkpoint["root"])
    size, last = int(checkpoint["size"]), 0
    for entry in entries:
        where = f"{ENTRIES} seq {entry.seq}"
        why = f"it comes after seq {last} of {size}"
        demand(last < entry.seq <= size, where, why)
        last = entry.seq
        is_wanted = _document(entry)["targets"][0]["id"] == manifest["run"]
        demand(is_wanted or not manifest["run"], where, "it is about something else")
        leaf = sha256(b"\x00" + entry_hash(team, entry)).digest()
        is_shown = is_in_tree(leaf, entry.seq - 1, size, root, entry.path)
        demand(is_shown, where, "the proof does not show it in the signed tree")


def entry_hash(team: UUID, entry: _Entry) -> bytes:
    """Return the hash of an entry."""
    place = team.bytes + entry.seq.to_bytes(8, "big") + entry.previous
    return sha256(b"\x00" + place + entry.canonical).digest()


def is_in_tree(
    leaf: bytes, index: int, size: int, root: bytes, path: Sequence[bytes]
) -> bool:
    """Check an inclusion proof. Source: RFC 9162, section 2.1.3.2."""
    roots = _climbed(index, size - 1, leaf, path)
    return roots is not None and roots[1] == root


def _climbed(
    place: int, last: int, node: bytes, path: Sequence[bytes]
) -> tuple[bytes, bytes] | None:
    """Return the roots of the tree that ends with a node, and of the whole one."""
    first = second = node
    for sibling in path:
        if last == 0:
            return None
        if place & 1 or place == last:
            first = sha256(b"\x01" + sibling + first).digest()
            second = sha256(b"\x01" + sibling + second).digest()
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            second = sha256(b"\x01" + second + sibling).digest()
        place, last = place >> 1, last >> 1
    return (first, second) if last == 0 else None


def _document(entry: _Entry) -> dict[str, Any]:
    try:
        document: dict[str, Any] = json.loads(entry.canonical)
        str(document["targets"][0]["id"]), dict(document["bodies"])
    except (ValueError, KeyError, TypeError, IndexError) as exc:
        raise BundleRefused(f"{ENTRIES} seq {entry.seq}", "it is not an entry") from exc
    return document


# --- texts ---------------------------------------------------------------------------


def _check_bodies(entries: Iterable[_Entry], content: bytes) -> tuple[int, int]:
    """Check the texts of all entries; return how many there are, and are erased."""
    try:
        rows = json.loads(content)["bodies"]
        bodies = {(row["seq"], row["name"]): (row["salt"], row["text"]) for row in rows}
    except (ValueError, KeyError, TypeError) as exc:
        raise _odd(BODIES, exc) from exc
    demand(len(bodies) == len(rows), BODIES, "a text is there twice")
    texts = erased = 0
    for entry in entries:
        for name, told in _document(entry)["bodies"].items():
            where = f"{BODIES} seq {entry.seq} {name}"
            demand((entry.seq, name) in bodies, where, "it is missing")
            salt, text = bodies.pop((entry.seq, name))
            if salt is None and text is None:
                erased += 1
                continue
            demand(_is_body(salt, text, told), where, "it is not what was recorded")
            texts += 1
    demand(not bodies, BODIES, f"no entry has these texts: {sorted(bodies)}")
    return texts, erased


def _is_body(salt: Any, text: Any, told: Any) -> bool:
    try:
        data = text.encode()
        digest = sha256(b"\x01" + bytes.fromhex(salt) + data).hexdigest()
        return bool(told == {"bytes": len(data), "digest": f"sha256:{digest}"})
    except (ValueError, TypeError, AttributeError):
        return False


# --- two checkpoints -----------------------------------------------------------------


def verify_consistency(
    content: bytes, *, public_keys: bytes, team: UUID | None = None
) -> list[str]:
    """Check that the newer of two signed trees begins with the older one.

    `content`: JSON with the signed notes `old` and `new`, and `proof`, a list of hashes
    in base64. Returns what was verified, in words. Raises: BundleRefused.
    """
    try:
        document = json.loads(content)
        notes = {name: str(document[name]).encode() for name in ("old", "new")}
        proof = [_hash(b64decode(part, validate=True)) for part in document["proof"]]
    except (ValueError, KeyError, TypeError) as exc:
        raise _odd("proof", exc) from exc
    keys = _keys(public_keys)
    old_text, old_key = open_note("old", notes, keys)
    new_text, new_key = open_note("new", notes, keys)
    old = _match(_CHECKPOINT, old_text, "old")
    new = _match(_CHECKPOINT, new_text, "new")
    demand(team is None or str(team) == new["team"], "new", "it is of another team")
    demand(old["team"] == new["team"], "old", "it is of another team than the new one")
    sizes = int(old["size"]), int(new["size"])
    demand(0 < sizes[0] <= sizes[1], "old", "it is not older than the new one")
    roots = b64decode(old["root"]), b64decode(new["root"])
    why = f"it does not show that the tree of {sizes[1]} begins with that of {sizes[0]}"
    demand(is_beginning(*sizes, *roots, proof), "proof", why)
    return [
        f"verified: the signed tree of team {new['team']} with {sizes[1]} entries "
        f"begins with that of {sizes[0]}",
        f"key {', '.join(dict.fromkeys((old_key, new_key)))}",
    ]


def is_beginning(
    old: int, new: int, old_root: bytes, new_root: bytes, proof: Sequence[bytes]
) -> bool:
    """Check a consistency proof. Source: RFC 9162, section 2.1.4.2."""
    if old == new:
        return not proof and old_root == new_root
    path = [old_root, *proof] if old & (old - 1) == 0 else list(proof)
    place, last = old - 1, new - 1
    while place & 1:
        place, last = place >> 1, last >> 1
    roots = old_root, new_root
    return bool(path) and _climbed(place, last, path[0], path[1:]) == roots


# --- command line --------------------------------------------------------------------


def main(arguments: Sequence[str]) -> int:
    """Verify the export that the arguments name, and say what was found."""
    parser = argparse.ArgumentParser(description="Verify what a site exported.")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("export", type=Path, nargs="?", help="its ZIP file or folder")
    what.add_argument("--consistency", type=Path, help="a proof about two checkpoints")
    parser.add_argument("--public-key", type=Path, help="the site's key, in PEM")
    parser.add_argument("--team", type=UUID, help="the team that it must be of")
    parser.add_argument("--run", type=UUID, help="the run that it must be of")
    given = parser.parse_args(arguments)
    if given.consistency and not given.public_key:
        parser.error("--consistency needs --public-key: the proof holds no key")
    try:
        lines = _lines(given)
    except (BundleRefused, OSError) as exc:
        sys.stderr.write(f"REFUSED {exc}\n")
        return 1
    sys.stdout.writelines(f"{line}\n" for line in lines)
    return 0


def _lines(given: argparse.Namespace) -> list[str]:
    """Verify what is given; return what was found. Raises: BundleRefused, OSError."""
    pem = given.public_key.read_bytes() if given.public_key else None
    if given.consistency:
        content = given.consistency.read_bytes()
        return verify_consistency(content, public_keys=pem or b"", team=given.team)
    found = verify_bundle(given.export, public_keys=pem, team=given.team, run=given.run)
    warning = "compare the key with the one that the site has published"
    return summary_lines(found) + ([] if pem else [warning])


def summary_lines(found: BundleSummary) -> list[str]:
    """Return what was verified, in words."""
    what = f"run {found.run}" if found.run else f"filter {found.filter}"
    return [
        f"verified: {what} of team {found.team}, exported {found.exported}",
        f"{found.entries} entries, {found.texts} texts, {found.erased} erased",
        f"signed tree of {found.size} entries; key {', '.join(found.keys)}",
    ]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
