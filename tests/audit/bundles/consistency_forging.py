"""Proofs about two checkpoints that must be refused, one for each check of them."""

from __future__ import annotations

import json
import uuid
from base64 import b64encode
from dataclasses import dataclass
from typing import Any

from apps.audit.bundles import verifier
from apps.audit.bundles.consistency import consistency_create
from apps.audit.checkpoints.creation import checkpoints_create
from tests.audit.bundles.forging import own_keys
from tests.audit.examples import append, draft

SIGNED = (3, 7, 12)


def signed_team() -> uuid.UUID:
    """Return a team whose chain was signed three times."""
    team, before = uuid.uuid4(), 0
    for size in SIGNED:
        append(team, *[draft()] * (size - before))
        checkpoints_create()
        before = size
    return team


@dataclass
class ConsistencyForgery:
    """A proof that must be refused, and the words in which it must be."""

    document: Any
    words: str
    team: uuid.UUID | None = None

    def refusal(self, module: Any = verifier) -> str:
        """Return what a verifier says of it; that it holds, if it is accepted."""
        content = json.dumps(self.document).encode()
        try:
            module.verify_consistency(content, public_keys=own_keys(), team=self.team)
        except module.BundleRefused as exc:
            return str(exc)
        except Exception as exc:  # noqa: BLE001 - a mutant may fail in any way
            return f"{type(exc).__name__} {exc}"
        return "it holds"


def consistency_forgeries() -> dict[str, ConsistencyForgery]:
    """Return one forgery for each check; all notes are the site's own."""
    team, other = signed_team(), signed_team()
    made = json.loads(consistency_create(team, 3, 12)[0])
    middle = json.loads(consistency_create(team, 7, 12)[0])
    foreign = json.loads(consistency_create(other, 3, 12)[0])
    changed = [b64encode(bytes(32)).decode(), *made["proof"][1:]]
    unsigned = made["old"].replace("\n3\n", "\n4\n")
    return {
        "another team asked for": ConsistencyForgery(
            made, "new: it is of another team", other
        ),
        "notes of two teams": ConsistencyForgery(
            {**made, "old": foreign["old"]}, "old: it is of another team than the new"
        ),
        "notes the wrong way round": ConsistencyForgery(
            {**made, "old": made["new"], "new": made["old"]},
            "old: it is not older than the new one",
        ),
        "changed note": ConsistencyForgery(
            {**made, "old": unsigned}, "old: it is not signed with the public key"
        ),
        "changed proof": ConsistencyForgery(
            {**made, "proof": changed}, "proof: it does not show that the tree of 12"
        ),
        "proof of another checkpoint": ConsistencyForgery(
            {**made, "proof": middle["proof"]}, "proof: it does not show"
        ),
        "no hash": ConsistencyForgery(
            {**made, "proof": ["AAAA"]},
            "proof: not of the form that is described: 3",
        ),
        "no document": ConsistencyForgery(
            [], "proof: not of the form that is described"
        ),
    }
