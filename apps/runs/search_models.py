"""Rows of the search index: codes of words, never the words.

Why so, and what the codes tell: docs/adr/0022 and 0024. All of it can be made again
from the ledger; what is in it of a run is erased together with its texts.
"""

from __future__ import annotations

from django.db import models

from apps.accounts.models import Team
from apps.core.scoping import TeamQuerySet


class SearchBlock(models.Model):
    """Which runs of a block have which words, of a part of all words.

    The levels, and what a block and a bucket of each are: `search/blocks.py`.
    """

    pk = models.CompositePrimaryKey("team_id", "level", "bucket", "block")
    team = models.ForeignKey(Team, models.CASCADE, related_name="+", db_index=False)
    level = models.PositiveSmallIntegerField()
    bucket = models.PositiveSmallIntegerField()
    """The first bits of the codes."""
    block = models.BigIntegerField()
    """On level 0 the number of its first run; above, it counts the level's blocks."""
    postings = models.BinaryField()
    """See `search/postings.py`."""

    objects = TeamQuerySet["SearchBlock"].as_manager()

    def __str__(self) -> str:
        return f"{self.level}.{self.bucket}.{self.block}"


class IndexedRun(models.Model):
    """A run whose texts are in the index."""

    run_id = models.UUIDField(primary_key=True)
    team = models.ForeignKey(Team, models.CASCADE, related_name="+", db_index=False)
    number = models.BigIntegerField()
    """Counts the runs of a team in the order in which they were indexed, from 0."""
    words = models.BinaryField()
    """The first 4 bytes of the code of each word, so that it is found again when it
    is erased. Empty: the run has no text, or that is erased."""
    is_partial = models.BooleanField()
    """True: some of its words are not in the index, because it has too many or its
    entries could not be read."""

    objects = TeamQuerySet["IndexedRun"].as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["team", "number"], name="indexed_run_has_a_number"
            )
        ]
        indexes = [
            # Few rows: these runs are read themselves when something is searched.
            models.Index(
                fields=["team", "run_id"],
                name="run_indexed_in_part",
                condition=models.Q(is_partial=True),
            )
        ]

    def __str__(self) -> str:
        return f"{self.run_id} {len(self.words) // 4} words"


class SearchProgress(models.Model):
    """How far the index of a team has come in its chain.

    Runs that ended at entries after `from_seq` and up to `through_seq` are indexed.
    """

    team = models.OneToOneField(
        Team, models.CASCADE, primary_key=True, related_name="+"
    )
    from_seq = models.BigIntegerField()
    """Older runs are indexed from here on backwards. 0: all of them are."""
    through_seq = models.BigIntegerField()
    runs = models.BigIntegerField(default=0)
    """Indexed so far, and so the number of the next one."""
    erasures = models.BigIntegerField(default=0)
    """Grows whenever words are erased: what was read before is then not written."""

    objects = TeamQuerySet["SearchProgress"].as_manager()

    def __str__(self) -> str:
        return f"{self.team_id} {self.from_seq}-{self.through_seq}"
