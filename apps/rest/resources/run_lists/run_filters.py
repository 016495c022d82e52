"""Which runs a list holds: the filters of its address."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from apps.core.money import micros_of_usd
from apps.insights.types import TIER_WORDS
from apps.pools.worker_figures.profiles import FAMILY_LENGTH
from apps.rest.fields import Query
from apps.runs.models import RunState, Source
from apps.runs.selectors import SEARCHED, RunFlag, label_read, labels_named
from apps.runs.types import ENDED, RunFilters
from apps.web.run_addresses import (
    BY_CALLERS,
    NONE,
    fault_of,
    id_of,
    named,
    sources_of,
)

IN_THE_NEWEST = f"Looked for in the newest {SEARCHED:,} of those asked for by time."
GAPS_HEADER = "Search-Gaps"
"""What a search did not look at; the words are those of `SearchGap`."""


class RunFilterQuery(Query):
    """Which runs."""

    state = serializers.ChoiceField(
        choices=[*RunState.choices, (ENDED, "Ended")],
        required=False,
        help_text=f"`{ENDED}`: whatever but running.",
    )
    model = serializers.CharField(
        required=False, max_length=200, help_text=f"The whole name. {IN_THE_NEWEST}"
    )
    actor = serializers.CharField(
        required=False,
        max_length=200,
        help_text=f"A part of a person's or key's name. {IN_THE_NEWEST}",
    )
    query = serializers.CharField(
        required=False,
        max_length=200,
        help_text="Words of prompts and answers: all must be in the run. Phrases stand "
        "between quotation marks. The header `Search-Gaps` says what was not searched.",
    )
    source = serializers.ChoiceField(  # type: ignore[assignment]
        choices=[*Source.choices, (BY_CALLERS, "People and API clients")],
        required=False,
        help_text=f"`{BY_CALLERS}`: not of evaluations or shadow tests. "
        f"{IN_THE_NEWEST}",
    )
    tier = serializers.ChoiceField(choices=list(TIER_WORDS.items()), required=False)
    planner = serializers.CharField(
        required=False, max_length=40, help_text=f"`{NONE}`: no plan was made."
    )
    family = serializers.CharField(
        required=False, max_length=FAMILY_LENGTH, help_text=f"`{NONE}`: without one."
    )
    preset = serializers.UUIDField(
        required=False, help_text="The id of the preset that made the prompt."
    )
    worker = serializers.CharField(
        required=False,
        max_length=100,
        help_text="One that was called for a step. Looked for in its newest "
        f"{SEARCHED:,} steps.",
    )
    api_key = serializers.CharField(
        required=False,
        max_length=36,
        help_text=f"Its id; `{NONE}`: without a key. {IN_THE_NEWEST}",
    )
    member = serializers.CharField(
        required=False,
        max_length=36,
        help_text=f"The id of a user; `{NONE}`: without one. {IN_THE_NEWEST}",
    )
    plan = serializers.CharField(
        required=False,
        max_length=16,
        help_text="The `shape` of the newest plan, as insights name it; "
        f"`{NONE}`: without a plan. {IN_THE_NEWEST}",
    )
    fault = serializers.CharField(
        required=False,
        max_length=150,
        help_text="Stage, fault and worker as insights name them, such as "
        f"`step:rate_limited:coder` or `run:timeout:`. {IN_THE_NEWEST}",
    )
    label = serializers.CharField(  # type: ignore[assignment]
        required=False,
        max_length=600,
        help_text="A tag, or a pair of metadata as `name=value`. Looked for in the "
        f"newest {SEARCHED:,} runs that have it.",
    )
    flag = serializers.ChoiceField(
        choices=RunFlag.choices, required=False, help_text=IN_THE_NEWEST
    )
    min_cost_usd = serializers.RegexField(
        r"[0-9]{1,12}(\.[0-9]{1,6})?",
        required=False,
        help_text=f"Of the known part, like `0.05`. {IN_THE_NEWEST}",
    )
    min_latency_ms = serializers.IntegerField(
        required=False, min_value=0, max_value=10**12, help_text=IN_THE_NEWEST
    )
    since = serializers.DateTimeField(required=False)
    until = serializers.DateTimeField(required=False)

    def validate_api_key(self, value: str) -> str:
        """Refuse what is no id. Raises: ValidationError."""
        return _id_or_none(value)

    def validate_member(self, value: str) -> str:
        """Refuse what is no id. Raises: ValidationError."""
        return _id_or_none(value)

    def validate_label(self, value: str) -> str:
        """Refuse what names no label. Raises: ValidationError."""
        if label_read(value) is None:
            raise serializers.ValidationError("expected a tag, or 'name=value'")
        return value

    def validate_fault(self, value: str) -> str:
        """Refuse what names no fault. Raises: ValidationError."""
        if fault_of(value) is None:
            raise serializers.ValidationError(
                "expected a stage (plan, step, loop or run), a fault and a worker, "
                "like 'step:rate_limited:coder'"
            )
        return value


def run_filters(asked: dict[str, Any]) -> RunFilters:
    """Return the filters of a query that has been checked."""
    key, member = asked.pop("api_key", ""), asked.pop("member", "")
    return RunFilters(
        sources=sources_of(asked.pop("source", "")),
        text=asked.pop("query", ""),
        labels=labels_named([asked.pop("label", "")]),
        planner=named(asked.pop("planner", "")),
        family=named(asked.pop("family", "")),
        shape=named(asked.pop("plan", "")),
        api_key_id=id_of(key),
        user_id=id_of(member),
        preset_id=asked.pop("preset", None),
        has_key=False if key == NONE else None,
        has_member=False if member == NONE else None,
        fault=fault_of(asked.pop("fault", "")),
        min_cost_micros=micros_of_usd(asked.pop("min_cost_usd", "")),
        **asked,
    )


def _id_or_none(value: str) -> str:
    if value != NONE and id_of(value) is None:
        raise serializers.ValidationError(f"expected an id or {NONE!r}")
    return value
