"""The calls of one step: on record before they leave, and however they end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from apps.engine.calls import Attempt, AttemptFailed, Target
from apps.engine.delegation import Rest
from apps.engine.errors import CallFailed, CallFault
from apps.engine.events import StepAttemptFailed, StepCompleted, StepStarted
from apps.engine.extra_params import messages_taken, params_taken
from apps.engine.messages import messages_json
from apps.engine.meter import StepShare
from apps.engine.ports import (
    CONTENT_FILTER,
    Call,
    CallParams,
    Delta,
    Messages,
    PoolWorker,
    Progress,
)
from apps.engine.replay import Round, StepResult
from apps.engine.rescue import AnswerWriter, SentAnswer, continued_params
from apps.engine.run import RunContext
from apps.engine.structured import delivered, problem_of
from apps.engine.text import strip_thinking
from apps.engine.tool_calls import tool_calls_json

WITHHELD = "the model refused, or its provider withheld the answer"
UNEXPLAINED = "The model refused, or its provider withheld the answer."
"""The refusal of an answer that nobody gives a reason for."""


class Superseded(Exception):
    """The step is not needed any more: the work will be planned again."""


class InvalidOutput(CallFailed):
    """A complete answer in a wrong form; it may be put right."""

    def __init__(self, answer: str, problem: str) -> None:
        super().__init__(CallFault.INVALID_OUTPUT, f"the answer is wrong: {problem}")
        self.answer = answer
        self.problem = problem


@dataclass(frozen=True, slots=True)
class Place:
    """A step of a round of a run."""

    run: RunContext
    number: int
    """Of the round."""
    round_: Round
    index: int

    @property
    def gives_answer(self) -> bool:
        """Say whether the step gives the answer."""
        return self.round_.plan.gives_answer(self.index)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a worker is about to be asked."""

    worker: PoolWorker
    messages: Messages
    is_continued: bool = False
    """True: the messages end in what was said of the answer."""
    has_substitute: bool = False
    """True: another worker can take over if this one does not begin its answer."""


@dataclass(frozen=True, slots=True)
class Watch:
    """Who wants to know how a call gets on."""

    called: Callable[[], None]
    """It is on record and leaves now."""
    brought: Callable[[], None] | None = None
    """An item came. May raise CallFailed to close the call."""


class Attempts:
    """Makes the calls of one step."""

    def __init__(
        self, place: Place, voice: SentAnswer | None, rest: Rest | None
    ) -> None:
        """Make the calls of a step.

        `voice` says the answer while it comes; None: it is not said live. `rest` is
        what the step plans; None: it does not plan.
        """
        self._place = place
        self._run = place.run
        self._voice = voice
        self._rest = rest
        self.closed = 0
        """Calls that were closed before their end."""

    async def make(self, asked: Asked, watch: Watch) -> StepResult:
        """Make one call and return the step's result.

        Raises: CallFailed (it is on record), Superseded, LimitReached, whatever the
        recorder raises.
        """
        place = self._place
        asked = self._taken(asked)
        number = place.round_.attempts.get(place.index, 0) + 1
        view = _View(place, number, self._voice, asked, watch)

        async def announce() -> None:
            if number == 1 and self._run.is_superseded(place.round_):
                raise Superseded  # while this step waited for its turn
            await self._announce(asked, number)
            watch.called()

        try:
            attempt = await self._answer(asked, announce, view)
            self._check(attempt, asked, view)
        except AttemptFailed as exc:
            raise self._note_failure(asked.worker.name, number, exc) from None
        return self._complete(asked, number, attempt)

    async def _answer(
        self, asked: Asked, announce: Callable[[], Awaitable[None]], view: _View
    ) -> Attempt:
        """Make the call; an answer that breaks off in a refusal ends with it."""
        try:
            return await self._run.calls.call(
                self._call(asked),
                Target(asked.worker.price, asked.worker.max_output_tokens),
                announce,
                view.show,
                self._share,
            )
        except AttemptFailed as exc:
            is_refusal = exc.failure.fault is CallFault.CONTENT_FILTERED
            if not (is_refusal and exc.attempt.text and self._keeps_refusals):
                raise
            exc.attempt.finish_reason = CONTENT_FILTER
            exc.attempt.refusal = exc.failure.said
            return exc.attempt

    def _share(self) -> StepShare | None:
        """Return what of the run's money is this step's; None: there is no question."""
        round_ = self._place.round_
        if round_.costs is None:
            return None
        return round_.costs.share(self._place.index, round_.attempts)

    @property
    def _keeps_refusals(self) -> bool:
        """Say whether a refusal is the answer: always once a part of it has gone out.

        No other worker goes on from a text that its author broke off like this.
        """
        has_spoken = self._voice is not None and bool(self._voice.said)
        return has_spoken or not self._run.pool.retries_refusals

    def _taken(self, asked: Asked) -> Asked:
        """Return what is asked, less what this worker takes no notice of."""
        params = self._run.task.params
        if params.extra is None or not self._place.gives_answer:
            return asked
        messages = messages_taken(params, asked.messages, asked.worker)
        return replace(asked, messages=messages)

    async def _announce(self, asked: Asked, number: int) -> None:
        place = self._place
        place.round_.attempts[place.index] = number
        await self._run.journal.commit(
            StepStarted(
                place.number,
                place.index,
                number,
                asked.worker.name,
                messages_json(asked.messages),
            )
        )

    def _call(self, asked: Asked) -> Call:
        params = self._run.task.params if self._place.gives_answer else CallParams()
        if params.extra is not None:
            params = params_taken(params, asked.worker)
        if asked.is_continued and self._voice is not None:
            params = continued_params(params, self._voice.said)
        return Call(
            asked.worker.name,
            asked.messages,
            params,
            self._run.is_call_streamed,
            asked.is_continued,
            asked.has_substitute,
        )

    def _check(self, attempt: Attempt, asked: Asked, view: _View) -> None:
        """Refuse an answer that is complete and no good. Raises: AttemptFailed."""
        is_refusal = attempt.finish_reason == CONTENT_FILTER
        try:
            if is_refusal and not self._keeps_refusals:
                said = attempt.refusal
                fault = CallFault.CONTENT_FILTERED
                raise CallFailed(fault, said or WITHHELD, said=said)
            if not (asked.is_continued or is_refusal):
                _require_content(attempt)
            if self._place.gives_answer and not (attempt.tool_calls or is_refusal):
                self._check_form(attempt)
            if self._rest is not None:
                _check_plan(self._rest, attempt)
            view.finish()
        except CallFailed as exc:
            raise AttemptFailed(exc, attempt) from None

    def _check_form(self, attempt: Attempt) -> None:
        wanted = self._run.task.params.response_format
        text = delivered(strip_thinking(attempt.text), wanted)
        problem = problem_of(text, wanted)
        if problem is not None:
            raise InvalidOutput(text, problem)

    def _note_failure(
        self, worker: str, number: int, exc: AttemptFailed
    ) -> BaseException:
        failure, attempt = exc.failure, exc.attempt
        self.closed += failure.fault is CallFault.CANCELLED
        self._run.journal.post(
            StepAttemptFailed(
                self._place.number,
                self._place.index,
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

    def _complete(self, asked: Asked, number: int, attempt: Attempt) -> StepResult:
        said = self._voice.said if self._voice is not None else None
        is_refusal = attempt.finish_reason == CONTENT_FILTER
        refusal = (attempt.refusal or UNEXPLAINED) if is_refusal else ""
        completed = StepCompleted(
            self._place.number,
            self._place.index,
            number,
            asked.worker.name,
            said if said is not None and asked.is_continued else attempt.text,
            attempt.reasoning,
            attempt.finish_reason,
            attempt.model,
            attempt.usage,
            attempt.cost_micros,
            attempt.latency_ms,
            attempt.first_token_ms,
            tool_calls_json(attempt.tool_calls),
            attempt.stop_sequence,
            () if self._rest is None else self._rest.listed_workers,
            refusal,
        )
        if self._place.gives_answer:
            self._run.journal.note(completed)  # rides with run.completed
        elif self._rest is not None:
            self._run.journal.note(completed)  # rides with the plan that it holds
        else:
            self._run.journal.post(completed)
        return StepResult(
            "completed",
            strip_thinking(attempt.text) if said is None else said,
            attempt.finish_reason,
            tool_calls=completed.tool_calls,
            stop_sequence=attempt.stop_sequence,
            worker=asked.worker.name,
            listed_workers=completed.listed_workers,
            refusal=refusal,
        )


class _View:
    """Passes what a call brings on to those who watch, and to the caller."""

    def __init__(
        self,
        place: Place,
        attempt: int,
        voice: SentAnswer | None,
        asked: Asked,
        watch: Watch,
    ) -> None:
        self._emit = place.run.ports.progress.emit
        self._is_watched = place.run.task.is_watched
        self._brought = watch.brought
        self._place = (place.number, place.index, attempt)
        self._speaker: AnswerWriter | None = None
        if voice is not None:
            self._speaker = AnswerWriter(voice, is_continued=asked.is_continued)

    def show(self, delta: Delta) -> None:
        if self._brought is not None:
            self._brought()
        text, reasoning, calls = delta
        if self._speaker is None:
            if self._is_watched and (text or reasoning):
                self._emit(Progress(*self._place, text, reasoning))
            return
        new = self._speaker.take(delta)
        if not self._is_watched:
            text = reasoning = ""
        if text or reasoning or new or calls:
            self._emit(Progress(*self._place, text, reasoning, new, calls))

    def finish(self) -> None:
        if self._speaker is not None and (rest := self._speaker.finish()):
            self._emit(Progress(*self._place, answer=rest))


def _check_plan(rest: Rest, attempt: Attempt) -> None:
    """Refuse an answer in which there is no plan. Raises: InvalidOutput."""
    text = strip_thinking(attempt.text)
    problem = rest.problem(text, attempt.finish_reason)
    if problem is not None:
        raise InvalidOutput(text, problem)


def _require_content(attempt: Attempt) -> None:
    if not attempt.tool_calls and not strip_thinking(attempt.text).strip():
        raise CallFailed(CallFault.EMPTY, "the model's answer has no text")
