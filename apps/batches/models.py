"""Files of requests and results, batches, and how far each request of a batch is.

A file's content is encrypted, part by part. A batch keeps no answers: its results file
is made of the records of its runs once all of them have ended.
"""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from apps.accounts.models import ApiKey, Team
from apps.core.ids import new_id
from apps.core.scoping import TeamQuerySet

MAX_NAME = 200
"""Characters of a file's name, and of a request's `custom_id`."""


class FilePurpose(models.TextChoices):
    """What a file is for."""

    BATCH = "batch", "Requests of a batch"
    OUTPUT = "batch_output", "Results of a batch"


class StoredFile(models.Model):
    """A file of a team. Its content is in its parts."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    team = models.ForeignKey(Team, models.CASCADE, related_name="+")
    api_key = models.ForeignKey(
        ApiKey, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    """The key that uploaded it, or whose batch wrote it."""
    purpose = models.CharField(max_length=16, choices=FilePurpose.choices)
    filename = models.CharField(max_length=MAX_NAME)
    size = models.PositiveBigIntegerField(default=0)
    """Bytes."""
    is_complete = models.BooleanField(default=False)
    """False: it is being written, or the process that wrote it has died."""
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    """It is deleted soon after."""

    objects = TeamQuerySet["StoredFile"].as_manager()

    class Meta:
        ordering = ("-id",)
        indexes = [
            models.Index(fields=["team", "id"], name="file_by_team"),
            models.Index(fields=["expires_at"], name="file_by_end"),
        ]

    def __str__(self) -> str:
        return self.filename


class FilePart(models.Model):
    """A piece of a file's content, encrypted."""

    file = models.ForeignKey(StoredFile, models.CASCADE, related_name="parts")
    index = models.PositiveIntegerField()
    """From 0. All but the last are of one size, `files.PART_BYTES`."""
    sealed = models.BinaryField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["file", "index"], name="file_part_is_unique"
            )
        ]

    def __str__(self) -> str:
        return f"part {self.index} of {self.file_id}"


class BatchState(models.TextChoices):
    """How far a batch is. The words of the OpenAI API."""

    VALIDATING = "validating", "Validating"
    """Its file has not been read yet."""
    FAILED = "failed", "Failed"
    """Its file cannot be used; no request was made."""
    IN_PROGRESS = "in_progress", "In progress"
    FINALIZING = "finalizing", "Finalizing"
    """All requests have ended; the results are being written."""
    COMPLETED = "completed", "Completed"
    EXPIRED = "expired", "Expired"
    """Its time was over before all requests had begun."""
    CANCELLING = "cancelling", "Cancelling"
    CANCELLED = "cancelled", "Cancelled"


ENDED = (
    BatchState.FAILED,
    BatchState.COMPLETED,
    BatchState.EXPIRED,
    BatchState.CANCELLED,
)


class RequestBatch(models.Model):
    """Many requests in one file, made in the background."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    team = models.ForeignKey(Team, models.CASCADE, related_name="+")
    api_key = models.ForeignKey(
        ApiKey, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    """The key that its requests are made with. None: it has been deleted."""
    endpoint = models.CharField(max_length=40)
    """Path that every request of the file names."""
    input_file = models.ForeignKey(StoredFile, models.RESTRICT, related_name="+")
    output_file = models.ForeignKey(
        StoredFile, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    """Answers. None: not written yet, or there is none."""
    error_file = models.ForeignKey(
        StoredFile, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    """Requests without an answer."""
    state = models.CharField(
        max_length=12, choices=BatchState.choices, default=BatchState.VALIDATING
    )
    errors = models.JSONField(default=list)
    """Why the file cannot be used: code, message, param and line of each fault."""
    metadata = models.JSONField(default=dict)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    """Requests that have not begun by then are not made."""
    in_progress_at = models.DateTimeField(null=True)
    finalizing_at = models.DateTimeField(null=True)
    cancelling_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    driver_id = models.UUIDField(null=True)
    """The process that makes its requests at the moment."""
    driven_until = models.DateTimeField(null=True)
    """After that another process may take it over."""

    objects = TeamQuerySet["RequestBatch"].as_manager()

    class Meta:
        ordering = ("-id",)
        indexes = [
            models.Index(fields=["team", "id"], name="batch_by_team"),
            # The drivers of all processes look for these all the time.
            models.Index(
                fields=["id"], condition=Q(ended_at=None), name="batch_unfinished"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.endpoint} {self.state}"


class LineState(models.TextChoices):
    """How far a request of a batch is."""

    WAITING = "waiting", "Waiting"
    STARTED = "started", "Started"
    """Its run has begun, or is about to: its id is known."""
    COMPLETED = "completed", "Completed"
    FAILED = "failed", "Failed"


class BatchLine(models.Model):
    """One request of a batch."""

    batch = models.ForeignKey(RequestBatch, models.CASCADE, related_name="lines")
    index = models.PositiveIntegerField()
    """From 0, in the order of the file."""
    custom_id = models.CharField(max_length=MAX_NAME)
    offset = models.PositiveBigIntegerField()
    """Where it begins in the file. Bytes, like `length`."""
    length = models.PositiveIntegerField()
    run_id = models.UUIDField(unique=True, default=new_id)
    """Of the run that answers it. Chosen before the run begins, so that a process that
    takes over finds the run instead of starting another one."""
    state = models.CharField(
        max_length=10, choices=LineState.choices, default=LineState.WAITING
    )
    status = models.PositiveSmallIntegerField(null=True)
    """HTTP status of a request that was refused before its run began."""
    error = models.JSONField(null=True)
    """Body of that refusal."""

    class Meta:
        ordering = ("index",)
        constraints = [
            models.UniqueConstraint(
                fields=["batch", "index"], name="batch_line_is_unique"
            )
        ]
        indexes = [
            models.Index(fields=["batch", "state", "index"], name="batch_line_by_state")
        ]

    def __str__(self) -> str:
        return self.custom_id
