"""One call: what it brings and what it cost, whole or broken off."""

import asyncio
from collections.abc import Iterable
from dataclasses import replace

import pytest

from apps.engine.calls import Attempt, AttemptFailed, ModelCalls, Target
from apps.engine.errors import CallFailed, CallFault
from apps.engine.limits import Limits
from apps.engine.messages import estimate_input
from apps.engine.meter import Meter
from apps.engine.ports import Call, CallEnd, CallParams, Delta, ToolCallDelta
from apps.engine.testing import ScriptedAnswer, ScriptedClient, run_virtual
from apps.engine.usage import Price, Usage

TOOL = {"type": "function", "function": {"name": "add"}}
CALL = Call("a", ({"role": "user", "content": "q"},), CallParams(tools=(TOOL,)))
NAMED = Delta(tool_calls=(ToolCallDelta(0, "x", "add"),))
HALF = Delta(tool_calls=(ToolCallDelta(0, arguments='{"a":'),))


def called(
    deltas: Iterable[Delta], end: CallEnd | CallFailed | None, call=CALL, **limits
):
    """Return the attempt, or what it raised, and the deltas that were passed on."""
    answer = ScriptedAnswer(tuple(deltas), end)
    shown: list[Delta] = []

    async def announce() -> None:
        """Nothing to make durable here."""

    async def main() -> Attempt:
        bounds = Limits(**limits)
        client = ModelCalls(ScriptedClient(lambda c, n: answer), bounds, Meter(bounds))
        target = Target(Price(1_000_000, 2_000_000), 100)
        return await client.call(call, target, announce, shown.append)

    return run_virtual(main()), shown


def broken(deltas: Iterable[Delta], end: CallEnd | CallFailed | None) -> AttemptFailed:
    with pytest.raises(AttemptFailed) as caught:
        called(deltas, end)
    return caught.value


def test_text_thinking_and_calls_are_collected_apart():
    pieces = [Delta(reasoning="Hm"), Delta("a", ", well"), Delta("b"), NAMED, HALF]
    attempt, shown = called(pieces, CallEnd())
    assert (attempt.text, attempt.reasoning) == ("ab", "Hm, well")
    assert attempt.tool_calls[0]["function"] == {"name": "add", "arguments": '{"a":'}
    assert shown == pieces


def test_the_first_piece_is_timed_whatever_it_is():
    attempt, _ = called([NAMED, HALF], CallEnd())
    assert (attempt.first_token_ms, attempt.latency_ms) == (50, 100)


def test_a_stream_without_its_end_is_incomplete():
    failed = broken([Delta("half")], None)
    assert failed.failure.fault is CallFault.INCOMPLETE
    assert failed.attempt.text == "half"


def test_a_call_that_breaks_off_has_no_calls_of_tools():
    failed = broken([NAMED, HALF], CallFailed(CallFault.IDLE_TIMEOUT, "silent"))
    assert failed.attempt.tool_calls == []
    assert failed.attempt.usage.completion_tokens > 0


def test_what_came_before_a_break_is_estimated_and_paid():
    failed = broken([Delta("x" * 30)], CallFailed(CallFault.SERVER_ERROR, "broken"))
    usage = failed.attempt.usage
    assert usage.is_estimated and usage.completion_tokens == 18
    assert usage.prompt_tokens > estimate_input(CALL.messages)
    assert failed.attempt.cost_micros == usage.prompt_tokens + 2 * 18


def test_a_call_that_was_refused_costs_nothing():
    failed = broken([], CallFailed(CallFault.BAD_REQUEST, "no"))
    assert failed.attempt.usage == Usage() and failed.attempt.cost_micros == 0


def test_estimates_stay_within_what_was_allowed():
    with pytest.raises(AttemptFailed) as caught:
        called([Delta("x" * 900)], None, max_tokens=80)
    assert caught.value.attempt.usage.total_tokens <= 80


def test_a_cancelled_call_goes_on_as_a_cancellation():
    failure = CallFailed(CallFault.CANCELLED, "closed")
    reason = AttemptFailed(failure, Attempt()).reason()
    assert isinstance(reason, asyncio.CancelledError)


@pytest.mark.parametrize(("told", "kept"), [("END", "END"), ("OTHER", ""), ("", "")])
def test_a_stop_sequence_counts_only_if_the_call_has_it(told: str, kept: str):
    call = replace(CALL, params=CallParams(stop=("END",)))
    attempt, _ = called([Delta("a")], CallEnd(stop_sequence=told), call=call)
    assert attempt.stop_sequence == kept
