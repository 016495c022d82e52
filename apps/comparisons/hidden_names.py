"""Hides the names of a team's workers in answers that are shown blindly.

Models sign their answers, or speak of themselves. Names of workers, and of the models
behind them, are replaced; what else an answer gives away about its author stays.
"""

from __future__ import annotations

import re
import uuid

from apps.pools.selectors import worker_list

HIDDEN = "[hidden]"
SHORTEST = 3
"""Characters of a name; a shorter one may be any word."""


class NameMask:
    """Replaces the names of one team's workers in texts."""

    def __init__(self, names: frozenset[str]) -> None:
        known = sorted((n for n in names if len(n) >= SHORTEST), key=len, reverse=True)
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
        if self._pattern is None:
            return text
        end, at, parts = max(0, len(text) - self._longest), 0, []
        for found in self._pattern.finditer(text):
            if found.end() > end:  # further text may show that it is another word
                end = min(end, found.start())
                break
            parts += [text[at : found.start()], HIDDEN]
            at = found.end()
        return "".join([*parts, text[at : max(at, end)]])


def name_mask(team_id: uuid.UUID) -> NameMask:
    """Return what hides the names of a team's workers and of their models."""
    rows = worker_list(team_id).prefetch_related(None)
    names = rows.values_list("name", "model")
    return NameMask(frozenset(each for pair in names for each in pair))
