"""Presets and their versions. What they say is encrypted; a version never changes."""

from __future__ import annotations

from django.db import models

from apps.accounts.models import Team
from apps.core.ids import new_id
from apps.core.scoping import TeamQuerySet

PRESET_NAME_LENGTH = 100
DESCRIPTION_LENGTH = 500


class Preset(models.Model):
    """A prompt template with settings that a person, or an API key, keeps."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    team = models.ForeignKey(Team, models.CASCADE, related_name="+", db_index=False)
    owner_type = models.CharField(max_length=16)
    """As the ledger names who it belongs to, like the next two."""
    owner_id = models.CharField(max_length=64)
    owner_name = models.CharField(max_length=200)
    name = models.CharField(max_length=PRESET_NAME_LENGTH)
    sealed_description = models.BinaryField()
    is_shared = models.BooleanField(default=False)
    """True: everybody in the team sees it."""
    is_archived = models.BooleanField(default=False)
    """True: it is offered nowhere, and no run can use it."""
    newest = models.PositiveIntegerField(default=1)
    """The number of its newest version."""
    created_at = models.DateTimeField(auto_now_add=True)
    changed_at = models.DateTimeField()

    objects = TeamQuerySet["Preset"].as_manager()

    class Meta:
        ordering = ("name", "id")
        indexes = [models.Index(fields=["team", "name"], name="preset_by_name")]

    def __str__(self) -> str:
        return str(self.id)


class PresetVersion(models.Model):
    """What a preset said at one time. It never changes."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    team = models.ForeignKey(Team, models.CASCADE, related_name="+", db_index=False)
    preset = models.ForeignKey(
        Preset, models.CASCADE, related_name="versions", db_index=False
    )
    number = models.PositiveIntegerField()
    """From 1."""
    digest = models.CharField(max_length=64)
    """SHA-256 of what it says, as `contents.content_digest` has it."""
    sealed = models.BinaryField()
    """Prompt template, system prompt and settings, encrypted."""
    restores = models.PositiveIntegerField(null=True)
    """The version whose texts it has again. NULL: it has its own."""
    created_by = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = TeamQuerySet["PresetVersion"].as_manager()

    class Meta:
        ordering = ("-number",)
        constraints = [
            models.UniqueConstraint(
                fields=["preset", "number"], name="preset_version_is_unique"
            )
        ]

    def __str__(self) -> str:
        return f"{self.preset_id} v{self.number}"
