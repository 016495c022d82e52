"""The state that the parts of one running run share."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from apps.engine.calls import ModelCalls
from apps.engine.journal import Journal
from apps.engine.limits import Limits
from apps.engine.meter import Meter
from apps.engine.ports import Pool, Ports, Task
from apps.engine.replay import ReplayedRun, Round
from apps.engine.vectors.prompt_vectors import PromptVector


@dataclass(slots=True)
class RunContext:
    """One run in this process."""

    task: Task
    pool: Pool
    ports: Ports
    limits: Limits
    state: ReplayedRun
    meter: Meter
    journal: Journal
    calls: ModelCalls
    has_spoken: bool = False
    """True once a part of the answer has gone out to the caller."""
    refused: dict[str, str] = field(default_factory=dict)
    """Workers that the policies took out of the pool, and why."""
    whole_pool: Pool = field(init=False)
    """The pool as it was before the policies took workers out."""
    redacted: tuple[str, ...] = ()
    """Kinds of sensitive data that models do not see."""
    restores: bool = False
    """True: what was redacted is put back into the answer."""
    vectors: dict[str, PromptVector] = field(default_factory=dict)
    """What came of asking for the vector of the prompt, by the prompt that was sent."""
    clock: asyncio.Timeout | None = None
    """Ends the run when its time is up."""
    paused_s: float = 0.0
    """For how long the run has waited for people."""

    def __post_init__(self) -> None:
        """Keep the whole pool."""
        self.whole_pool = self.pool

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stop the run's clock for as long as it waits for people."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        due = None if self.clock is None else self.clock.when()
        if self.clock is not None:
            self.clock.reschedule(None)
        try:
            yield
        finally:
            waited_s = loop.time() - began
            self.paused_s += waited_s
            if self.clock is not None and due is not None:
                self.clock.reschedule(due + waited_s)

    @property
    def replans_used(self) -> int:
        """Return how many plans were made because a round had no answer."""
        return sum(r.is_unanswered for r in self.state.rounds[:-1])

    @property
    def may_replan(self) -> bool:
        """Say whether a failed round may be followed by a new plan."""
        return self.replans_used < self.limits.max_replans and not self.has_spoken

    @property
    def may_recurse(self) -> bool:
        """Say whether the planner may look at the answer and plan again."""
        planned = len(self.state.rounds) - self.replans_used
        return planned < self.limits.max_rounds

    @property
    def may_delegate(self) -> bool:
        """Say whether the next plan may leave the rest to a worker.

        What the worker plans is a round too, so there must be one left for it.
        """
        rounds = self.state.rounds
        done = sum(round_.plan.plans_rest for round_ in rounds)
        planned = len(rounds) + 1 - sum(round_.is_unanswered for round_ in rounds)
        return (
            self.ports.rest_planner is not None
            and done < self.limits.max_delegations
            and planned < self.limits.max_rounds
        )

    @property
    def is_call_streamed(self) -> bool:
        """Say whether it matters when the first token of a call comes."""
        task = self.task
        return task.is_streamed or task.is_watched or self.limits.is_hedged

    def is_superseded(self, round_: Round) -> bool:
        """Say whether a failure has made the rest of a round useless."""
        return round_.has_failure and self.may_replan and not self.keeps_refusal(round_)

    def keeps_refusal(self, round_: Round) -> bool:
        """Say whether a provider has refused and no other worker may be asked."""
        return round_.has_refusal and not self.pool.retries_refusals

    def streams_round(self, number: int) -> bool:
        """Say whether the answer of round `number` goes out as it comes.

        Only if no later round can change it, its form need not be checked, and nothing
        that was redacted has to be put back.
        """
        wanted = self.task.params.response_format
        is_checked = wanted is not None and wanted.get("type", "text") != "text"
        if is_checked or self.restores or not self.task.is_streamed:
            return False
        is_newest = number == len(self.state.rounds) - 1
        return is_newest and not self.may_recurse
