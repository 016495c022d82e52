"""Answers about images: how many there are, and what their headers say."""

from __future__ import annotations

import re
from collections.abc import Sequence

from apps.simulator.answers import SimulatedAnswer
from apps.simulator.pictures import Picture

ASKED = re.compile(
    r"\b(?:images?|pictures?|photos?|screenshots?|pixels?)\b", re.IGNORECASE
)


def look(pictures: Sequence[Picture], question: str) -> SimulatedAnswer | None:
    """Return the answer; None without images or a question about them."""
    if not pictures or not ASKED.search(question):
        return None
    count = len(pictures)
    short = "1 image" if count == 1 else f"{count} images"
    rows = (f"{n}. {picture.described}" for n, picture in enumerate(pictures, 1))
    return SimulatedAnswer(short, f"**{short}**\n\n" + "\n".join(rows))
