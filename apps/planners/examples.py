"""The worked examples of the conductor's prompt, as plans: any form can show them.

They teach four habits: one step for recall; independent attempts and a judge; plan,
write, check; and an access list that names only the steps of use.
"""

from __future__ import annotations

from dataclasses import dataclass

from apps.engine.plan import Plan, PlannedStep

EXAMPLE_WORKERS = ("first", "second", "third")
"""Stand for Model 0, 1 and 2; the names themselves are never shown."""
_FIRST, _SECOND, _THIRD = EXAMPLE_WORKERS


@dataclass(frozen=True, slots=True)
class Example:
    """A question and a good plan for it."""

    question: str
    plan: Plan


RECALL = Example(
    "Which chemical element has the symbol W, and where does the letter come from?",
    Plan(
        (
            PlannedStep(
                "Name the element and explain where its symbol comes from, briefly.",
                _SECOND,
            ),
        ),
        "This is plain knowledge. One capable model is enough and a check would only "
        "cost time.",
    ),
)

MATHEMATICS = Example(
    "How many whole numbers from 1 to 500 are divisible by 3 or by 7, but not by both?",
    Plan(
        (
            PlannedStep(
                "Count the multiples of 3, of 7 and of 21 and combine the counts. "
                "End with the number.",
                _FIRST,
            ),
            PlannedStep(
                "Find how many residues modulo 21 qualify, count whole blocks of 21, "
                "then what remains up to 500. End with the number.",
                _THIRD,
            ),
            PlannedStep(
                "Compare the two results. Where they differ, find the error. State the "
                "final number with a short derivation.",
                _SECOND,
                (0, 1),
            ),
        ),
        "A slip in counting is likely, so two models should work independently with "
        "different methods, and a third one should compare them.",
    ),
)

CODE = Example(
    "Write a Python function that takes a list of (start, end) bookings and returns "
    "the free gaps between 08:00 and 18:00, in minutes since midnight.",
    Plan(
        (
            PlannedStep(
                "Describe the algorithm in a few steps and list the edge cases: no "
                "bookings, overlaps, bookings outside the day. Write no code.",
                _THIRD,
            ),
            PlannedStep(
                "Write the function this way, with type hints and a docstring.",
                _FIRST,
                (0,),
            ),
            PlannedStep(
                "Go through every edge case by hand against the code, correct what "
                "fails and give the final function only.",
                _THIRD,
                (0, 1),
            ),
        ),
        "Edge cases decide here. One model lays out the approach, one writes the code "
        "and one tests it against the edge cases.",
    ),
)

LETTER = Example(
    "A customer wants her money back 40 days after buying a kettle that leaks. Our "
    "policy allows returns for 30 days. Draft our reply.",
    Plan(
        (
            PlannedStep(
                "List what a shop owes a buyer for a faulty product, apart from its "
                "own return policy, and what is uncertain.",
                _FIRST,
            ),
            PlannedStep(
                "List what this customer needs to hear, and in what tone.", _SECOND
            ),
            PlannedStep(
                "Decide what we should offer her and why, in three sentences.",
                _THIRD,
                (0,),
            ),
            PlannedStep(
                "Write the letter: make the offer, in the tone described. At most 150 "
                "words.",
                _SECOND,
                (1, 2),
            ),
        ),
        "Rights and tone are separate matters and can be worked out side by side. The "
        "offer follows from the rights alone; the letter needs the offer and the tone.",
    ),
)

EXAMPLES = (RECALL, MATHEMATICS, CODE, LETTER)
