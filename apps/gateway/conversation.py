"""Turns the messages of a chat request into the one prompt of a run.

The rule, a public contract (docs/api.md):
- One user message and nothing else: the prompt is its text, unchanged.
- System and developer messages come first, in their order, without a label.
- One turn after them: its text follows without a label.
- Several turns: each follows in its order as `User: …` or `Assistant: …`.
- Blocks are separated by one blank line.

The caller writes every message, so a text that imitates a label gains no authority.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

INSTRUCTION_ROLES = frozenset({"system", "developer"})
LABELS = {"user": "User: ", "assistant": "Assistant: "}
ROLES = INSTRUCTION_ROLES | LABELS.keys()
BLOCK_END = "\n\n"


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a conversation, reduced to its text."""

    role: str
    """One of ROLES."""
    text: str


def compose_prompt(turns: Sequence[Turn]) -> str:
    """Return the prompt that stands for `turns`."""
    if len(turns) == 1:
        return turns[0].text
    spoken = [turn for turn in turns if turn.role in LABELS]
    blocks = [turn.text for turn in turns if turn.role in INSTRUCTION_ROLES]
    if len(spoken) == 1:
        blocks.append(spoken[0].text)
    else:
        blocks.extend(LABELS[turn.role] + turn.text for turn in spoken)
    return BLOCK_END.join(block for block in blocks if block)
