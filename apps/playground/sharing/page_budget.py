"""What a page for visitors without an account may hold, and may cost to draw."""

from __future__ import annotations

from django.utils.safestring import SafeString

from apps.playground.texts import markdown
from apps.playground.texts.model_text import (
    ON_REQUEST_US,
    DrawnText,
    draw_on_request,
    is_dense,
)

CHARACTERS = 200_000
"""Of all texts of a page together, before they are cut."""
SHORTEST = 200
"""Characters that are shown of every text, though the page is full."""
FORMATTING_US = 400_000
"""For the formatting of all its texts, in microseconds of an ordinary processor."""
_STEPS_US = (2_000, 10_000, 30_000, ON_REQUEST_US)
"""The cost of a text is rounded up to one of these."""


class PageBudget:
    """Cuts the texts of one page, in the order in which they are drawn."""

    def __init__(self) -> None:
        self._characters = CHARACTERS
        self._us = FORMATTING_US

    def cut(self, text: str) -> str:
        """Return a text, or its beginning if the page has no room for all of it."""
        shown = text[: max(SHORTEST, self._characters)]
        self._characters = max(0, self._characters - len(shown))
        return shown

    def draw(self, text: str, place: str) -> DrawnText:
        """Return a text formatted as far as the page may, and cut as `cut` does.

        `place`: as `markdown.render` takes it.
        """
        shown = self.cut(text)
        cost = self._cost(shown)
        is_cut = len(shown) < len(text)
        if cost > self._us:
            return DrawnText(SafeString(), shown, is_dense(shown), is_cut=is_cut)
        self._us -= cost
        drawn = draw_on_request(shown, place)
        return DrawnText(drawn.html, drawn.plain, drawn.is_dense, is_cut=is_cut)

    def _cost(self, text: str) -> int:
        fits = (us for us in _STEPS_US if markdown.formattable(text, us) >= len(text))
        return next(fits, ON_REQUEST_US)
