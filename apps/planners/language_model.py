"""The planner that asks a conductor model.

Asks once and says what came of it. Asking again, validating and the fallback plan are
the engine's.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from apps.engine.context import fits_context
from apps.engine.cutting import cut_to_fit
from apps.engine.errors import CallFailed, CallFault, PlanFault, PlanRejected
from apps.engine.messages import estimate_input, question_of
from apps.engine.plan import Plan
from apps.engine.ports import Ask, CallParams, Messages, PlanRequest, Pool
from apps.planners.list_plan_parser import parse_lists
from apps.planners.plan_formats import JSON_SCHEMA, LISTS
from apps.planners.prompt import PREFILL, build_messages
from apps.planners.schema import parse_json, response_format
from apps.planners.worker_cards import Cards, in_order_of_cards


@dataclass(frozen=True, slots=True)
class LanguageModelPlanner:
    """Plans with the pool's conductor model."""

    mode: Literal["lists", "json_schema"] = "lists"
    """`json_schema` needs a server with structured output."""
    shows_descriptions: bool = False
    """False: models are mere numbers, as trained conductors know them."""
    uses_prefill: bool = False
    """True: the reply continues a sentence of ours; for lists, if the server can."""
    max_tokens: int = 1024
    """The length conductors are trained with."""
    temperature: float | None = 0.0
    """0: the same question gets the same plan, as far as the server allows."""
    cards: Cards | None = None
    """Given: the prompt is brief, as this site trains conductors; for lists only."""
    name: str = field(default="language_model", init=False)

    def __post_init__(self) -> None:
        if self.uses_prefill and self.mode == "json_schema":
            raise ValueError("uses_prefill: expected mode 'lists', got 'json_schema'")
        if self.cards is not None and self.mode == "json_schema":
            raise ValueError("cards: expected mode 'lists', got 'json_schema'")
        if self.cards is not None and self.uses_prefill:
            raise ValueError("cards: a brief prompt starts no reasoning")

    async def plan(self, request: PlanRequest, ask: Ask) -> Plan | None:
        """Ask the conductor once; see `Planner.plan`.

        One that refuses to have its reasoning started for it is asked without that.
        """
        if self.cards is not None:
            pool = in_order_of_cards(request.task, request.pool, self.cards)
            request = replace(request, pool=pool)
        try:
            reply = await ask(self._messages(request), self._params(request))
        except CallFailed as exc:
            if exc.fault is not CallFault.PREFILL_REFUSED or not self.uses_prefill:
                raise
            return await replace(self, uses_prefill=False).plan(request, ask)
        _refuse_incomplete(reply.finish_reason)
        plan = self._parse(reply.text, request)
        if plan is None and not request.may_keep:
            raise PlanRejected(
                PlanFault.EMPTY_PLAN,
                "the plan has no steps, and there is no answer to keep yet",
            )
        return plan

    def _messages(self, request: PlanRequest) -> Messages:
        """Return the prompt, the conversation in it cut to the conductor's context."""
        whole = self._built(request)
        if not request.task.messages or self._fits(request.pool, whole):
            return whole

        def asked(conversation: Messages) -> Messages:
            task = replace(request.task, prompt=question_of(conversation))
            return self._built(replace(request, task=task))

        kept = cut_to_fit(
            request.task.messages, lambda m: self._fits(request.pool, asked(m))
        )
        return whole if kept is None else asked(kept)

    def _built(self, request: PlanRequest) -> Messages:
        return build_messages(
            request,
            LISTS if self.mode == "lists" else JSON_SCHEMA,
            shows_descriptions=self.shows_descriptions,
            uses_prefill=self.uses_prefill,
            cards=self.cards,
        )

    def _fits(self, pool: Pool, messages: Messages) -> bool:
        output = min(self.max_tokens, pool.conductor_max_output_tokens)
        read = estimate_input(messages)
        return fits_context(read, pool.conductor_context_tokens, output)

    def _params(self, request: PlanRequest) -> CallParams:
        structure = None
        if self.mode == "json_schema":
            structure = response_format(
                workers=len(request.pool.workers),
                max_steps=request.max_steps,
                may_keep=request.may_keep,
                may_delegate=request.may_delegate,
            )
        return CallParams(
            max_tokens=min(self.max_tokens, request.pool.conductor_max_output_tokens),
            temperature=self.temperature,
            response_format=structure,
        )

    def _parse(self, text: str, request: PlanRequest) -> Plan | None:
        if self.mode == "json_schema":
            return parse_json(
                text, request.pool.names, may_delegate=request.may_delegate
            )
        is_continued = self.uses_prefill and not text.lstrip().startswith(PREFILL)
        whole = f"{PREFILL} {text}" if is_continued else text
        # A brief prompt says nothing of leaving the rest.
        may_delegate = request.may_delegate and self.cards is None
        return parse_lists(whole, request.pool.names, may_delegate=may_delegate)


def _refuse_incomplete(finish_reason: str) -> None:
    if finish_reason == "length":
        # Even lists that look complete may lack a last entry of each.
        raise PlanRejected(
            PlanFault.TRUNCATED, "the answer was cut off at the limit of tokens"
        )
    if finish_reason == "content_filter":
        raise PlanRejected(
            PlanFault.UNPARSEABLE, "the provider's filter withheld the answer"
        )
