"""Fields of inputs and outputs that follow from the descriptions of attributes.

A description in `apps/pools/attributes.py` says the type, the bounds, the default and
the help text of each attribute; they are read from its JSON schema. A resource adds
the fields that a schema does not tell.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic import BaseModel
from rest_framework import serializers

from apps.pools.models import ConductorMode, WorkerKind
from apps.pools.prompt_styles import PromptStyle
from apps.rest.fields import Flag, TextField, Whole, Word

Field = serializers.Field[Any, Any, Any, Any]
Schema = Mapping[str, Any]
CHOICES = {
    kind.__name__: kind.choices for kind in (ConductorMode, PromptStyle, WorkerKind)
}
"""The words that a schema refers to by a name, with what they mean."""


def input_fields(shape: type[BaseModel]) -> dict[str, Field]:
    """Return the fields that take the attributes of `shape`; none is required."""
    return {
        name: _input_field(
            schema, required=False, help_text=shape.model_fields[name].description
        )
        for name, schema in _properties(shape)
    }


def output_fields(shape: type[BaseModel]) -> dict[str, Field]:
    """Return the fields that show the attributes of `shape`."""
    return {name: _output_field(schema) for name, schema in _properties(shape)}


def example_values(shape: type[BaseModel]) -> dict[str, Any]:
    """Return an example of each attribute: the first one named, else its default."""
    return {
        name: schema.get("examples", [schema["default"]])[0]
        for name, schema in _properties(shape)
    }


@cache
def _properties(shape: type[BaseModel]) -> list[tuple[str, Schema]]:
    return list(shape.model_json_schema()["properties"].items())


def _input_field(schema: Schema, **options: Any) -> Field:
    if schema.get("default") == "":
        options["allow_blank"] = True
    match schema:
        case {"anyOf": [inner, {"type": "null"}]}:
            return _input_field(inner, allow_null=True, **options)
        case {"$ref": name}:
            return Word(choices=_choices(name), **options)
        case {"enum": words}:
            return Word(choices=[(word, word) for word in words], **options)
        case {"type": "boolean"}:
            return Flag(**options)
        case {"type": "integer", "minimum": least, "maximum": most}:
            return Whole(min_value=least, max_value=most, **options)
        case {"type": "string", "maxLength": most}:
            return TextField(max_length=most, **options)
        case {"type": "array", "items": items, "maxItems": most}:
            child = _input_field(items)
            return serializers.ListField(child=child, max_length=most, **options)
        case {"type": "object"}:
            return serializers.DictField(**options)
    raise NotImplementedError(f"no input field takes {schema}")


def _output_field(schema: Schema, **options: Any) -> Field:
    match schema:
        case {"anyOf": [inner, {"type": "null"}]}:
            return _output_field(inner, allow_null=True, **options)
        case {"$ref": name}:
            return serializers.ChoiceField(choices=_choices(name), **options)
        case {"type": "boolean"}:
            return serializers.BooleanField(**options)
        case {"type": "integer"}:
            return serializers.IntegerField(**options)
        case {"type": "string"}:
            return serializers.CharField(**options)
        case {"type": "array", "items": items}:
            return serializers.ListField(child=_output_field(items), **options)
        case {"type": "object"}:
            return serializers.DictField(**options)
    raise NotImplementedError(f"no output field shows {schema}")


def _choices(reference: str) -> list[tuple[str, Any]]:
    return CHOICES[reference.rpartition("/")[2]]
