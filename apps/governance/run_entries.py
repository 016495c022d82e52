"""Adds what people decide about a run to the record of the run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from apps.audit.services import entries_append
from apps.audit.types import Actor, Batch, EntryDraft


def run_entry_append(
    team_id: UUID,
    run_id: UUID,
    action: str,
    actor: Actor,
    facts: Mapping[str, Any],
    texts: Mapping[str, str] | None = None,
) -> int:
    """Append an entry about a run in the open transaction; return its seq.

    `texts` are kept apart, so that they are erased with the content of the run.
    """
    draft = EntryDraft(action, "run", run_id, actor, facts, texts or {})
    (seq,) = entries_append(batch=Batch(team_id, (draft,)))
    return seq
