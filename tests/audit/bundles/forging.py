"""Exports, and what somebody makes of them: with the site's key, or without it."""

from __future__ import annotations

import io
import json
import uuid
import warnings
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from apps.audit.browsing.search import EntryFilter
from apps.audit.bundles import verifier
from apps.audit.bundles.export import bundle_create
from apps.audit.checkpoints.notes import note_key_id, signed_note
from apps.audit.exports.jobs import access_export, export_request, export_take
from apps.audit.exports.parts import parts_read
from apps.audit.models import ExportFormat
from apps.audit.signing import own_public_keys, public_pem, signing_key
from tests.audit.examples import ALICE, append, draft

Files = dict[str, bytes]
Change = Callable[[list[Any]], object]
"""Changes the rows of a file in place."""
RUNS = uuid.UUID(int=1), uuid.UUID(int=2)
LATER = uuid.UUID(int=3)


def team_with_two_runs() -> uuid.UUID:
    """Return a team whose chain has the entries of two runs in turn."""
    team_id = uuid.uuid4()
    for number in range(1, 4):
        for run in RUNS:
            bodies = {"text": f"text {number} of {run}", "more": "<b>bold</b> é\n"}
            data = {"number": number, "said": "<script>alert(1)</script>"}
            append(
                team_id,
                draft(
                    f"step.number_{number}", subject_id=run, data=data, bodies=bodies
                ),
            )
    return team_id


def export(team_id: uuid.UUID, run: uuid.UUID = RUNS[0]) -> bytes:
    return bundle_create(team_id=team_id, run_id=run, actor=ALICE).content


def export_of_filter(team_id: uuid.UUID, *, action: str = "", texts: bool) -> bytes:
    """Have the entries that a filter finds exported with proofs; return the file."""
    made = export_request(
        team_id=team_id,
        wanted=EntryFilter(action=action),
        form=ExportFormat.BUNDLE,
        has_texts=texts,
        actor=ALICE,
    )
    for _ in export_take() or ():
        pass
    done = access_export(team_id=team_id, export_id=made.id)
    assert done.error == ""
    return b"".join(parts_read(done))


def unzipped(content: bytes) -> Files:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(files: Mapping[str, bytes], *extra: tuple[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with (
        warnings.catch_warnings(action="ignore"),  # of a name that is there twice
        zipfile.ZipFile(buffer, "w") as archive,
    ):
        for name, content in (*files.items(), *extra):
            archive.writestr(name, content)
    return buffer.getvalue()


def signed(
    files: Files, *, key: Ed25519PrivateKey | None = None, more: str = ""
) -> Files:
    """Return files with a manifest that lists them as they are now.

    `more`: a line that no manifest has.
    """
    manifest = files[verifier.MANIFEST].decode().partition("\n\n")[0]
    lines = [line for line in manifest.split("\n") if not line.startswith("file ")]
    names = sorted(files.keys() - {verifier.MANIFEST})
    lines += [f"file {sha256(files[name]).hexdigest()} {name}" for name in names]
    lines += [more] if more else []
    text = "".join(f"{line}\n" for line in lines)
    key = key or signing_key()[1]
    signature = note_key_id(lines[0], key.public_key()) + key.sign(text.encode())
    note = signed_note(text, lines[0], signature).encode()
    return {**files, verifier.MANIFEST: note}


def own_keys() -> bytes:
    return "".join(map(public_pem, own_public_keys().values())).encode()


@dataclass
class Forgery:
    """A file that must be refused, and the words in which it must be."""

    content: bytes
    words: str
    options: dict[str, Any] = field(default_factory=dict)
    max_bytes: int = verifier.MAX_BYTES

    def refusal(self, module: Any = verifier) -> str:
        """Return what a verifier says of it; that it holds, if it is accepted."""
        module.MAX_BYTES = self.max_bytes
        options = {"public_keys": own_keys(), **self.options}
        try:
            module.verify_bundle(io.BytesIO(self.content), **options)
        except module.BundleRefused as exc:
            return str(exc)
        except Exception as exc:  # noqa: BLE001 - a mutant may fail in any way
            return f"{type(exc).__name__} {exc}"
        finally:
            module.MAX_BYTES = verifier.MAX_BYTES
        return "it holds"


@dataclass(frozen=True)
class Material:
    """Files of true exports, from which forgeries are made."""

    files: Files
    """Of the run that is forged."""
    other_run: Files
    """Of another run of the same team."""
    later: Files
    """Of a third run, with a later checkpoint."""
    foreign: Files
    """Of another team."""
    other_team: uuid.UUID

    @property
    def lines(self) -> list[bytes]:
        """Return the entries of the export."""
        return self.files[verifier.ENTRIES].splitlines(keepends=True)

    def changed(self, words: str, **changed: bytes) -> Forgery:
        """Return the export with other files, which the site's key signed all the same.

        `changed`: contents by name, with `_` for the dot.
        """
        names = {name.replace("_", "."): value for name, value in changed.items()}
        return Forgery(zipped(signed({**self.files, **names})), words)

    def proofs(self, change: Change) -> bytes:
        """Return the proofs after a change."""
        return _with(self.files[verifier.PROOFS], "entries", change)

    def bodies(self, change: Change) -> bytes:
        """Return the texts after a change."""
        return _with(self.files[verifier.BODIES], "bodies", change)


def _with(content: bytes, part: str, change: Change) -> bytes:
    found = json.loads(content)[part]
    change(found)
    return json.dumps({part: found}).encode()


def forgeries(team_id: uuid.UUID, other_team: uuid.UUID) -> dict[str, Forgery]:
    """Return one forgery for each check, most of them signed with the site's key."""
    files = unzipped(export(team_id))
    foreign = unzipped(export(other_team))
    other_run = unzipped(export(team_id, RUNS[1]))
    append(team_id, draft(subject_id=LATER))
    later = unzipped(export(team_id, LATER))
    material = Material(files, other_run, later, foreign, other_team)
    return {
        **_of_archive(material),
        **_of_manifest(material),
        **_of_entries(material),
        **_of_proofs(material),
        **_of_texts(material),
        **_of_form(material),
    }


def _of_archive(material: Material) -> dict[str, Forgery]:
    """Change the file itself, or what is in it."""
    lines = material.lines
    files = material.files
    return {
        "file twice": Forgery(
            zipped(files, (verifier.ENTRIES, b"")), "archive: a file is there twice"
        ),
        "too large": Forgery(zipped(files), "bytes are too many", max_bytes=50),
        "file missing": Forgery(
            zipped({n: c for n, c in files.items() if n != "schema.json"}),
            "schema.json: it is missing",
        ),
        "file added": Forgery(
            zipped({**files, "other.txt": b""}),
            "other.txt: the manifest does not list it",
        ),
        "file changed": Forgery(
            zipped({**files, "report.html": b"nothing"}),
            "report.html: it is not the file that the manifest lists",
        ),
        "no archive": Forgery(b"no archive", "archive: it cannot be read"),
        "damaged archive": Forgery(
            zipped(files).replace(lines[0], lines[0][::-1]),
            "entries.jsonl: it cannot be read: Bad CRC-32",
        ),
    }


def _of_manifest(material: Material) -> dict[str, Forgery]:
    """Change the manifest or its key, or ask for something else."""
    files = material.files
    return {
        "another key": Forgery(
            zipped(signed(files, key=Ed25519PrivateKey.generate())),
            "manifest.txt: it is not signed with the public key",
        ),
        "another team asked for": Forgery(
            zipped(files),
            "manifest.txt: it is of another team",
            {"team": material.other_team},
        ),
        "another run asked for": Forgery(
            zipped(files), "manifest.txt: it is of another run", {"run": RUNS[1]}
        ),
        "checkpoint of another team": material.changed(
            "checkpoint.txt: it is of another team",
            checkpoint_txt=material.foreign["checkpoint.txt"],
        ),
        "another checkpoint": material.changed(
            "checkpoint.txt: it is not the one that the manifest names",
            checkpoint_txt=material.later["checkpoint.txt"],
        ),
        "no key": Forgery(
            zipped(files),
            "public-keys.pem: a key cannot be read",
            {"public_keys": own_keys().replace(b"MCow", b"MCox")},
        ),
        "no text": Forgery(
            zipped({**files, verifier.MANIFEST: b"\xff"}),
            "manifest.txt: it is not text in UTF-8",
        ),
        "manifest of another form": Forgery(
            zipped(signed(files, more="more")),
            "manifest.txt: it does not have the form that is described",
        ),
    }


def _of_entries(material: Material) -> dict[str, Forgery]:
    """Change the entries."""
    lines = material.lines
    foreign_line = material.other_run[verifier.ENTRIES].splitlines(keepends=True)[1]
    foreign_proof = json.loads(material.other_run[verifier.PROOFS])["entries"][1]
    return {
        "entries fewer than told": material.changed(
            "entries.jsonl: 2 entries, the manifest says 3",
            entries_jsonl=b"".join(lines[:2]),
            proofs_json=material.proofs(lambda found: found.pop()),
        ),
        "entry twice": material.changed(
            "entries.jsonl seq 1: it comes after seq 1",
            entries_jsonl=b"".join([lines[0], lines[0], lines[2]]),
            proofs_json=material.proofs(lambda found: found.__setitem__(1, found[0])),
        ),
        "entry of another run": material.changed(
            "entries.jsonl seq 4: it is about something else",
            entries_jsonl=b"".join([lines[0], foreign_line, lines[2]]),
            proofs_json=material.proofs(
                lambda found: found.__setitem__(1, foreign_proof)
            ),
        ),
        "entry changed": material.changed(
            "entries.jsonl seq 3: the proof does not show it in the signed tree",
            entries_jsonl=b"".join(
                [lines[0], lines[1].replace(b"Alice", b"Mally"), lines[2]]
            ),
        ),
        "no entry": material.changed(
            "entries.jsonl seq 1: it is not an entry",
            entries_jsonl=b"".join([b"{}\n", *lines[1:]]),
        ),
    }


def _of_proofs(material: Material) -> dict[str, Forgery]:
    """Change the proofs."""
    return {
        "proofs fewer than entries": material.changed(
            "proofs.json: 2 proofs for 3 entries",
            proofs_json=material.proofs(lambda found: found.pop()),
        ),
        "proof of another entry": material.changed(
            "entries.jsonl seq 1: the proof does not show it in the signed tree",
            proofs_json=material.proofs(
                lambda found: found[0].__setitem__("path", found[1]["path"])
            ),
        ),
        "hash too short": material.changed(
            "proofs.json: not of the form that is described: 31 bytes are no hash",
            proofs_json=material.proofs(
                lambda found: found[0].__setitem__("previous", "00" * 31)
            ),
        ),
    }


def _of_texts(material: Material) -> dict[str, Forgery]:
    """Change the texts."""
    return {
        "text twice": material.changed(
            "bodies.json: a text is there twice",
            bodies_json=material.bodies(lambda found: found.append(found[0])),
        ),
        "text missing": material.changed(
            "bodies.json seq 1 more: it is missing",
            bodies_json=material.bodies(lambda found: found.pop(0)),
        ),
        "text changed": material.changed(
            "bodies.json seq 1 more: it is not what was recorded",
            bodies_json=material.bodies(
                lambda found: found[0].__setitem__("text", "other")
            ),
        ),
        "text without salt": material.changed(
            "bodies.json seq 1 more: it is not what was recorded",
            bodies_json=material.bodies(
                lambda found: found[0].__setitem__("salt", None)
            ),
        ),
        "text of no entry": material.changed(
            "bodies.json: no entry has these texts: [(1, 'other')]",
            bodies_json=material.bodies(
                lambda found: found.append({**found[0], "name": "other"})
            ),
        ),
    }


def _of_form(material: Material) -> dict[str, Forgery]:
    """Put something of another form in the place of a file."""
    return {
        "proofs of another form": material.changed(
            "proofs.json: not of the form that is described", proofs_json=b"[]"
        ),
        "texts of another form": material.changed(
            "bodies.json: not of the form that is described", bodies_json=b"[]"
        ),
    }
