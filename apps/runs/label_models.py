"""Labels of runs: tags that people give them, and metadata of their requests."""

from __future__ import annotations

from django.db import models

from apps.accounts.models import Team
from apps.core.scoping import TeamQuerySet
from apps.runs.label_types import METADATA_NAME_LENGTH, METADATA_VALUE_LENGTH


class RunLabel(models.Model):
    """A tag of a run, or a pair of its metadata.

    In the clear, like titles, so that lists can be filtered; erased with the run's
    texts. Metadata is in the run's first entry too, and tags in entries of their own.
    """

    pk = models.CompositePrimaryKey("team_id", "name", "value", "run_id")
    team = models.ForeignKey(Team, models.CASCADE, related_name="+", db_index=False)
    name = models.CharField(max_length=METADATA_NAME_LENGTH)
    """Of a pair of metadata. Empty: it is a tag."""
    value = models.CharField(max_length=METADATA_VALUE_LENGTH)
    run_id = models.UUIDField()

    objects = TeamQuerySet["RunLabel"].as_manager()

    class Meta:
        indexes = [
            # The labels of the runs on a page, and their erasure.
            models.Index(fields=["team", "run_id"], name="run_label_by_run")
        ]

    def __str__(self) -> str:
        return f"{self.run_id} {self.name}={self.value}"
