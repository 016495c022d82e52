"""Stores and deletes attachments, and keeps which runs have them."""

from __future__ import annotations

import base64
import hashlib
import re
import uuid
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Sum
from django.utils import timezone

from apps.attachments.contents import content_read
from apps.attachments.models import (
    NAME_LENGTH,
    Attachment,
    AttachmentKind,
    AttachmentUse,
)
from apps.attachments.reading.bounds import DocumentUnreadable
from apps.attachments.selectors import (
    attachment_content,
    attachment_text,
    content_context,
    text_context,
)
from apps.audit.types import Actor
from apps.core.errors import Conflict, InvalidInput
from apps.core.ids import new_id
from apps.core.keyring import seal
from apps.engine.ports import ImagePart, TextPart

UNUSED_FOR = timedelta(days=1)
"""An attachment that no run has after so long is deleted."""
DELETED_AT_ONCE = 50
FENCES = re.compile(r"`{3,}")


def attachment_store(
    *, team_id: uuid.UUID, owner: Actor, name: str, content: bytes
) -> Attachment:
    """Read a file, and store it until a run has it. Blocks for seconds.

    Raises: InvalidInput saying why the file is refused; Overloaded.
    """
    shown = _name(name)
    if len(content) > settings.MAX_ATTACHMENT_BYTES:
        limit = settings.MAX_ATTACHMENT_BYTES / 1_000_000
        raise _refused(shown, f"the file is too large (limit {limit:g} MB)")
    _check_room(team_id, shown, len(content))
    try:
        found = content_read(content)
    except DocumentUnreadable as exc:
        raise _refused(shown, str(exc)) from exc
    row_id = new_id()
    return Attachment.objects.create(
        id=row_id,
        team_id=team_id,
        owner_type=owner.type,
        owner_id=owner.id,
        name=shown,
        kind=found.kind,
        media_type=found.media_type,
        size=len(content),
        digest=hashlib.sha256(content).hexdigest(),
        extent=found.extent,
        cut=found.cut,
        sealed=seal(content, context=content_context(team_id, row_id)),
        sealed_text=seal(found.text.encode(), context=text_context(team_id, row_id)),
    )


def attachment_delete(attachment: Attachment) -> None:
    """Delete an attachment that no run has. Raises: Conflict if one has it."""
    with transaction.atomic():
        row = Attachment.objects.for_team(attachment.team_id).select_for_update()
        locked = row.get(id=attachment.id)
        if locked.uses.exists():
            raise Conflict("a run has this attachment, so it is kept with the run")
        locked.delete()


def prompt_parts(
    attached: Sequence[Attachment], prompt: str
) -> list[TextPart | ImagePart]:
    """Return the content of a message: the prompt, then the files and the images.

    `typed_prompt` finds the prompt in it again.
    """
    files = [each for each in attached if each.kind != AttachmentKind.IMAGE]
    images = [each for each in attached if each.kind == AttachmentKind.IMAGE]
    spoken = f"{prompt}\n\n" if files else prompt
    return [
        TextPart(type="text", text=spoken),
        *(TextPart(type="text", text=_file_text(each)) for each in files),
        *(
            ImagePart(type="image_url", image_url={"url": _data_url(each)})
            for each in images
        ),
    ]


@transaction.atomic
def uses_add(team_id: uuid.UUID, run_id: uuid.UUID, ids: Collection[uuid.UUID]) -> None:
    """Keep attachments as long as the texts of a run; those erased are left out."""
    rows = Attachment.objects.for_team(team_id).filter(id__in=ids).select_for_update()
    uses = [AttachmentUse(attachment=row, run_id=run_id) for row in rows]
    AttachmentUse.objects.bulk_create(uses, ignore_conflicts=True)


def uses_remove(run_id: uuid.UUID) -> None:
    """Forget that a run has attachments: it did not begin."""
    AttachmentUse.objects.filter(run_id=run_id).delete()


def uses_erase(team_id: uuid.UUID, run_ids: Collection[uuid.UUID]) -> None:
    """Delete the attachments of runs, unless other runs have them too.

    Call it in the transaction that erases the texts of the runs.
    """
    rows = Attachment.objects.for_team(team_id)
    ids = list(rows.filter(uses__run_id__in=run_ids).values_list("id", flat=True))
    AttachmentUse.objects.filter(run_id__in=run_ids, attachment__in=ids).delete()
    rows.filter(id__in=ids, uses=None).delete()


def unused_due(now: datetime | None = None) -> list[uuid.UUID]:
    """Return the teams with attachments that no run has, and none will."""
    before = (now or timezone.now()) - UNUSED_FOR
    rows = Attachment.objects.across_teams().filter(created_at__lt=before, uses=None)
    return list(rows.order_by("team_id").values_list("team_id", flat=True).distinct())


def unused_delete(team_id: uuid.UUID, now: datetime | None = None) -> int:
    """Delete some of those of a team; return how many."""
    before = (now or timezone.now()) - UNUSED_FOR
    rows = Attachment.objects.for_team(team_id).filter(created_at__lt=before, uses=None)
    ids = list(rows.values_list("id", flat=True)[:DELETED_AT_ONCE])
    rows.filter(id__in=ids).delete()
    return len(ids)


def _name(name: str) -> str:
    """Return the name of a file without its folders and what can't be shown."""
    last = re.split(r"[/\\]", name)[-1]
    shown = "".join(c if c.isprintable() else " " for c in last).strip()
    return shown[:NAME_LENGTH] or "file"


def _refused(name: str, why: str) -> InvalidInput:
    return InvalidInput(f"{name}: {why}", param="file")


def _check_room(team_id: uuid.UUID, name: str, size: int) -> None:
    stored = Attachment.objects.for_team(team_id).aggregate(sum=Sum("size"))["sum"]
    if (stored or 0) + size > settings.TEAM_ATTACHMENT_BYTES:
        raise _refused(
            name,
            "the attachments of this team take all the room there is; they go with "
            "the texts of their runs",
        )


def _file_text(attachment: Attachment) -> str:
    """Return a file as a part of a prompt, in a fence that it can't close."""
    text = attachment_text(attachment)
    longest = max((len(each) for each in FENCES.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    cut = f"[The file is cut: {attachment.cut}.]\n" if attachment.cut else ""
    head = f"File: {attachment.name} ({attachment.extent})"
    return f"{head}\n{fence}\n{text.rstrip()}\n{fence}\n{cut}\n"


def _data_url(attachment: Attachment) -> str:
    encoded = base64.b64encode(attachment_content(attachment)).decode()
    return f"data:{attachment.media_type};base64,{encoded}"
