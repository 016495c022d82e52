"""Models that go wrong, each in one way, so that every fault can be met on purpose.

What such a model does say, it says as a worker that is always right; `[[say …]]` and
`[[call name {…}]]` in a question spell it out. Besides those with a fixed name:

- `cut-<n>`, `cut-quiet-<n>`, `idle-<n>`, `error-<n>`: the connection is closed, the
  stream ends without its end marker, falls silent, or brings an error, after n tokens.
- `flaky-<n>`: fails n times for each new request, then answers. `late-<ms>`: answers so
  late, `trickle-<ms>`: one token in this time, both whatever the simulator's speed.
- `context-<n>`: refuses more than n input tokens. `text-only`: images and tools.
  `no-prefill`, `sim-conductor-no-prefill`: the beginning of an answer.
- `json-once`, `schema-once`: what should be JSON is none, or breaks its schema, until
  the model is shown its own answer; `json-never`: always.
- `hostile-…`: floods, nesting and false lengths that would harm a careless client; see
  `apps.simulator.faulty.hostile`. They are found by name and are on no list.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

from apps.simulator.exchange import SimulatedExchange
from apps.simulator.faulty import breaking, hostile, refusals, shapes, waiting
from apps.simulator.problems import Kind, Problem

CONTEXT_TOKENS = 8192
"""What `fault-context-length` says its context is."""
NO_JSON = "Certainly! The answer is: {answer"
WRONG_JSON = '["this is not what the schema asks for"]'

Fault = Callable[[SimulatedExchange, int], Awaitable[None]]
"""Takes the exchange and the seed."""

RATE_LIMITED = Problem(Kind.RATE_LIMITED, "Rate limit reached.")
CRASHED = Problem(Kind.SERVER, "The server had an error.")
BREAK_OFF = re.compile(r"(cut-quiet|cut|idle|error)-(\d{1,6})")
TIMED = re.compile(r"(late|trickle)-(\d{1,6})")
FLAKY = re.compile(r"flaky-(\d{1,3})")
NARROW = re.compile(r"context-(\d{1,7})")


class FaultyModels:
    """The models with faults; each instance has a memory of its own."""

    def __init__(self) -> None:
        self._fixed = faults()
        self._hostile = hostile.ways()
        self._flaky: dict[str, Fault] = {}
        self.names = tuple(self._fixed)

    def find(self, name: str) -> Fault | None:
        """Return the model with a fault called `name`, or None if there is none."""
        if fault := self._fixed.get(name):
            return fault
        if way := self._hostile.get(name):
            return way
        if match := BREAK_OFF.fullmatch(name):
            return breaking.After(match[1], int(match[2]))
        if match := TIMED.fullmatch(name):
            return waiting.Late(int(match[2]) / 1000, match[1] == "trickle")
        if match := NARROW.fullmatch(name):
            return refusals.Narrow(int(match[1]))
        if match := FLAKY.fullmatch(name):
            return self._flaky.setdefault(name, refusals.Flaky(CRASHED, int(match[1])))
        return None


def _refusals() -> dict[str, Fault]:
    return {
        "fault-429": refusals.Refusal(RATE_LIMITED),
        "fault-429-once": refusals.Flaky(RATE_LIMITED),
        "fault-500": refusals.Refusal(CRASHED),
        "fault-500-once": refusals.Flaky(CRASHED),
        "fault-overloaded": _refusal(Kind.OVERLOADED, "The server is overloaded."),
        "fault-quota": _refusal(Kind.QUOTA, "You exceeded your quota; see billing."),
        "fault-401": _refusal(Kind.UNAUTHORIZED, "Incorrect API key provided."),
        "fault-403": _refusal(Kind.FORBIDDEN, "This key may not do that."),
        "fault-404": _refusal(Kind.NO_MODEL, "The model does not exist."),
        "fault-400": _refusal(Kind.BAD_REQUEST, "The request is not acceptable."),
        "fault-filtered": _refusal(
            Kind.CONTENT_FILTER, "Output blocked by content filtering policy"
        ),
        "fault-context-length": refusals.Narrow(CONTEXT_TOKENS, is_always=True),
    }


def _refusal(kind: Kind, message: str) -> Fault:
    return refusals.Refusal(Problem(kind, message))


def faults() -> dict[str, Fault]:
    """Return the models with faults; each call has a memory of its own."""
    return {
        **_refusals(),
        "fault-refuse": refusals.refuse,
        "fault-cut": breaking.cut,
        "fault-cut-quiet": breaking.cut_quietly,
        "fault-silent": waiting.silent,
        "fault-stall": waiting.stall,
        "fault-idle": breaking.idle,
        "fault-ping": waiting.ping,
        "fault-html": shapes.html,
        "fault-no-usage": shapes.no_usage,
        "fault-error-event": breaking.error_event,
        "fault-overloaded-event": breaking.overloaded_event,
        "fault-bad-json": shapes.bad_json,
        "fault-empty": shapes.empty,
        "fault-length": shapes.length,
        "fault-other-model": shapes.other_model,
        "fault-redirect": shapes.redirect,
        "sim-conductor-cut": breaking.cut_plan,
        "text-only": refusals.text_only,
        "no-prefill": refusals.no_prefill,
        "sim-conductor-no-prefill": refusals.conductor_no_prefill,
        "json-once": shapes.Malformed(NO_JSON),
        "json-never": shapes.Malformed(NO_JSON, is_stubborn=True),
        "schema-once": shapes.Malformed(WRONG_JSON),
    }
