"""Reads of attachments: those of an owner before a run, and those of a run."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from apps.attachments.models import Attachment
from apps.audit.types import Actor
from apps.core.errors import InvalidInput, NotFound
from apps.core.keyring import unseal
from apps.core.scoping import TeamQuerySet


def attachments_own(
    team_id: uuid.UUID, owner: Actor, ids: Sequence[uuid.UUID], *, param: str
) -> list[Attachment]:
    """Return attachments of their owner, in the order of their ids.

    Raises: InvalidInput naming `param` for any that the owner does not have.
    """
    rows = _owned(team_id, owner).in_bulk(list(ids))
    for each in ids:
        if each not in rows:
            raise InvalidInput(f"you have no attachment {str(each)!r}", param=param)
    return [rows[each] for each in dict.fromkeys(ids)]


def attachment_access(
    *, team_id: uuid.UUID, owner: Actor, attachment_id: uuid.UUID
) -> Attachment:
    """Return an attachment of its owner. Raises: NotFound for any other one."""
    found = _owned(team_id, owner).filter(id=attachment_id).first()
    if found is None:
        raise NotFound(f"you have no attachment {str(attachment_id)!r}")
    return found


def attachment_of_run(
    *, team_id: uuid.UUID, run_id: uuid.UUID, attachment_id: uuid.UUID
) -> Attachment:
    """Return an attachment of a run that the reader has access to.

    Raises: NotFound if the run has none with this id, or it has been erased.
    """
    rows = Attachment.objects.for_team(team_id).filter(uses__run_id=run_id)
    found = rows.filter(id=attachment_id).first()
    if found is None:
        raise NotFound("the run has no such attachment, or it has been erased")
    return found


def attachment_content(attachment: Attachment) -> bytes:
    """Return the original."""
    sealed = bytes(attachment.sealed)
    return unseal(sealed, context=content_context(attachment.team_id, attachment.id))


def attachment_text(attachment: Attachment) -> str:
    """Return the text; empty: it is an image."""
    sealed = bytes(attachment.sealed_text)
    context = text_context(attachment.team_id, attachment.id)
    return unseal(sealed, context=context).decode()


def attachment_facts(attachment: Attachment) -> Mapping[str, Any]:
    """Return what the record of a run says of an attachment."""
    facts = {
        "id": str(attachment.id),
        "name": attachment.name,
        "kind": attachment.kind,
        "extent": attachment.extent,
        "cut": attachment.cut,
        "bytes": attachment.size,
        "digest": f"sha256:{attachment.digest}",
    }
    return {name: value for name, value in facts.items() if value}


def content_context(team_id: uuid.UUID, attachment_id: uuid.UUID) -> bytes:
    """Return what an encrypted original is bound to."""
    return b"attachment " + team_id.bytes + attachment_id.bytes


def text_context(team_id: uuid.UUID, attachment_id: uuid.UUID) -> bytes:
    """Return what an encrypted text is bound to."""
    return b"attachment text " + team_id.bytes + attachment_id.bytes


def _owned(team_id: uuid.UUID, owner: Actor) -> TeamQuerySet[Attachment]:
    rows = Attachment.objects.for_team(team_id)
    return rows.filter(owner_type=owner.type, owner_id=owner.id)
