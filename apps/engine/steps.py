"""One step: from its context to a complete answer, over retries and the fallback."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from apps.engine.calls import Attempt, AttemptFailed, Target
from apps.engine.context import worker_messages
from apps.engine.errors import TRANSIENT_FAULTS, CallFailed, CallFault
from apps.engine.events import (
    StepAttemptFailed,
    StepCompleted,
    StepFailed,
    StepStarted,
)
from apps.engine.messages import messages_json
from apps.engine.ports import Call, CallParams, Delta, Messages, Progress
from apps.engine.replay import Round, StepResult, Tried
from apps.engine.run import Run
from apps.engine.text import ThinkFilter, strip_thinking


def next_worker(
    planned: str, fallback: str, failures: Sequence[Tried], max_attempts: int
) -> str | None:
    """Return who is asked next for a step, None if nobody is left.

    The planned worker is asked again after a transient fault, with one attempt kept
    back for the fallback worker. Any other fault goes to the fallback worker at once.
    """
    if not failures:
        return planned
    if len(failures) >= max_attempts:
        return None
    last = failures[-1]
    has_substitute = last.worker == planned and fallback != planned
    own_attempts = max_attempts - 1 if has_substitute else max_attempts
    if last.fault in TRANSIENT_FAULTS and len(failures) < own_attempts:
        return last.worker
    return fallback if has_substitute else None


def backoff_s(run: Run, failures: int, failed: CallFailed) -> float:
    """Return how long to wait before the same endpoint is asked again, in seconds.

    The provider's own `Retry-After` wins; else exponential with full jitter.
    """
    if failed.retry_after_s is not None:
        return min(failed.retry_after_s, run.limits.retry_cap_s)
    ceiling = run.limits.retry_base_s * 2.0 ** (failures - 1)
    return run.ports.random.uniform(0, min(ceiling, run.limits.retry_cap_s))


class Superseded(Exception):
    """The step is not needed any more: the work will be planned again."""


class StepRunner:
    """Runs one step of a round."""

    def __init__(self, run: Run, number: int, round_: Round, index: int) -> None:
        self._run = run
        self._number = number
        self._round = round_
        self._index = index
        self._step = round_.plan.steps[index]
        self._is_last = index == len(round_.plan.steps) - 1
        self._is_live = self._is_last and run.streams_round(number)

    async def run(self) -> StepResult:
        """Return the step's result; failure is a result too.

        Raises: Superseded, LimitReached, RunDenied, whatever the recorder raises.
        """
        await self._run.ports.gate.check_step(self._step)
        responses = {i: r.text for i, r in self._round.results.items()}
        failures = self._round.failures.setdefault(self._index, [])
        failed: CallFailed | None = None
        while worker := self._next_worker(failures):
            if failed is not None and worker == failures[-1].worker:
                await asyncio.sleep(backoff_s(self._run, len(failures), failed))
            try:
                return await self._attempt(worker, self._messages(worker, responses))
            except CallFailed as exc:
                failed = exc
                failures.append(Tried(worker, exc.fault))
        return self._fail(failed, failures)

    def _messages(self, worker: str, responses: Mapping[int, str]) -> Messages:
        spec = self._run.pool.worker(worker)
        return worker_messages(
            self._run.task, self._round.plan, self._index, responses, spec
        )

    def _next_worker(self, failures: Sequence[Tried]) -> str | None:
        if self._run.has_spoken:
            return None  # tokens of the answer are out and can't be taken back
        limits, pool = self._run.limits, self._run.pool
        # Between a crash and the resumption somebody may have changed the pool.
        present = [tried for tried in failures if tried.worker in pool.names]
        is_present = self._step.worker in pool.names
        planned = self._step.worker if is_present else pool.fallback
        return next_worker(planned, pool.fallback, present, limits.max_attempts)

    async def _attempt(self, worker: str, messages: Messages) -> StepResult:
        run = self._run
        spec = run.pool.worker(worker)
        params = run.task.params if self._is_last else CallParams()
        number = self._round.attempts.get(self._index, 0) + 1
        view = _View(run, self._number, self._index, number, self._is_live)

        async def announce() -> None:
            if number == 1 and self._run.is_superseded(self._round):
                raise Superseded  # while this step waited for its turn
            self._round.attempts[self._index] = number
            await run.journal.commit(
                StepStarted(
                    self._number, self._index, number, worker, messages_json(messages)
                )
            )

        try:
            attempt = await run.caller.call(
                Call(worker, messages, params, run.is_call_streamed),
                Target(spec.price, spec.max_output_tokens),
                announce,
                view.show,
            )
            _require_text(attempt)
        except AttemptFailed as exc:
            raise self._note_failure(worker, number, exc) from None
        view.finish()
        return self._complete(worker, number, attempt, view)

    def _note_failure(
        self, worker: str, number: int, exc: AttemptFailed
    ) -> BaseException:
        failure, attempt = exc.failure, exc.attempt
        self._run.journal.post(
            StepAttemptFailed(
                self._number,
                self._index,
                number,
                worker,
                failure.fault,
                failure.message,
                attempt.usage,
                attempt.cost_micros,
                attempt.latency_ms,
            )
        )
        return exc.reason()

    def _complete(
        self, worker: str, number: int, attempt: Attempt, view: _View
    ) -> StepResult:
        completed = StepCompleted(
            self._number,
            self._index,
            number,
            worker,
            attempt.text,
            attempt.reasoning,
            attempt.finish_reason,
            attempt.model,
            attempt.usage,
            attempt.cost_micros,
            attempt.latency_ms,
            attempt.first_token_ms,
        )
        text = view.answer if self._is_live else strip_thinking(attempt.text)
        result = StepResult("completed", text, attempt.finish_reason)
        if self._is_last:
            self._run.journal.note(completed)  # rides with run.completed
        else:
            self._run.journal.post(completed)
        return result

    def _fail(self, failed: CallFailed | None, failures: Sequence[Tried]) -> StepResult:
        fault = failures[-1].fault
        message = failed.message if failed else f"failed before: {fault}"
        self._run.journal.post(StepFailed(self._number, self._index, fault, message))
        return StepResult("failed", f"(no response: {message})", fault=fault)


class _View:
    """Passes an attempt's text on to those who watch."""

    def __init__(
        self, run: Run, round_: int, step: int, attempt: int, is_live: bool
    ) -> None:
        self._run = run
        self._place = (round_, step, attempt)
        self._filter = ThinkFilter() if is_live else None
        self._answer: list[str] = []

    @property
    def answer(self) -> str:
        """Return what went out as the answer."""
        return "".join(self._answer)

    def show(self, delta: Delta) -> None:
        emit = self._run.ports.progress.emit
        if self._run.task.is_watched:
            emit(Progress(*self._place, delta.text, delta.reasoning))
        if self._filter is not None:
            self._say(self._filter.feed(delta.text))

    def finish(self) -> None:
        if self._filter is not None:
            self._say(self._filter.flush())

    def _say(self, text: str) -> None:
        if text:
            self._run.has_spoken = True
            self._answer.append(text)
            self._run.ports.progress.emit(Progress(*self._place, text, is_answer=True))


def _require_text(attempt: Attempt) -> None:
    if not strip_thinking(attempt.text).strip():
        failure = CallFailed(CallFault.EMPTY, "the model's answer has no text")
        raise AttemptFailed(failure, attempt)
