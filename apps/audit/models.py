"""The ledger's tables. Rows are added by `append.py` alone and never changed.

There are no foreign keys to other apps: deleting a user or a team erases no record.
"""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

from django.db import models, transaction
from django.utils.translation import gettext_noop as _

from apps.audit.job_news import job_news_send
from apps.audit.storage.compression import EntryBytesField
from apps.core.ids import new_id
from apps.core.scoping import TeamQuerySet

DIGEST_LENGTH = len("sha256:") + 64
ROUTINE_ACTIONS = (
    "step.started",
    "step.completed",
    "plan.requested",
    "plan.replied",
    "plan.accepted",
    "run.created",
    "run.completed",
    "policy.decided",
)
"""What every run writes: nearly all of a chain. Indexes of rarer entries leave them
out, so that appending them costs nothing more."""
IS_ROUTINE = reduce(or_, (models.Q(action=action) for action in ROUTINE_ACTIONS))
"""Not `action__in`: for a list SQLite builds a table whenever entries are added."""


class ChainHead(models.Model):
    """The end of a team's chain; its row is the lock for appending."""

    team_id = models.UUIDField(primary_key=True)
    seq = models.BigIntegerField()
    hash = models.CharField(max_length=DIGEST_LENGTH)
    mac_from = models.BigIntegerField()
    """The first entry that must have a `mac`."""
    mac = models.BinaryField()
    """See `macs.py`. Empty: some commit found a head that was not right."""

    def __str__(self) -> str:
        return f"{self.team_id} {self.seq}"


class Entry(models.Model):
    """One entry. `canonical` is what was hashed; the other columns serve to find it."""

    pk = models.CompositePrimaryKey("team_id", "seq")
    team_id = models.UUIDField()
    seq = models.BigIntegerField()
    action = models.CharField(max_length=64)
    subject_type = models.CharField(max_length=32)
    subject_id = models.UUIDField()
    recorded_at = models.DateTimeField()
    canonical = EntryBytesField()
    """The exact bytes: JSON columns rewrite numbers and refuse some characters."""
    hash = models.CharField(max_length=DIGEST_LENGTH)
    mac = models.BinaryField()
    """See `macs.py`. Empty: written by a version that had no codes."""

    objects = TeamQuerySet["Entry"].as_manager()

    class Meta:
        indexes = [
            # The timeline of one run or one person.
            models.Index(
                fields=["team_id", "subject_id", "seq"], name="audit_entry_subject"
            ),
            # Both are of the few entries that are no routine: by action, and all.
            models.Index(
                fields=["team_id", "action", "seq"],
                condition=~IS_ROUTINE,
                name="audit_entry_rare_action",
            ),
            models.Index(
                fields=["team_id", "seq"],
                condition=~IS_ROUTINE,
                name="audit_entry_rare",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.seq} {self.action}"


class Content(models.Model):
    """A body of text, encrypted and bound to its team and to the digest in its entry.

    Its key is its place, not its digest: new rows go to the end of the index.
    """

    pk = models.CompositePrimaryKey("team_id", "seq", "name")
    team_id = models.UUIDField()
    seq = models.BigIntegerField()
    """Of the entry it belongs to."""
    name = models.CharField(max_length=64)
    """Under which the entry holds its digest, for example `prompt`."""
    salt = models.BinaryField(null=True)
    """NULL after erasure: without it not even a guessed text can be confirmed."""
    sealed = models.BinaryField(null=True)
    """NULL after erasure."""
    size = models.PositiveBigIntegerField()
    """Bytes of the UTF-8 text."""

    objects = TeamQuerySet["Content"].as_manager()

    def __str__(self) -> str:
        return f"{self.seq} {self.name}"


class Checkpoint(models.Model):
    """The end of a chain at a moment, signed; copied to where the database is not.

    What is signed and how: `checkpoints.py`.
    """

    pk = models.CompositePrimaryKey("team_id", "seq")
    team_id = models.UUIDField()
    seq = models.BigIntegerField()
    """Of the last entry it stands for."""
    hash = models.CharField(max_length=DIGEST_LENGTH)
    """Of that entry, and so of the whole chain before it."""
    recorded = models.CharField(max_length=len("2030-01-31T12:00:00.123456Z"))
    """When it was made, as it was signed."""
    key_id = models.CharField(max_length=len("ed25519:") + 16)
    signature = models.CharField(max_length=136)
    """In hexadecimal digits: 64 bytes; with a root 4 more before them, the C2SP id of
    the key."""
    root = models.CharField(max_length=44, db_default="")
    """Of the Merkle tree over the entries up to there, in base64; empty: only the
    chain was signed."""
    claimed_at = models.DateTimeField(null=True)
    """When a process last set out to copy it."""
    copied_at = models.DateTimeField(null=True)
    """NULL: nothing outside of the database holds it yet."""

    objects = TeamQuerySet["Checkpoint"].as_manager()

    class Meta:
        indexes = [
            # Every process looks for these every few seconds; mostly there are none.
            models.Index(
                fields=["team_id", "seq"],
                condition=models.Q(copied_at__isnull=True),
                name="audit_checkpoint_uncopied",
            )
        ]

    def __str__(self) -> str:
        return f"{self.team_id} {self.seq}"


class TreeNode(models.Model):
    """The root over 256, 65,536, … consecutive entries of a team: a cache.

    Derived from the hashes of the entries (`merkle/stored_tree.py`), and made when the
    tree is needed; `audit_verify` derives it again.
    """

    pk = models.CompositePrimaryKey("team_id", "level", "index")
    team_id = models.UUIDField()
    level = models.PositiveSmallIntegerField()
    """2 to this power entries are below it: 8, 16, 24, …"""
    index = models.BigIntegerField()
    """Counts the nodes of a level from 0."""
    hash = models.BinaryField()

    objects = TeamQuerySet["TreeNode"].as_manager()

    def __str__(self) -> str:
        return f"{self.team_id} {self.level} {self.index}"


class JobState(models.TextChoices):
    """How far a background job is."""

    WAITING = "waiting", "Waiting"
    """No process has begun."""
    RUNNING = "running", "Running"
    """A process works on it, or has died; see `beat_at`."""
    DONE = "done", "Done"
    """There is nothing left to do."""


class BackgroundJob(models.Model):
    """Work on the ledger that any serving process takes; see `jobs.py`."""

    state = models.CharField(max_length=8, choices=JobState.choices)
    requested_by = models.JSONField(default=dict)
    """The actor, with the context of the request. Empty: the job was due."""
    beat_at = models.DateTimeField()
    """When it was requested, or last made progress."""
    claim_id = models.UUIDField(null=True)
    """Of the attempt that may write: an attempt that was given up finds another id."""

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        super().save(*args, **kwargs)
        if self.state == JobState.WAITING:
            transaction.on_commit(job_news_send)


class FullCheck(BackgroundJob):
    """The verification of a team's whole chain: the one in progress, and the last."""

    team_id = models.UUIDField(primary_key=True)
    entries = models.BigIntegerField(default=0)
    """Entries that the one in progress has come to."""
    total = models.BigIntegerField(default=0)
    """Entries of the chain when it began."""
    finished_at = models.DateTimeField(null=True)
    """Of the last that came to an end, like `report`. NULL: there was none."""
    report = models.JSONField(default=dict)
    """What it found; see `full_checks.py`."""

    objects = TeamQuerySet["FullCheck"].as_manager()

    def __str__(self) -> str:
        return f"{self.team_id} {self.state}"


class ExportFormat(models.TextChoices):
    """The form of the entries in an export."""

    JSONL = "jsonl", _("JSON Lines")
    CSV = "csv", _("CSV")
    BUNDLE = "bundle", _("Bundle with proofs")


class LedgerExport(BackgroundJob):
    """A file of the entries that a filter lets through: requested, made, then kept."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    team_id = models.UUIDField()
    format = models.CharField(max_length=8, choices=ExportFormat.choices)
    has_texts = models.BooleanField()
    """True: with the texts that are kept apart, such as prompts and answers."""
    filter = models.JSONField(default=dict)
    """See `exports/filters.py`."""
    through_seq = models.BigIntegerField()
    """The end of the chain when the export was requested; later entries stay out."""
    reached_seq = models.BigIntegerField(default=0)
    """The search has come so far."""
    entries = models.BigIntegerField(default=0)
    """Entries that are in the file."""
    size = models.BigIntegerField(default=0)
    """Bytes of the file, like `sha256` only once it is complete."""
    sha256 = models.CharField(max_length=64, default="")
    error = models.CharField(max_length=300, default="")
    """Why there is no file. Empty: there is, or there will be."""
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(null=True)
    """It is deleted soon after. NULL: it is not complete."""

    objects = TeamQuerySet["LedgerExport"].as_manager()

    class Meta:
        ordering = ("-id",)
        indexes = [models.Index(fields=["team_id", "id"], name="audit_export_by_team")]

    def __str__(self) -> str:
        return f"{self.id} {self.format}"


class LedgerExportPart(models.Model):
    """A piece of an export's file, encrypted."""

    export = models.ForeignKey(LedgerExport, models.CASCADE, related_name="parts")
    claim_id = models.UUIDField()
    """Of the attempt that wrote it."""
    index = models.PositiveIntegerField()
    """From 0."""
    sealed = models.BinaryField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["export", "claim_id", "index"], name="audit_export_part"
            )
        ]

    def __str__(self) -> str:
        return f"part {self.index} of {self.export_id}"
