"""Describes workers, conductors and tiers: each attribute stands here once.

The pool file, the values that services take and return, the snapshots that runs read
and the REST API follow from these descriptions. A description says the type, the
bounds, the default and, where the REST API shows one, the help text. The columns are
in `models.py`, the words of the pages in `apps/console`. Knows no database.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any

from pydantic import AfterValidator, Field, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from apps.accounts.models import Delivery
from apps.core.input_parts import InputPart
from apps.pools.models import (
    ConductorMode,
    MaxTokensField,
    Protocol,
    TierName,
    TierPlanner,
    WorkerKind,
)
from apps.pools.param_fields import Budget, Effort, ExtraBody, ExtraParams
from apps.pools.prompt_styles import PromptStyle
from apps.pools.value_types import (
    MICROS,
    BaseUrl,
    ModelName,
    Name,
    Prose,
    Seconds,
    Tag,
    Tokens,
    Usd,
)

MAX_TAGS = 20
OLD_WEIGHT, USUAL_OLD_WEIGHT = "cost_weight_percent", 4

TIER_LIMITS: dict[TierName, dict[str, int]] = {
    TierName.MINI: {
        "max_steps": 1,
        "max_rounds": 1,
        "max_parallel": 1,
        "max_calls": 12,
        "wall_time_s": 300,
    },
    TierName.ULTRA: {
        "max_steps": 5,
        "max_rounds": 1,
        "max_parallel": 4,
        "max_calls": 40,
        "wall_time_s": 900,
    },
}
"""Five steps are what the paper's conductor was trained with."""


def _each_once(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


Tags = Annotated[
    tuple[Tag, ...], Field(max_length=MAX_TAGS), AfterValidator(_each_once)
]


Temperature = Annotated[
    Decimal,
    Field(ge=0, le=2, decimal_places=2),
    WithJsonSchema({"type": "string", "maxLength": 8}),
]


class TimeoutsDocument(InputPart):
    """Overrides of the site's timeouts, in whole seconds."""

    connect_s: Seconds | None = None
    first_byte_s: Seconds | None = None
    first_token_s: Seconds | None = Field(
        default=None,
        description="Of a streamed answer, until the first content, reasoning or tool "
        "call. Null: three times what 95 % of its answers take, at least 10; of a "
        "worker that is not known yet, what the site assumes.",
    )
    idle_s: Seconds | None = None
    total_s: Seconds | None = None


class EndpointAttributes(InputPart):
    """Where a model is served: common to workers and conductors."""

    name: Name
    base_url: BaseUrl
    protocol: Protocol = Protocol.OPENAI
    model: ModelName
    max_tokens_field: MaxTokensField = MaxTokensField.MAX_TOKENS
    timeouts: TimeoutsDocument = TimeoutsDocument()


class WorkerAttributes(InputPart):
    """What a worker has beside its endpoint."""

    kind: WorkerKind = Field(
        default=WorkerKind.CHAT,
        description="`embedding`: it makes embeddings of texts and is in no plan; for "
        "the protocols `openai` and `gemini`. Default: `chat`.",
    )
    description: Prose = Field(
        default="",
        description="What it is good at; for conductors that want to know.",
        examples=["Good at prose."],
    )
    context_tokens: Tokens | None = Field(default=None, examples=[128_000])
    """Input and output together. None: unknown."""
    max_output_tokens: Tokens = 4096
    accepts_images: bool = Field(
        default=False, description="False, the default: it gets no images."
    )
    accepts_tools: bool = Field(
        default=True,
        description="False: it answers no request that brings tools. Default: true.",
    )
    accepts_prefill: bool = Field(
        default=False,
        description="True: it goes on from a partial answer that ends the messages, so "
        "it can take over in the middle of one. Default: false.",
    )
    extra_params: ExtraParams = Field(
        default=(),
        description="Extra parameters of requests that are passed on to it. Means "
        "something to the protocol `openai` alone. Default: none.",
        examples=[["frequency_penalty", "presence_penalty"]],
    )
    reasoning_effort: Effort = Field(
        default="",
        description="For requests that do not say. Empty: the server's own.",
    )
    thinking_budget_tokens: Budget | None = Field(
        default=None,
        description="For requests that do not say how hard to think. Null: none is "
        "set.",
    )
    extra_body: ExtraBody = Field(
        default={},
        description="Fields that go into the JSON body of each request as they are; "
        "what the request itself says counts more. At most 8,000 bytes. Never put a "
        "secret here: it is shown, recorded and kept.",
    )
    tags: Tags = Field(
        default=(),
        description="Words that rules of the policy know the worker by, with a kind "
        "before a colon or without: `region:eu`, `eu`. A tag alone restricts nothing.",
        examples=[["eu"]],
    )
    is_enabled: bool = True


ABILITIES = {"accepts_images", "accepts_tools", "accepts_prefill"}
"""The attributes that a test of a worker finds out, each by a probe."""


class ConductorAttributes(InputPart):
    """What a conductor has beside its endpoint."""

    mode: ConductorMode = Field(
        default=ConductorMode.JSON_SCHEMA,
        description="How it is asked to write its plan: `json_schema` for general "
        "models, `lists` for models trained as conductors. Default: json_schema.",
    )
    prompt_style: PromptStyle = Field(
        default=PromptStyle.FULL,
        description="`brief`: no rules and no examples, but each worker's price and "
        "measured success, for conductors trained on this site. For `lists` only.",
    )
    shows_descriptions: bool = Field(
        default=False, description="False: workers are anonymous in its prompt."
    )
    shows_measurements: bool = Field(
        default=False,
        description="True: workers that were calibrated are described by what was "
        "measured, instead of their descriptions.",
    )
    uses_prefill: bool = Field(
        default=False,
        description="True: its reasoning is started for it. For `lists` only.",
    )
    context_tokens: Tokens | None = Field(
        default=None, description="Input and output together. Null: unknown."
    )
    max_output_tokens: Tokens = 2048
    temperature: Temperature | None = Field(
        default=None,
        description="Decimal text from 0 to 2, like '0.7'. Null: the server's default.",
        examples=["0.7"],
    )


class TierDocument(InputPart):
    """What differs from a tier's usual limits. None: nothing does."""

    planner: TierPlanner | None = None
    """None: the conductor if the pool has one, else a single worker."""
    answer_worth_usd: Usd | None = Field(
        default=None,
        gt=0,
        description="For the light planner: what a right answer is worth. A plan that "
        "costs a tenth of it has to be right in ten points of a hundred more. 10000, "
        "the most: cost does not count. Null: as the planner was trained.",
    )
    max_steps: int | None = Field(default=None, ge=1, le=50)
    max_rounds: int | None = Field(default=None, ge=1, le=10)
    max_parallel: int | None = Field(default=None, ge=1, le=100)
    max_calls: int | None = Field(default=None, ge=1, le=10_000)
    max_tokens: int | None = Field(default=None, ge=1, le=10**12)
    max_cost_usd: Usd | None = Field(default=None, gt=0)
    wall_time_s: Seconds | None = None
    delivery: Delivery | None = Field(
        default=None,
        description="How streamed answers go out unless the key or the request says: "
        "word by word, or once they are complete. Default: live.",
    )
    is_hedged: bool | None = Field(
        default=None,
        description="True: a worker slower than it nearly always is gets a rival, "
        "whose call costs too. Default: false.",
    )
    allows_delegation: bool | None = Field(
        default=None,
        description="True: the last step of a plan may leave the rest to its worker, "
        "whose plan is one of the rounds, so it takes two. Default: false.",
    )

    @model_validator(mode="before")
    @classmethod
    def _of_before(cls, values: Any) -> Any:
        """Leave out what cost weighed of old if it was the usual; else say what is new.

        Files that this site wrote before have it in every tier.
        """
        if not isinstance(values, dict) or OLD_WEIGHT not in values:
            return values
        if values[OLD_WEIGHT] not in (None, USUAL_OLD_WEIGHT):
            raise PydanticCustomError(
                "cost_weight",
                "cost_weight_percent has become answer_worth_usd: what a right answer "
                "is worth, in dollars",
            )
        return {name: value for name, value in values.items() if name != OLD_WEIGHT}

    def limits(self, name: TierName, *, has_conductor: bool) -> dict[str, Any]:
        """Return the tier's columns: its usual limits, changed by what differs."""
        usual = TierPlanner.CONDUCTOR if has_conductor else TierPlanner.SINGLE_WORKER
        amounts = {"max_cost_usd", "answer_worth_usd"}
        given = self.model_dump(exclude_none=True, exclude=amounts)
        return {
            "planner": usual,
            "max_tokens": None,
            "max_cost_micros": _micros(self.max_cost_usd),
            "answer_worth_micros": _micros(self.answer_worth_usd),
            "delivery": Delivery.LIVE,
            "is_hedged": False,
            "allows_delegation": False,
            **TIER_LIMITS[name],
            **given,
        }


def _micros(dollars: Decimal | None) -> int | None:
    return None if dollars is None else int(dollars * MICROS)


def timeout_column(name: str) -> str:
    """Return the column of a timeout: `connect_timeout_s` of `connect_s`."""
    return f"{name.removesuffix('_s')}_timeout_s"


def model_columns(given: EndpointAttributes) -> dict[str, Any]:
    """Return the columns of a worker or conductor, but for credential and prices."""
    shapes = (EndpointAttributes, WorkerAttributes, ConductorAttributes)
    names = {
        n for shape in shapes if isinstance(given, shape) for n in shape.model_fields
    }
    columns = {n: _stored(value) for n, value in given if n in names - {"timeouts"}}
    timeouts = {timeout_column(n): value for n, value in given.timeouts}
    return {**columns, **timeouts}


def _stored(value: Any) -> Any:
    """Return a value as a JSON column gives it back."""
    return list(value) if isinstance(value, tuple) else value
