"""Addresses of a Gemini model's methods. The model's name is one path segment."""

from __future__ import annotations

from urllib.parse import quote

from apps.llm.errors import BadRequest
from apps.llm.types import Endpoint

COLLECTIONS = ("models", "tunedModels")
"""What may stand before a model's name. All the rest of it is one path segment."""
DOT_SEGMENTS = ("", ".", "..")


def method_url(endpoint: Endpoint, method: str) -> str:
    """Return the address of a method of the endpoint's model.

    Raises: BadRequest if an address cannot hold the model's name.
    """
    collection, name = _parts(endpoint.model)
    if name in DOT_SEGMENTS:  # no quoting keeps them from being resolved
        raise BadRequest(f"{endpoint.name!r}: {name!r} cannot be a model's name")
    path = f"{collection}/{quote(name, safe='')}"
    return f"{endpoint.base_url.rstrip('/')}/{path}:{method}"


def model_path(model: str) -> str:
    """Return a model's name with its collection, as bodies hold it."""
    return "/".join(_parts(model))


def _parts(model: str) -> tuple[str, str]:
    collection, found, name = model.partition("/")
    if found and collection in COLLECTIONS:
        return collection, name
    return "models", model
