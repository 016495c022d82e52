"""Rows of the search index: codes of words, never the words.

Why so, and what the codes tell: docs/adr/0022. All of it can be made again from the
ledger; a run's rows are erased together with its texts.
"""

from __future__ import annotations

from django.db import models

from apps.accounts.models import Team
from apps.core.scoping import TeamQuerySet


class SearchWord(models.Model):
    """A word that stands in a run's prompt or in one of its answers."""

    pk = models.CompositePrimaryKey("team_id", "word", "run_id")
    # Without constraints: each would be checked for every word of every run.
    team = models.ForeignKey(
        Team, models.CASCADE, related_name="+", db_index=False, db_constraint=False
    )
    word = models.BigIntegerField()
    """8 bytes of an HMAC of the word under a key of the team; see `word_codes.py`."""
    run_id = models.UUIDField()

    objects = TeamQuerySet["SearchWord"].as_manager()

    def __str__(self) -> str:
        return f"{self.word:x} {self.run_id}"


class IndexedRun(models.Model):
    """A run whose texts are in the index."""

    run_id = models.UUIDField(primary_key=True)
    team = models.ForeignKey(Team, models.CASCADE, related_name="+", db_index=False)
    words = models.BinaryField()
    """The codes of its words, 8 bytes each, so that its rows are found again when they
    are erased. Empty: it has no text, or that is erased."""
    is_partial = models.BooleanField()
    """True: some of its words are not in the index, because it has too many or its
    entries could not be read."""

    objects = TeamQuerySet["IndexedRun"].as_manager()

    class Meta:
        indexes = [
            # Few rows: these runs are read themselves when something is searched.
            models.Index(
                fields=["team", "run_id"],
                name="run_indexed_in_part",
                condition=models.Q(is_partial=True),
            )
        ]

    def __str__(self) -> str:
        return f"{self.run_id} {len(self.words) // 8} words"


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
    erasures = models.BigIntegerField(default=0)
    """Grows whenever words are erased: what was read before is then not written."""

    objects = TeamQuerySet["SearchProgress"].as_manager()

    def __str__(self) -> str:
        return f"{self.team_id} {self.from_seq}-{self.through_seq}"
