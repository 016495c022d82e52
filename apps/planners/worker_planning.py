"""Asks a worker to plan the rest, in the words and the lists of the conductor's prompt.

Lists alone, because every model that writes text can write them. The rest cannot be
left to yet another worker.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from apps.engine.context import fits
from apps.engine.cutting import cut_to_fit
from apps.engine.delegation import RestRequest
from apps.engine.errors import PlanFault, PlanRejected
from apps.engine.messages import question_of
from apps.engine.plan import Plan
from apps.engine.ports import Messages, PlanRequest, PoolWorker
from apps.planners.escaping import one_line, quoted, shorten
from apps.planners.list_plan_parser import parse_lists
from apps.planners.plan_formats import LISTS, MAX_SUBTASK_CHARS
from apps.planners.prompt import MAX_RESPONSE_CHARS, build_messages, enclosed

_REST = (
    "You plan what is left to do: {}\n"
    "The models of your plan read the question and the steps of your plan only, so a "
    "subtask must state whatever they need to know from above."
)


@dataclass(frozen=True, slots=True)
class WorkerPlanning:
    """Planning by a worker; see `RestPlanner`."""

    def messages(self, request: RestRequest, worker: PoolWorker) -> Messages:
        """Return the prompt, the conversation in it cut to the worker's context."""
        whole = _built(request)
        if not request.task.messages or fits(whole, worker, None):
            return whole

        def asked(conversation: Messages) -> Messages:
            task = replace(request.task, prompt=question_of(conversation))
            return _built(replace(request, task=task))

        kept = cut_to_fit(request.task.messages, lambda m: fits(asked(m), worker, None))
        return whole if kept is None else asked(kept)

    def read(self, text: str, workers: Sequence[str]) -> Plan:
        """Return the plan in an answer. Raises: PlanRejected."""
        plan = parse_lists(text, workers)
        if plan is None:
            raise PlanRejected(PlanFault.EMPTY_PLAN, "the plan has no steps")
        return plan


def _built(request: RestRequest) -> Messages:
    asked = PlanRequest(request.task, request.pool, request.max_steps)
    read = [_response(subtask, response) for subtask, response in request.read]
    subtask = quoted(one_line(shorten(request.subtask, MAX_SUBTASK_CHARS)))
    sections = (*read, _REST.format(subtask))
    return build_messages(asked, LISTS, shows_descriptions=True, beside=sections)


def _response(subtask: str, response: str) -> str:
    said = enclosed("response", shorten(response, MAX_RESPONSE_CHARS))
    asked = quoted(one_line(shorten(subtask, MAX_SUBTASK_CHARS)))
    return f"A model was asked: {asked}\nIts response:\n{said}"
