"""Attachments and the runs that have them.

The original and its text are encrypted. They live as long as the texts of a run that
has them: retention, holds and erasure of runs are theirs.
"""

from __future__ import annotations

from django.db import models

from apps.accounts.models import Team
from apps.core.ids import new_id
from apps.core.scoping import TeamQuerySet

NAME_LENGTH = 200


class AttachmentKind(models.TextChoices):
    """What an attachment is, by its content."""

    TEXT = "text", "Text"
    PDF = "pdf", "PDF"
    WORD = "docx", "Word"
    EXCEL = "xlsx", "Excel"
    POWERPOINT = "pptx", "PowerPoint"
    IMAGE = "image", "Image"


class Attachment(models.Model):
    """A file that a person or an API key has uploaded for a prompt."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    team = models.ForeignKey(Team, models.CASCADE, related_name="+", db_index=False)
    owner_type = models.CharField(max_length=16)
    """As the ledger names who uploaded it, like `owner_id`."""
    owner_id = models.CharField(max_length=64)
    name = models.CharField(max_length=NAME_LENGTH)
    kind = models.CharField(max_length=8, choices=AttachmentKind.choices)
    media_type = models.CharField(max_length=100)
    """Of an image, for the model; of other files, what they are."""
    size = models.PositiveIntegerField()
    """Bytes of the original."""
    digest = models.CharField(max_length=64)
    """SHA-256 of the original, as hex."""
    extent = models.CharField(max_length=100)
    """How long it is, such as `12 pages`, or `640 × 480 pixels`."""
    cut = models.CharField(max_length=200, default="", blank=True)
    """What is missing of its text. Empty: nothing."""
    sealed = models.BinaryField()
    """The original, encrypted."""
    sealed_text = models.BinaryField()
    """Its text, encrypted. Empty text: an image."""
    created_at = models.DateTimeField(auto_now_add=True)

    objects = TeamQuerySet["Attachment"].as_manager()

    class Meta:
        ordering = ("id",)
        indexes = [
            models.Index(fields=["team", "owner_id", "id"], name="attachment_by_owner"),
            # Those that no run has are deleted after a while.
            models.Index(fields=["created_at"], name="attachment_by_age"),
        ]

    def __str__(self) -> str:
        return str(self.id)


class AttachmentUse(models.Model):
    """A run that has an attachment."""

    attachment = models.ForeignKey(
        Attachment, models.CASCADE, related_name="uses", db_index=False
    )
    # No foreign key: the use is stored before the run is on record.
    run_id = models.UUIDField(db_index=True)

    objects = models.Manager["AttachmentUse"]()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["attachment", "run_id"], name="attachment_use_is_unique"
            )
        ]

    def __str__(self) -> str:
        return f"{self.attachment_id} in {self.run_id}"
