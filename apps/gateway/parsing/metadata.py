"""The field `metadata`: pairs of texts that a caller keeps with its request.

The field `user`, the person for whom a program asks, is kept as one more pair.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apps.core.errors import InvalidInput
from apps.gateway.parsing.json_fields import read_object, type_error
from apps.runs.label_types import (
    METADATA_NAME_LENGTH,
    METADATA_VALUE_LENGTH,
    MOST_METADATA,
)


def read_metadata(body: Mapping[str, Any]) -> dict[str, str]:
    """Return the field `metadata` without what is null. Raises: InvalidInput."""
    given = read_object(body, "metadata") or {}
    metadata = {name: value for name, value in given.items() if value is not None}
    if len(metadata) > MOST_METADATA:
        raise InvalidInput(
            f"metadata: {len(metadata)} pairs, at most {MOST_METADATA} are allowed",
            param="metadata",
        )
    for name, value in metadata.items():
        where = f"metadata.{name[:METADATA_NAME_LENGTH]}"
        if len(name) > METADATA_NAME_LENGTH:
            raise InvalidInput(
                f"{where}…: a name has at most {METADATA_NAME_LENGTH} characters",
                param="metadata",
            )
        if not isinstance(value, str):
            raise type_error(where, "a text", value)
        if len(value) > METADATA_VALUE_LENGTH:
            raise InvalidInput(
                f"{where}: {len(value)} characters, at most {METADATA_VALUE_LENGTH} "
                "are allowed",
                param=where,
            )
        if "\0" in name + value:
            raise InvalidInput(f"{where}: a text has no NUL", param="metadata")
    return metadata


def with_user(metadata: Mapping[str, str], body: Mapping[str, Any]) -> dict[str, str]:
    """Return the pairs to keep with a run: also the field `user`, as `user`.

    Metadata with that name stays. A `user` that is no plain text has no effect.
    """
    user = body.get("user")
    if not isinstance(user, str) or not user.strip() or "\0" in user:
        return dict(metadata)
    return {"user": user[:METADATA_VALUE_LENGTH], **metadata}
