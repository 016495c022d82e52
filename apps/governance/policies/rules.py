"""What a rule is made of: conditions that must all hold, and an effect.

The shape of a policy's document in the database, in ledger entries and in the REST API.
A rule without conditions always applies. Pure: knows no database.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from decimal import Decimal
from typing import Annotated, Any, Literal, Self
from uuid import UUID
from zoneinfo import ZoneInfo

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    StringConstraints,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from apps.core.data_classes import DataClassName
from apps.core.errors import InvalidInput
from apps.core.input_parts import InputPart, one_line
from apps.governance.policies.expressions import (
    MAX_EXPRESSION,
    OF_PLAN,
    expression_checked,
    expression_tried,
    variables_of,
)
from apps.governance.sensitive_data.detection import KINDS
from apps.governance.sensitive_data.own_patterns import OwnPattern

MAX_RULES = 100
MAX_PATTERNS = 50
MAX_APPROVAL_HOURS = 30 * 24
MAX_ITEMS = 100
"""Of one list of a rule."""
MICROS = 1_000_000
MAX_CHARACTERS = 1_000_000
"""Of a policy as JSON."""

RoleName = Literal["owner", "admin", "member", "api_key"]
"""Roles that start runs; `api_key` for runs of programs."""
TierName = Literal["mini", "ultra", "direct"]
SourceName = Literal["playground", "api", "rest", "evaluation"]
Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
DAYS: tuple[Day, ...] = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


def _exact_decimal(value: Any) -> Any:
    # As everywhere: a number of JSON may have lost digits.
    if not isinstance(value, str | Decimal):
        raise PydanticCustomError("amount", "must be a decimal number as text")
    return value


def _is_zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise PydanticCustomError("zone", "is not a known time zone") from None
    return name


def _is_clock(text: str) -> str:
    if not re.fullmatch(r"([01]\d|2[0-3]):[0-5]\d", text, re.ASCII):
        raise PydanticCustomError("clock", "must be a time of the day, like 22:00")
    return text


def _some(texts: tuple[str, ...]) -> tuple[str, ...]:
    if not texts:
        raise PydanticCustomError("tags", "name at least one tag")
    return texts


ShortText = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=100),
    AfterValidator(one_line),
]
Texts = Annotated[tuple[ShortText, ...], Field(max_length=MAX_ITEMS)]
Ids = Annotated[tuple[UUID, ...], Field(max_length=MAX_ITEMS)]
Kinds = Annotated[tuple[ShortText, ...], Field(max_length=MAX_PATTERNS + len(KINDS))]
"""Kinds of sensitive data: built-in ones, or names of the policy's own patterns."""
Expression = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_EXPRESSION),
    AfterValidator(expression_checked),
]
Count = Annotated[int, Field(ge=1, le=1_000_000_000)]
Tags = Annotated[Texts, AfterValidator(_some)]
Clock = Annotated[str, AfterValidator(_is_clock)]
Amount = Annotated[
    Decimal,
    BeforeValidator(_exact_decimal),
    Field(gt=0, le=1_000_000, max_digits=13, decimal_places=6, allow_inf_nan=False),
]


class Hours(InputPart):
    """A time of the day, on some days of the week; the end may be after midnight."""

    begin: Clock
    end: Clock
    """Not included."""
    days: Annotated[tuple[Day, ...], Field(min_length=1, max_length=7)] = DAYS
    """The days on which it begins."""
    time_zone: Annotated[str, Field(max_length=60), AfterValidator(_is_zone)] = "UTC"


class Conditions(InputPart):
    """All that are given must hold. A list holds if one of its items does."""

    roles: Annotated[tuple[RoleName, ...], Field(max_length=4)] = ()
    member_ids: Ids = ()
    key_ids: Ids = ()
    tiers: Annotated[tuple[TierName, ...], Field(max_length=3)] = ()
    sources: Annotated[tuple[SourceName, ...], Field(max_length=4)] = ()
    words: Texts = ()
    """Whole words or phrases of the prompt, without regard to case."""
    data_class: DataClassName | None = None
    """Holds for a prompt of this data class or a higher one."""
    contains: Kinds = ()
    """Holds for a prompt in which sensitive data of one of these kinds is found."""
    hours: Hours | None = None
    steps_over: Count | None = None
    """Holds for a plan with more steps."""
    plan_tags: Texts = ()
    """Holds for a plan that uses a worker with one of these tags."""
    cost_over_usd: Amount | None = None
    """Holds for a plan whose estimated cost is higher, in US dollars."""
    expression: Expression | None = None
    """Holds if it is true; in CEL, of the variables of `expressions.SAMPLE`."""

    @property
    def variables(self) -> Collection[str]:
        """Return the names of what the expression depends on."""
        return () if self.expression is None else variables_of(self.expression)

    @property
    def needs_plan(self) -> bool:
        """Say whether only a plan can tell if the conditions hold."""
        return bool(
            self.steps_over is not None
            or self.plan_tags
            or self.cost_over_usd is not None
            or OF_PLAN in self.variables
        )

    @property
    def needs_classes(self) -> bool:
        """Say whether they depend on sensitive data in the prompt."""
        of_class = {"data_class", "findings", "counts"}
        return bool(
            self.data_class or self.contains or of_class.intersection(self.variables)
        )


class Allow(InputPart):
    """Later rules of the same policy do not apply."""

    kind: Literal["allow"]


class Deny(InputPart):
    """The run ends as `policy_denied`."""

    kind: Literal["deny"]


class OnlyWorkers(InputPart):
    """Only workers with one of these tags may be used."""

    kind: Literal["only_workers"]
    tags: Tags


class NoWorkers(InputPart):
    """No worker with one of these tags may be used."""

    kind: Literal["no_workers"]
    tags: Tags


class NoConductor(InputPart):
    """The conductor is not asked; the pool's fallback worker answers alone."""

    kind: Literal["no_conductor"]


class Limit(InputPart):
    """Lower limits of the run."""

    kind: Literal["limit"]
    max_steps: Count | None = None
    max_rounds: Count | None = None
    max_calls: Count | None = None
    max_tokens: Count | None = None
    max_cost_usd: Amount | None = None

    @model_validator(mode="after")
    def _limits_something(self) -> Self:
        if not self.limits():
            raise PydanticCustomError("limit", "give at least one limit")
        return self

    def limits(self) -> dict[str, int]:
        """Return the given limits, by the names of the engine."""
        cost = self.max_cost_usd
        given = {
            "max_steps": self.max_steps,
            "max_rounds": self.max_rounds,
            "max_calls": self.max_calls,
            "max_tokens": self.max_tokens,
            "max_cost_micros": None if cost is None else int(cost * MICROS),
        }
        return {name: value for name, value in given.items() if value is not None}


class RequireApproval(InputPart):
    """People must approve the plan before anything is sent to a worker."""

    kind: Literal["require_approval"]
    approvers: Annotated[int, Field(ge=1, le=2)] = 1
    """How many people, none of them the one who started the run."""
    hours: Annotated[int, Field(ge=1, le=MAX_APPROVAL_HOURS)] = 24
    """After that the run ends as `approval_expired`."""


class Redact(InputPart):
    """No model sees sensitive data of these kinds; placeholders take its place."""

    kind: Literal["redact"]
    kinds: Kinds = ()
    """Empty: all kinds."""
    restore: bool = True
    """Put the values back into the answer."""
    off_record: bool = False
    """The record of the run has placeholders too, so the values are kept nowhere."""

    @model_validator(mode="after")
    def _restores_what_is_kept(self) -> Self:
        if self.off_record and self.restore:
            raise PydanticCustomError(
                "restore",
                "values that are not on record cannot be put back into the answer: "
                "`off_record` needs `restore` to be false",
            )
        return self


Effect = Annotated[
    Allow
    | Deny
    | OnlyWorkers
    | NoWorkers
    | NoConductor
    | Limit
    | RequireApproval
    | Redact,
    Field(discriminator="kind"),
]


class Rule(InputPart):
    """One rule of a policy."""

    name: Annotated[
        str,
        StringConstraints(strip_whitespace=True, min_length=1, max_length=80),
        AfterValidator(one_line),
    ]
    mode: Literal["enforce", "shadow", "off"] = "enforce"
    """shadow: it is only recorded that the rule would have applied."""
    conditions: Conditions = Conditions()
    effect: Effect

    @model_validator(mode="after")
    def _knows_before_it_records(self) -> Self:
        if self.is_off_record and self.conditions.needs_plan:
            raise PydanticCustomError(
                "off_record",
                "a rule that keeps values off the record is checked before there is a "
                "plan, so its conditions cannot be about the plan",
            )
        return self

    @property
    def needs_plan(self) -> bool:
        """Say whether there must be a plan before the rule can apply."""
        is_of_plan = self.effect.kind == "require_approval"
        return is_of_plan or self.conditions.needs_plan

    @property
    def is_off_record(self) -> bool:
        """Say whether it keeps sensitive data off the record."""
        return self.effect.kind == "redact" and self.effect.off_record

    @property
    def kinds(self) -> Collection[str]:
        """Return the kinds of sensitive data that it names."""
        return (*self.conditions.contains, *self.kinds_redacted)

    @property
    def kinds_redacted(self) -> Collection[str]:
        """Return the kinds that it names for redaction. Empty: all, or none."""
        return self.effect.kinds if self.effect.kind == "redact" else ()


def _unique_names(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    seen: set[str] = set()
    for rule in rules:
        if rule.name.casefold() in seen:
            raise PydanticCustomError(
                "unique", "two rules are named {name}", {"name": repr(rule.name)}
            )
        seen.add(rule.name.casefold())
    return rules


def _unique_patterns(patterns: tuple[OwnPattern, ...]) -> tuple[OwnPattern, ...]:
    names = [pattern.name for pattern in patterns]
    for name in names:
        if names.count(name) > 1:
            raise PydanticCustomError(
                "unique", "two patterns are named {name}", {"name": repr(name)}
            )
    return patterns


class PolicyDocument(InputPart):
    """The rules of a policy, in the order in which they are checked."""

    rules: Annotated[
        tuple[Rule, ...], Field(max_length=MAX_RULES), AfterValidator(_unique_names)
    ] = ()
    patterns: Annotated[
        tuple[OwnPattern, ...],
        Field(max_length=MAX_PATTERNS),
        AfterValidator(_unique_patterns),
    ] = ()
    """The policy's own kinds of sensitive data."""

    @model_validator(mode="after")
    def _knows_its_kinds(self) -> Self:
        for rule in self.rules:
            unknown = [kind for kind in rule.kinds if kind not in self.kinds]
            if unknown:
                raise PydanticCustomError(
                    "kind",
                    "rule {rule} names the kind {kind}; there are {known}",
                    {
                        "rule": repr(rule.name),
                        "kind": repr(unknown[0]),
                        "known": ", ".join(self.kinds),
                    },
                )
            if rule.conditions.expression is not None:
                expression_tried(rule.name, rule.conditions.expression, self.kinds)
        return self

    @property
    def kinds(self) -> tuple[str, ...]:
        """Return all kinds of sensitive data that it knows."""
        return (*KINDS, *(pattern.name for pattern in self.patterns))

    @property
    def needs_classes(self) -> bool:
        """Say whether a rule depends on what the prompt holds."""
        return any(
            rule.conditions.needs_classes or rule.effect.kind == "redact"
            for rule in self.rules
        )

    @property
    def keeps_off_record(self) -> bool:
        """Say whether a rule keeps sensitive data off the record."""
        return any(rule.is_off_record for rule in self.rules if rule.mode == "enforce")

    @property
    def holds_plans(self) -> bool:
        """Say whether a rule may hold a plan until people have approved it."""
        return any(rule.effect.kind == "require_approval" for rule in self.rules)

    @property
    def needs_roles(self) -> bool:
        """Say whether a rule depends on the role of the person who starts the run."""
        return any(
            rule.conditions.roles or "role" in rule.conditions.variables
            for rule in self.rules
        )

    def values(self) -> dict[str, Any]:
        """Return the document as JSON values, without what is not given."""
        return self.model_dump(mode="json", exclude_defaults=True)


class SitePolicyDocument(PolicyDocument):
    """The rules that bind all teams. All can read them, so none names a person."""

    @field_validator("rules")
    @classmethod
    def _name_nobody(cls, rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
        for rule in rules:
            named = {"member_id", "key_id"}.intersection(rule.conditions.variables)
            if rule.conditions.member_ids or rule.conditions.key_ids or named:
                raise PydanticCustomError(
                    "site",
                    "{name} names members or API keys of a team; a rule for all teams "
                    "can name roles",
                    {"name": repr(rule.name)},
                )
        return rules


def rules_parse(text: str) -> dict[str, Any]:
    """Return the values of a policy from JSON, for `values_read`. Raises: InvalidInput.

    A name that is there twice is refused: two readers would see two policies.
    """
    if len(text) > MAX_CHARACTERS:
        raise InvalidInput(f"a policy has {MAX_CHARACTERS:,} characters at most")
    try:
        values = json.loads(text, object_pairs_hook=_object, parse_constant=_no_number)
    except (ValueError, RecursionError) as exc:
        raise InvalidInput(f"the policy is not valid JSON: {exc}") from exc
    if not isinstance(values, dict):
        raise InvalidInput('the policy must be a JSON object, like {"rules": []}')
    return values


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an object has a name twice")
    return found


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is not a number of JSON")
