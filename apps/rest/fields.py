"""Input and output fields. Input is taken as it is typed: `"5"` is no number.

An input refuses names it does not know, so that nothing can be set by guessing and a
misspelt name never passes for one that was left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache, cached_property
from itertools import islice
from typing import Any

from django.core.validators import RegexValidator
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.utils.serializer_helpers import BindingDict

from apps.core.errors import MAX_FAULTS
from apps.core.money import usd_text
from apps.rest.errors import WHOLE_BODY

MAX_WHOLE = 2**31 - 1
"""What every database's integers hold."""
DOLLARS = r"^(0|[1-9]\d{0,8})(\.\d{1,6})?$"
"""Exact to the micro-dollar, below a billion."""
DOLLARS_OUT = r"^-?\d+\.\d{2,6}$"


class _StrictNames(serializers.Serializer[Any]):
    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, Mapping):
            raise serializers.ValidationError({WHOLE_BODY: ["expected an object"]})
        names = (str(name) for name in data if name not in self.fields)
        if unknown := list(islice(names, MAX_FAULTS)):
            raise serializers.ValidationError(
                {name[:100]: ["there is no such field"] for name in unknown}
            )
        return super().to_internal_value(data)


class Input(_StrictNames):
    """What the body of a request may hold."""


class _SharedFields(serializers.Serializer[Any]):
    """All of a kind share their fields, which know nothing of a request.

    Copying them for each answer, as serializers do, costs more than most answers.
    """

    @cached_property
    def fields(self) -> BindingDict:
        """Return the fields by name."""
        return _shared_fields(type(self))


class Query(_SharedFields, _StrictNames):
    """What the query of an address may hold; everything in it is text."""


class Output(_SharedFields):
    """What an answer holds, and nothing else. Never a secret."""

    def to_representation(self, instance: Any) -> dict[str, Any]:
        """Return the answer's values by name."""
        shown = {}
        for name, source, show in _ways_out(type(self)):
            value = instance
            for part in source:
                value = _part(value, part)
            shown[name] = None if value is None else show(value)
        return shown


@cache
def _shared_fields(kind: type[_SharedFields]) -> BindingDict:
    one = kind()
    fields = BindingDict(one)
    for name, field in one.get_fields().items():
        fields[name] = field
    return fields


def _part(value: Any, name: str) -> Any:
    return value[name] if isinstance(value, Mapping) else getattr(value, name)


WayOut = tuple[str, tuple[str, ...], Callable[[Any], Any]]
"""A value's name, where it is found, and how it is shown unless it is None."""


@cache
def _ways_out(output: type[Output]) -> tuple[WayOut, ...]:
    # What the framework asks each field for with each value is the same every time.
    return tuple(
        (str(name), tuple(field.source_attrs), field.to_representation)
        for name, field in _shared_fields(output).items()
        if not field.write_only
    )


class TextField(serializers.CharField):
    """A text; numbers and truth values are none."""

    def to_internal_value(self, data: Any) -> str:
        """Return the text."""
        if not isinstance(data, str):
            self.fail("invalid")
        return super().to_internal_value(data)


class EmailText(serializers.EmailField):
    """An email address."""

    def to_internal_value(self, data: Any) -> str:
        """Return the address."""
        if not isinstance(data, str):
            self.fail("invalid")
        return super().to_internal_value(data)


class Id(serializers.UUIDField):
    """The id of something, as text."""

    def to_internal_value(self, data: Any) -> Any:
        """Return the id."""
        if not isinstance(data, str):
            self.fail("invalid", value=data)
        return super().to_internal_value(data)


class Whole(serializers.IntegerField):
    """A whole number from 0, unless bounds say otherwise."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"min_value": 0, "max_value": MAX_WHOLE, **options})

    def to_internal_value(self, data: Any) -> int:
        """Return the number."""
        if type(data) is not int:
            self.fail("invalid")
        return super().to_internal_value(data)


class Number(serializers.FloatField):
    """A number, whole or not."""

    def to_internal_value(self, data: Any) -> float:
        """Return the number."""
        if isinstance(data, bool) or not isinstance(data, int | float):
            self.fail("invalid")
        return super().to_internal_value(data)


class Flag(serializers.BooleanField):
    """True or false."""

    def to_internal_value(self, data: Any) -> bool:
        """Return the truth value."""
        if not isinstance(data, bool):
            self.fail("invalid", input=data)
        return data


class Word(serializers.ChoiceField):
    """One of a few words."""

    def to_internal_value(self, data: Any) -> Any:
        """Return the word."""
        if not isinstance(data, str):
            self.fail("invalid_choice", input=json.dumps(data)[:100])
        return super().to_internal_value(data)


class Dollars(TextField):
    """An amount that comes in, as decimal text: money is never a binary fraction."""

    def __init__(self, **options: Any) -> None:
        check = RegexValidator(
            DOLLARS, "Write dollars as text, for example '0.05', with up to 6 decimals."
        )
        super().__init__(**{"validators": [check], "max_length": 16, **options})


@extend_schema_field({"type": "string", "pattern": DOLLARS_OUT, "examples": ["0.0125"]})
class DollarsOut(serializers.Field[int, Any, str, Any]):
    """Micro-dollars that go out, as decimal text in dollars, exactly."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"read_only": True, **options})

    def to_representation(self, value: int) -> str:
        """Return the amount to the cent, or as exactly as it is known."""
        return usd_text(value)


class Time(serializers.DateTimeField):
    """A moment that goes out: ISO 8601 in UTC."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"read_only": True, **options})

    def to_representation(self, value: datetime) -> str:
        """Return the moment as text."""
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
