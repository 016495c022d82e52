"""Makes proofs that a later checkpoint's tree begins with that of an earlier one.

What the file holds, and how it is verified, docs/governance.md says; it discloses
nothing but hashes.
"""

from __future__ import annotations

from base64 import b64encode
from uuid import UUID

import orjson

from apps.audit.bundles.verifier import BundleRefused, verify_consistency
from apps.audit.checkpoints.format import SignedCheckpoint
from apps.audit.merkle.proofs import consistency_proof
from apps.audit.merkle.stored_tree import StoredTree, TreeUnavailable, tree_extend
from apps.audit.models import Checkpoint
from apps.audit.signing import own_public_keys, public_pem
from apps.core.errors import Conflict, InvalidInput, NotFound


def consistency_create(team_id: UUID, old: int, new: int) -> tuple[bytes, list[str]]:
    """Return a proof that nothing before seq `old` was changed up to seq `new`, and
    what its verification says.

    Both are places of signed checkpoints with a root. Raises: InvalidInput if `old` is
    behind `new`; NotFound if there is no such checkpoint; Conflict if the entries do
    not have the roots that were signed.
    """
    if not 0 < old <= new:
        raise InvalidInput(f"checkpoint {old} is not before checkpoint {new}")
    notes = [_checkpoint(team_id, seq).note for seq in (old, new)]
    try:
        tree_extend(team_id, new)
        tree = StoredTree(team_id, new)
        proof = consistency_proof(old, new, tree.hash_of)
    except TreeUnavailable as exc:
        raise Conflict(f"the tree of this team cannot be made: {exc}") from exc
    document = {
        "old": notes[0],
        "new": notes[1],
        "proof": [b64encode(part).decode() for part in proof],
    }
    option = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
    content = orjson.dumps(document, option=option)
    keys = "".join(public_pem(key) for key in own_public_keys().values()).encode()
    try:
        return content, verify_consistency(content, public_keys=keys, team=team_id)
    except BundleRefused as exc:
        raise Conflict(
            f"the signed trees of this team do not agree: {exc}; audit_verify says "
            "where"
        ) from exc


def _checkpoint(team_id: UUID, seq: int) -> SignedCheckpoint:
    rooted = Checkpoint.objects.for_team(team_id).exclude(root="")
    row = rooted.filter(seq=seq).first()
    if row is None:
        raise NotFound(f"this team has no signed checkpoint with a root at {seq}")
    told = (row.hash, row.recorded, row.key_id, row.signature, row.root)
    return SignedCheckpoint(str(team_id), row.seq, *told)
