"""Fields that workers and conductors share: where a model is served, and its price."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from apps.pools.attributes import ABILITIES, TimeoutsDocument, WorkerAttributes
from apps.pools.models import Conductor, MaxTokensField, Protocol, Worker
from apps.pools.selectors import list_price, list_price_values
from apps.rest.attribute_fields import input_fields, output_fields
from apps.rest.fields import Dollars, Id, Input, Output, TextField, Time, Whole, Word

MAX_SECONDS = 86_400
MAX_TOKENS = 100_000_000
PLAIN_DOLLARS = r"^\d+(\.\d{1,6})?$"
ENDPOINT: dict[str, Any] = {
    "id": "0199c0de-0000-7000-8000-000000000007",
    "name": "mistral-large",
    "base_url": "https://api.mistral.ai/v1",
    "protocol": "openai",
    "model": "mistral-large-latest",
    "credential_id": "0199c0de-0000-7000-8000-000000000006",
    "max_tokens_field": "max_tokens",
    "timeouts": TimeoutsDocument(first_byte_s=120).model_dump(),
    "price": {
        "valid_from": "2026-11-21",
        "input_usd": "2",
        "output_usd": "6",
        "cached_input_usd": None,
    },
    "list_price": {
        "provider": "Mistral",
        "model": "mistral-large-latest",
        "as_of": "2026-11-21",
        "input_usd": "2",
        "output_usd": "6",
        "cached_input_usd": None,
        "remarks": [],
    },
    "max_output_tokens": 4096,
    "pools": ["house"],
    "last_test": None,
}
SENT: dict[str, Any] = {
    "name": "mistral-large",
    "base_url": "https://api.mistral.ai/v1",
    "model": "mistral-large-latest",
    "credential_id": "0199c0de-0000-7000-8000-000000000006",
    "price": {"input_usd": "2", "output_usd": "6"},
}


class TimeoutsInput(Input):
    """Seconds. Null: the site's setting."""

    def get_fields(self) -> dict[str, Any]:
        """Return the described fields."""
        return input_fields(TimeoutsDocument)


class PriceInput(Input):
    """US dollars per million tokens."""

    valid_from = serializers.DateField(
        required=False, allow_null=True, help_text="Null: from today on."
    )
    input_usd = Dollars()
    output_usd = Dollars()
    cached_input_usd = Dollars(
        required=False, allow_null=True, help_text="Null: as much as other input."
    )


class EndpointInput(Input):
    """Where a model is served."""

    name = TextField(max_length=64, help_text="Letters, digits, '.', '_' and '-'.")
    base_url = TextField(
        max_length=500,
        help_text="With the version path, without what the protocol appends: "
        "`/chat/completions`, `/messages` or `/models/…`.",
    )
    protocol = Word(
        choices=Protocol.choices,
        required=False,
        help_text="What the server there speaks. Default: openai.",
    )
    model = TextField(max_length=200, help_text="As the server calls it.")
    credential_id = Id(required=False, allow_null=True)
    max_tokens_field = Word(
        choices=MaxTokensField.choices,
        required=False,
        help_text="Means something to the protocol `openai` alone.",
    )
    timeouts = TimeoutsInput(required=False)
    price = PriceInput(
        required=False, allow_null=True, help_text="Null: unknown, which is not free."
    )
    max_output_tokens = Whole(min_value=1, max_value=MAX_TOKENS, required=False)


class TimeoutsOutput(Output):
    """Seconds. Null: the site's setting."""

    def get_fields(self) -> dict[str, Any]:
        """Return the described fields."""
        return output_fields(TimeoutsDocument)


class PriceOutput(Output):
    """US dollars per million tokens, as decimal text."""

    valid_from = serializers.DateField()
    input_usd = serializers.RegexField(PLAIN_DOLLARS)
    output_usd = serializers.RegexField(PLAIN_DOLLARS)
    cached_input_usd = serializers.RegexField(PLAIN_DOLLARS, allow_null=True)


class ListPriceOutput(Output):
    """What a provider asks of everybody, in US dollars per million tokens."""

    provider = serializers.CharField(help_text="As the list calls it.")
    model = serializers.CharField(help_text="The name it was looked up by.")
    as_of = serializers.DateField(help_text="Since when the list is what it is.")
    input_usd = serializers.RegexField(PLAIN_DOLLARS)
    output_usd = serializers.RegexField(PLAIN_DOLLARS)
    cached_input_usd = serializers.RegexField(PLAIN_DOLLARS, allow_null=True)
    remarks = serializers.ListField(
        child=serializers.CharField(),
        help_text="What the figures leave out, like tiers: they are the first one's.",
    )


class TrialStepOutput(Output):
    """A step of the plan that a conductor wrote in its test."""

    worker = serializers.CharField()
    subtask = serializers.CharField(help_text="Its beginning.")
    access = serializers.ListField(
        child=serializers.IntegerField(), help_text="Steps whose answers it reads."
    )


class ModelTestOutput(Output):
    """How a test of a model went."""

    ok = serializers.BooleanField()
    latency_ms = serializers.IntegerField()
    answer = serializers.CharField(help_text="The beginning of what it said.")
    model = serializers.CharField(help_text="As the provider names it; or empty.")
    error_code = serializers.CharField(help_text="Empty: none.")
    message = serializers.CharField(help_text="What went wrong, if anything.")
    tested_at = Time()
    abilities = serializers.DictField(
        child=serializers.BooleanField(),
        help_text="What it can do, as it showed, by names of a worker's fields. Left "
        "out: not found out.",
    )
    plan_steps = serializers.IntegerField(
        allow_null=True,
        help_text="Steps of the plan a conductor wrote. Null: a worker, or no plan.",
    )
    plan = TrialStepOutput(
        many=True,
        help_text="Those steps. No worker is called for them. Empty: a worker, or no "
        "plan.",
    )


class EndpointOutput(Output):
    """Where a model is served."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    base_url = serializers.CharField()
    protocol = serializers.ChoiceField(choices=Protocol.choices)
    model = serializers.CharField()
    credential_id = serializers.UUIDField(allow_null=True)
    max_tokens_field = serializers.ChoiceField(choices=MaxTokensField.choices)
    timeouts = TimeoutsOutput()
    price = PriceOutput(allow_null=True, help_text="In force today. Null: unknown.")
    list_price = ListPriceOutput(
        allow_null=True,
        help_text="What everybody pays at this address. Null: unknown. The team's own "
        "price, by which costs are counted, is `price` alone.",
    )
    max_output_tokens = serializers.IntegerField()
    pools = serializers.ListField(child=serializers.CharField(), help_text="By name.")
    last_test = ModelTestOutput(allow_null=True)


TEST_EXAMPLE: dict[str, Any] = {
    "ok": True,
    "latency_ms": 412,
    "answer": "ready",
    "model": "mistral-large-2411",
    "error_code": "",
    "message": "",
    "tested_at": "2026-11-21T15:53:16.000000Z",
    "abilities": WorkerAttributes().model_dump(include=ABILITIES),
    "plan_steps": None,
    "plan": [],
}


def listed(model: Worker | Conductor) -> dict[str, Any] | None:
    """Return a model's list price as `ListPriceOutput` tells it."""
    return list_price_values(list_price(model.base_url, model.model))
