"""Opens the texts that are kept apart from their entries, many at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from apps.audit.append import content_context
from apps.audit.models import Content
from apps.core.keyring import unseal


@dataclass(frozen=True, slots=True)
class OpenedText:
    """A text of an entry; without salt and text, it has been erased."""

    seq: int
    name: str
    salt: str | None
    """In hexadecimal digits."""
    text: str | None

    @property
    def document(self) -> dict[str, Any]:
        """Return it as the export holds it."""
        return {
            "seq": self.seq,
            "name": self.name,
            "salt": self.salt,
            "text": self.text,
        }


def texts_open(
    team_id: UUID, named: Mapping[int, Mapping[str, Mapping[str, Any]]]
) -> dict[int, list[OpenedText]]:
    """Return the texts of entries by seq, erased ones too, in the order of names.

    `named` are the `bodies` of each entry. Raises: SecretUnreadable.
    """
    contents = Content.objects.for_team(team_id).filter(seq__in=list(named))
    stored = {
        (seq, name): (salt, sealed)
        for seq, name, salt, sealed in contents.values_list(
            "seq", "name", "salt", "sealed"
        )
    }
    return {
        seq: [
            _text(team_id, seq, name, body["digest"], stored.get((seq, name)))
            for name, body in bodies.items()
        ]
        for seq, bodies in named.items()
    }


def _text(
    team_id: UUID, seq: int, name: str, digest: str, content: tuple[Any, Any] | None
) -> OpenedText:
    salt, sealed = content or (None, None)
    if salt is None or sealed is None:
        return OpenedText(seq, name, None, None)
    text = unseal(bytes(sealed), context=content_context(team_id, digest))
    return OpenedText(seq, name, bytes(salt).hex(), text.decode())
