"""Writes the export of a run: a ZIP file of texts, and a signed list of their digests.

What the files hold, and how they are verified, docs/governance.md says; `verifier.py`
does it, and is one of them.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson
from django.template.loader import render_to_string

from apps.audit.bundles import verifier
from apps.audit.bundles.contents import BundleContents, BundleEntry
from apps.audit.bundles.report_plans import report_plans
from apps.audit.checkpoints.format import SignedCheckpoint
from apps.audit.signed_lists import (
    digests_of,
    public_keys_file,
    signed_list,
    utc_text,
)

README = "README.md"
SCHEMAS = ("schema.json", "run-events.schema.json", "ledger-entries.schema.json")
REPORT = "report.html"
VERIFIER = "verify.py"
FILES = Path(__file__).parent / "files"
COMPRESSION = 1
"""Four times as fast as the usual level, for a file that is a sixth longer."""


def bundle_archive(contents: BundleContents, exported: datetime) -> bytes:
    """Return the ZIP file of an export."""
    time = utc_text(exported)
    files = {
        README: (FILES / README).read_bytes(),
        **common_files(contents.checkpoint),
        verifier.ENTRIES: b"".join(e.canonical + b"\n" for e in contents.entries),
        verifier.PROOFS: _json({"entries": [e.proof for e in contents.entries]}),
        verifier.BODIES: _json({"bodies": _texts(contents)}),
        REPORT: _report(contents, time),
    }
    manifest = signed_manifest(contents, files, time)
    return _zipped({verifier.MANIFEST: manifest, **files}, exported)


def common_files(checkpoint: SignedCheckpoint) -> dict[str, bytes]:
    """Return the files that every export with proofs holds, whatever its entries."""
    return {
        **{name: (FILES / name).read_bytes() for name in SCHEMAS},
        VERIFIER: Path(verifier.__file__).read_bytes(),
        verifier.PUBLIC_KEYS: public_keys_file(),
        verifier.CHECKPOINT: checkpoint.note.encode(),
    }


def signed_manifest(
    contents: BundleContents, files: Mapping[str, bytes], time: str
) -> bytes:
    """Return the list of an export's files, as a signed note."""
    facts = [
        f"run {contents.run_id}",
        f"entries {len(contents.entries)}",
        f"checkpoint {contents.checkpoint.seq}",
        f"time {time}",
    ]
    name = f"{verifier.EXPORT_NAME}{contents.team_id}"
    return signed_list(name, facts, digests_of(files))


def _texts(contents: BundleContents) -> list[dict[str, Any]]:
    return [text.document for entry in contents.entries for text in entry.texts]


def _json(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _report(contents: BundleContents, time: str) -> bytes:
    """Return the export for people to read: one page without scripts."""
    context = {
        "team_id": contents.team_id,
        "run_id": contents.run_id,
        "exported": time,
        "checkpoint": contents.checkpoint,
        "plans": report_plans(contents.entries),
        "entries": [_shown(entry) for entry in contents.entries],
    }
    return render_to_string("audit/report.html", context).encode()


def _shown(entry: BundleEntry) -> dict[str, Any]:
    document = entry.document
    facts = orjson.dumps(document["data"], option=orjson.OPT_INDENT_2).decode()
    return {
        "seq": entry.seq,
        "action": document["action"],
        "outcome": document["outcome"],
        "recorded": document["recorded"],
        "actor": document["actor"],
        "facts": facts if document["data"] else "",
        "texts": entry.texts,
    }


def _zipped(files: Mapping[str, bytes], at: datetime) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            info = zipfile.ZipInfo(name, at.timetuple()[:6])
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o644 << 16
            archive.writestr(info, content, compresslevel=COMPRESSION)
    return buffer.getvalue()
