"""The error tree speaks the engine's words."""

from __future__ import annotations

from apps.engine.errors import CallFault
from apps.llm.errors import LlmError

ENGINES_OWN = {
    CallFault.CANCELLED,
    CallFault.CIRCUIT_OPEN,
    CallFault.DIVERGED,
    CallFault.EMPTY,
    CallFault.FIRST_TOKEN_TIMEOUT,
    CallFault.INVALID_OUTPUT,
    CallFault.PREFILL_REFUSED,
    CallFault.QUEUE_FULL,
}
"""Judgements about calls that this package did not fail, or never made."""


def test_faults_are_exactly_the_engines_words():
    words = [kind.fault for kind in LlmError.__subclasses__()]
    assert sorted(words) == sorted(set(CallFault) - ENGINES_OWN)
