"""Selects the workers of a step, their order, and the prompt of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from apps.engine.context import cut_messages, fits, worker_messages
from apps.engine.delegation import Rest
from apps.engine.errors import TRANSIENT_FAULTS, CallFault
from apps.engine.plan import Plan
from apps.engine.ports import CallParams, Messages, Pool, PoolWorker, Task
from apps.engine.replay import Tried
from apps.engine.suitability import unsuited

MAX_INVALID = 2
"""Answers in a wrong form per step: the first one, and the one put right."""
_ASKED_DIFFERENTLY = frozenset({CallFault.INVALID_OUTPUT, CallFault.PREFILL_REFUSED})
"""After these the same worker is asked at once, in another way."""


@dataclass(frozen=True)
class Candidates:
    """The workers that can do one step.

    They stand in the order planned worker, fallback, substitutes. Who has too small a
    context is passed over; if all have, the largest come first and get a cut
    conversation.
    """

    task: Task
    pool: Pool
    plan: Plan
    index: int
    responses: Mapping[int, str]
    """The text of every earlier step that has ended."""
    needs_price: bool = False
    """True: the run has a cost limit, which cannot be enforced without a price."""
    rest: Rest | None = None
    """Given: the step plans it."""
    _messages: dict[str, Messages] = field(default_factory=dict)
    _fitting: dict[str, bool] = field(default_factory=dict)

    @cached_property
    def workers(self) -> tuple[PoolWorker, ...]:
        """Return the candidates in the order they are asked."""
        able = [w for w in self._in_order() if not self._unsuited(w)]
        fitting = [w for w in able if self._fits(w)]
        return tuple(fitting or sorted(able, key=lambda w: -(w.context_tokens or 0)))

    @property
    def first(self) -> PoolWorker | None:
        """Return who is asked first, mostly without a look at the others."""
        for worker in self._in_order():
            if not self._unsuited(worker) and self._fits(worker):
                return worker
        return self.workers[0] if self.workers else None

    def has_other(self, worker: PoolWorker, failures: Sequence[Tried]) -> bool:
        """Return whether a worker that has not failed could do the step as well."""
        tried = {worker.name, *(tried.worker for tried in failures)}
        return any(
            other.name not in tried and not self._unsuited(other) and self._fits(other)
            for other in self._in_order()
        )

    @property
    def fault(self) -> str:
        """Return why there is no candidate, for an error message."""
        reasons = [f"{w.name!r} {self._unsuited(w)}" for w in self._in_order()]
        return "; ".join(["no worker of the pool can do it", *reasons])

    def messages(self, worker: PoolWorker) -> Messages:
        """Return what a candidate is sent: whole, or cut to its context."""
        if self._fits(worker) or self.rest is not None:
            return self._whole(worker)
        return cut_messages(self.task, self.plan, self.index, self.responses, worker)

    @property
    def _answers(self) -> bool:
        return self.plan.gives_answer(self.index)

    def _in_order(self) -> list[PoolWorker]:
        planned = self.plan.steps[self.index].worker
        names = (planned, self.pool.fallback, *self.pool.substitutes)
        # Between a crash and the resumption somebody may have changed the pool.
        present = {w.name: w for w in self.pool.workers}
        return [present[name] for name in dict.fromkeys(names) if name in present]

    def _unsuited(self, worker: PoolWorker) -> str:
        if self.needs_price and worker.price is None:
            return "has no price, and the run has a cost limit"
        return unsuited(self.task, worker, is_last=self._answers)

    def _fits(self, worker: PoolWorker) -> bool:
        if worker.context_tokens is None:
            return True
        if worker.name not in self._fitting:
            params = self.task.params if self._answers else CallParams()
            self._fitting[worker.name] = fits(
                self._whole(worker), worker, params.max_tokens, tools=params.tools
            )
        return self._fitting[worker.name]

    def _whole(self, worker: PoolWorker) -> Messages:
        if worker.name not in self._messages:
            self._messages[worker.name] = (
                self.rest.messages(worker)
                if self.rest is not None
                else worker_messages(
                    self.task, self.plan, self.index, self.responses, worker
                )
            )
        return self._messages[worker.name]


def next_worker(
    candidates: Sequence[PoolWorker],
    failures: Sequence[Tried],
    max_attempts: int,
    *,
    closed: int = 0,
) -> PoolWorker | None:
    """Return the next worker for a step, None if none is left.

    Every candidate gets its turn; attempts beyond that go to a worker whose faults were
    all transient. An answer in a wrong form is put right once, by the worker that gave
    it, and a refused prefill is left out at once. `closed` counts calls that were
    closed because another one was quicker.
    """
    left = attempts_left(failures, max_attempts, closed=closed)
    if left < 1:
        return None
    invalid = sum(tried.fault is CallFault.INVALID_OUTPUT for tried in failures)
    if invalid >= MAX_INVALID:
        return None
    fresh = untried(candidates, failures)
    again = _again(candidates, failures)
    if again is None or not fresh:
        return again or (fresh[0] if fresh else None)
    last = failures[-1]
    is_due = last.fault in _ASKED_DIFFERENTLY or left > len(fresh)
    return again if again.name == last.worker and is_due else fresh[0]


def attempts_left(
    failures: Sequence[Tried], max_attempts: int, *, closed: int = 0
) -> int:
    """Return how many calls a step may still make.

    A worker that rests because it failed before is not called, so it costs nothing. Nor
    does a prefill that a worker refuses at once, before the proper call.
    """
    made = sum(tried.fault is not CallFault.CIRCUIT_OPEN for tried in failures)
    refusals = {t for t in failures if t.fault is CallFault.PREFILL_REFUSED}
    return max_attempts - made - closed + len(refusals)


def untried(
    candidates: Sequence[PoolWorker], failures: Sequence[Tried]
) -> list[PoolWorker]:
    """Return who has not failed yet and could do better than those who have.

    What was too long for one context is too long for one that is no larger.
    """
    tried = {t.worker for t in failures}
    too_small = _too_small(candidates, failures)
    return [
        worker
        for worker in candidates
        if worker.name not in tried
        and (worker.context_tokens is None or worker.context_tokens > too_small)
    ]


def _too_small(candidates: Sequence[PoolWorker], failures: Sequence[Tried]) -> int:
    """Return the size of the largest context that is known to be too small."""
    refused = {t.worker for t in failures if t.fault is CallFault.CONTEXT_LENGTH}
    sizes = (w.context_tokens or 0 for w in candidates if w.name in refused)
    return max(sizes, default=0)


def _again(
    candidates: Sequence[PoolWorker], failures: Sequence[Tried]
) -> PoolWorker | None:
    """Return the last worker that may be asked again after what it did."""
    lasting = {t.worker for t in failures if not _may_repeat(t, failures)}
    present = {worker.name: worker for worker in candidates}
    for tried in reversed(failures):
        if tried.worker in present and tried.worker not in lasting:
            return present[tried.worker]
    return None


def _may_repeat(tried: Tried, failures: Sequence[Tried]) -> bool:
    if tried.fault is CallFault.PREFILL_REFUSED:
        return failures.count(tried) == 1
    return tried.fault in TRANSIENT_FAULTS or tried.fault is CallFault.INVALID_OUTPUT
