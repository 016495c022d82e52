"""Holds a run to its limits: what is spent, what is promised, what is left."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

from apps.engine.errors import LimitKind, LimitReached
from apps.engine.limits import Limits
from apps.engine.usage import Cost, Price, Usage, cost_of


class CallReservation(NamedTuple):
    """Tokens and money set aside for a call in flight."""

    input_tokens: int
    output_tokens: int
    """The most the model may write."""
    micros: int


class StepShare(NamedTuple):
    """What part of the money that is left one step of a plan may take."""

    likely: int
    """What the step likely costs, in micro-dollars."""
    likely_open: int
    """The same of all steps that have not begun, this one included."""
    highest_others: int
    """What the others of these cost at most."""

    def of(self, left: int) -> int:
        """Return the step's part of `left`.

        It is what the others can't use, or a part by likely costs: if `left` is what
        all of them likely cost, each has what it likely costs.
        """
        part = left * self.likely // max(self.likely_open, 1)
        return max(part, left - self.highest_others)


@dataclass(frozen=True, slots=True)
class StepCosts:
    """What the steps of a plan likely cost, and at most, in micro-dollars."""

    likely: tuple[int, ...]
    highest: tuple[int, ...]

    def share(self, index: int, begun: Collection[int]) -> StepShare:
        """Return the share of a step; those in `begun` have taken theirs."""
        others = [i for i in range(len(self.likely)) if i != index and i not in begun]
        return StepShare(
            self.likely[index],
            self.likely[index] + sum(self.likely[i] for i in others),
            sum(self.highest[i] for i in others),
        )


class Meter:
    """Counts one run. A call is reserved before it leaves and settled when it ends.

    Input is reserved by estimate, because only the provider counts exactly: a run can
    cross its token limit by the error of the estimates in flight, never by output.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.calls = 0
        self.usage = Usage()
        self.cost = Cost()
        self._reserved_tokens = 0
        self._reserved_micros = 0
        self._in_flight = 0
        self._busy_since = 0.0
        self._waited_s = 0.0

    def reserve(
        self,
        *,
        input_tokens: int,
        wanted_output: int,
        price: Price | None,
        share: StepShare | None = None,
    ) -> CallReservation:
        """Set aside what a call may need, and shrink its output to what is left.

        `share`: what of it is the call's, if other steps need money as well; where
        that is too little, it may take all. Raises: LimitReached.
        """
        if self.calls >= self._limits.max_calls:
            raise LimitReached(
                LimitKind.CALLS, f"the run may make {self._limits.max_calls} calls"
            )
        output = self._output_within_tokens(input_tokens, wanted_output)
        output = self._output_within_cost(input_tokens, output, price, share)
        micros = 0
        if price is not None:
            micros = price.cost_micros(Usage(input_tokens, output))
        self.calls += 1
        self._reserved_tokens += input_tokens + output
        self._reserved_micros += micros
        return CallReservation(input_tokens, output, micros)

    def release(self, held: CallReservation) -> None:
        """Give back a reservation whose call is never made."""
        self.calls -= 1
        self._reserved_tokens -= held.input_tokens + held.output_tokens
        self._reserved_micros -= held.micros

    def restrict(self, limits: Limits) -> None:
        """Hold the run to these limits from now on."""
        self._limits = limits

    def begin(self, now: float) -> None:
        """A model is being waited for; `now` is the loop's time in seconds."""
        if self._in_flight == 0:
            self._busy_since = now
        self._in_flight += 1

    def end(self, now: float) -> None:
        """The call of `begin` has ended, with an answer or a failure."""
        self._in_flight -= 1
        if self._in_flight == 0:
            self._waited_s += now - self._busy_since

    def settle(self, held: CallReservation, usage: Usage, price: Price | None) -> Cost:
        """Replace a reservation by what was really used; return its cost."""
        self._reserved_tokens -= held.input_tokens + held.output_tokens
        self._reserved_micros -= held.micros
        cost = cost_of(usage, price)
        self.usage += usage
        self.cost += cost
        return cost

    def recall(self, usage: Usage, cost_micros: int | None) -> None:
        """Count a call of the recorded history."""
        self.calls += 1
        self.usage += usage
        unknown = cost_micros is None
        self.cost += Cost(cost_micros or 0, has_unknown=unknown)

    def recall_unknown(self) -> None:
        """Count a call whose outcome was lost. Its cost will stay unknown."""
        self.calls += 1
        self.cost += Cost(0, has_unknown=True)

    @property
    def waited_s(self) -> float:
        """Return the time in which at least one model was being waited for."""
        return self._waited_s

    @property
    def is_bound(self) -> bool:
        """Say whether a limit shrinks what models may write."""
        limits = self._limits
        return limits.max_tokens is not None or limits.max_cost_micros is not None

    def _output_within_tokens(self, input_tokens: int, wanted: int) -> int:
        if self._limits.max_tokens is None:
            return wanted
        spent = self.usage.total_tokens + self._reserved_tokens
        left = self._limits.max_tokens - spent - input_tokens
        if left < 1:
            raise LimitReached(
                LimitKind.TOKENS,
                f"the run may use {self._limits.max_tokens} tokens; {spent} are used "
                f"or promised and the next call needs more than {input_tokens}",
            )
        return min(wanted, left)

    def _output_within_cost(
        self,
        input_tokens: int,
        wanted: int,
        price: Price | None,
        share: StepShare | None,
    ) -> int:
        if self._limits.max_cost_micros is None:
            return wanted
        if price is None:
            raise LimitReached(
                LimitKind.COST, "a cost limit is set and this model's price is unknown"
            )
        spent = self.cost.micros + self._reserved_micros
        left = self._limits.max_cost_micros - spent
        affordable = _affordable(left, input_tokens, wanted, price)
        if share is not None:
            own = _affordable(share.of(left), input_tokens, wanted, price)
            affordable = own or affordable
        if affordable < 1:
            limits = self._limits
            why = f" ({limits.max_cost_reason})" if limits.max_cost_reason else ""
            raise LimitReached(
                LimitKind.COST,
                f"the run may cost {_dollars(limits.max_cost_micros)} at most{why}; "
                f"{_dollars(spent)} is spent or promised, and the next call needs "
                "more: raise the limit, or use cheaper workers",
            )
        return affordable


def _affordable(left: int, input_tokens: int, wanted: int, price: Price) -> int:
    """Return how many output tokens can be paid, at most `wanted`."""
    left -= price.cost_micros(Usage(prompt_tokens=input_tokens))
    if price.output_micros == 0 and left >= 0:
        return wanted
    return min(wanted, left * 1_000_000 // price.output_micros) if left > 0 else 0


def _dollars(micros: int | None) -> str:
    whole, rest = divmod(micros or 0, 1_000_000)
    return f"${whole}." + f"{rest:06d}".rstrip("0").ljust(2, "0")
