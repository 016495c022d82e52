"""Hides the names of a team's workers in answers that are shown blindly.

Models sign their answers, or speak of themselves. Names of workers, and of the models
behind them, are replaced; what else an answer gives away about its author stays.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Collection

from apps.pools.selectors import worker_list
from apps.runs.models import Run
from apps.runs.planning.model_resolver import direct_worker

HIDDEN = "[hidden]"
SHORTEST = 3
"""Characters of a name. A shorter one may be any word, unless it has a digit (`o3`)."""


class NameMask:
    """Replaces the names of one team's workers in texts."""

    def __init__(self, names: frozenset[str]) -> None:
        known = sorted(filter(_is_telling, names), key=len, reverse=True)
        words = "|".join(re.escape(name) for name in known)
        self._pattern = (
            re.compile(rf"(?<!\w)(?:{words})(?!\w)", re.I) if known else None
        )
        self._longest = len(known[0]) if known else 0

    def whole(self, text: str) -> str:
        """Return a text without the names."""
        return text if self._pattern is None else self._pattern.sub(HIDDEN, text)

    def beginning(self, text: str) -> str:
        """Do the same with the part of a growing text that no further text changes.

        What is returned for a text is the beginning of what is returned when it has
        grown, and no part of a name is ever in it.
        """
        shown, _ = self.continued(text, 0)
        return shown

    def continued(self, text: str, start: int) -> tuple[str, int]:
        """Do the same with a text from `start` on; return what is shown, and its end.

        The end, in characters of the text, is where the next call goes on.
        """
        if self._pattern is None:
            return text[start:], len(text)
        end, at, parts = max(start, len(text) - self._longest), start, []
        for found in self._pattern.finditer(text, start):
            if found.end() > end:  # further text may show that it is another word
                end = min(end, found.start())
                break
            parts += [text[at : found.start()], HIDDEN]
            at = found.end()
        end = max(at, end)
        return "".join([*parts, text[at:end]]), end


def name_mask(team_id: uuid.UUID, run_ids: Collection[uuid.UUID] = ()) -> NameMask:
    """Return what hides the names of a team's workers and of their models.

    `run_ids`: runs of the team whose planned workers are hidden too; they may have been
    renamed or deleted since.
    """
    rows = worker_list(team_id).prefetch_related(None)
    names = {each for pair in rows.values_list("name", "model") for each in pair}
    for run in Run.objects.for_team(team_id).filter(id__in=run_ids):
        names |= {
            direct_worker(run.model),
            *(step["worker"] for step in run.plan or ()),
        }
    return NameMask(frozenset(names))


def _is_telling(name: str) -> bool:
    has_digit = len(name) > 1 and any(map(str.isdigit, name))
    return len(name) >= SHORTEST or has_digit
