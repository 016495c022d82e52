"""Goes on from the beginning of an answer, in the same words wherever it can."""

from __future__ import annotations

from dataclasses import replace

from apps.simulator.answers import SIGNATURE
from apps.simulator.benchmark.workers import BENCH_BY_NAME
from apps.simulator.reply import SimulatedReply, cut
from apps.simulator.workers import BY_NAME


def continued(whole: SimulatedReply, begun: str) -> SimulatedReply:
    """Return what is left of `whole` after `begun`.

    A beginning in other words is left as it is: its last line is ended, and the answer
    follows.
    """
    return replace(whole, pieces=cut(_rest(whole.text, begun)), reasoning=())


def _rest(text: str, begun: str) -> str:
    if text.startswith(begun):
        return text[len(begun) :]
    _, is_signed, name = begun.rpartition(SIGNATURE)
    if not is_signed:
        return f"\n\n{text}"
    known = (other for other in (*BY_NAME, *BENCH_BY_NAME) if other.startswith(name))
    return next(known, name)[len(name) :]
