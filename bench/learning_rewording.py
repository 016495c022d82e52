"""The benchmark's questions in other words, which no logged run had."""

from __future__ import annotations

import re

SWAPS = tuple(
    (re.compile(pattern), other)
    for pattern, other in (
        (r"^What is the capital of", "Which city is the capital of"),
        (r"^Name the capital city of", "Give the capital city of"),
        (r"^Name the capitals of", "Give the capitals of"),
        (r"^What is (?=\d)", "How much is "),
        (r"^Calculate ", "Work out "),
        (r"^Compute ", "Calculate "),
        (r"^Convert ", "Change "),
        (r"^Express ", "Give "),
        (r"^How many (\w+) are (\d)", r"What number of \1 make \2"),
        (r"^Write the made-up word", "Put the invented word"),
        (r"^Reverse the letters", "Turn around the letters"),
        (r"^Spell ", "Write "),
        (r"^A shop has", "A store holds"),
        (r" sells ", " gives away "),
        (r"pens are left", "pens remain"),
        (r"pages a day", "pages each day"),
        (r"in all\.", "altogether."),
        (r"^A theatre has", "A cinema holds"),
        (r"are broken", "are out of use"),
        (r"^What does this Python program print", "What is the output of this code"),
    )
)
"""Fixed before anything was measured with them; each wording has at least one."""


def reworded(question: str) -> str:
    """Return a question in other words, with the same answer."""
    for pattern, other in SWAPS:
        question = pattern.sub(other, question)
    return question
