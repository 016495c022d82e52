"""What candidates are asked, and which of them are the same, as keys to compare."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

import orjson

from apps.core.errors import NotFound
from apps.engine.ports import Messages
from apps.pools.selectors import pool_list
from apps.runs.planning.model_resolver import parse_model
from apps.runs.types import RunRecord

RequestKey = tuple[str, bytes]
CandidateKey = tuple[str, ...]


def request_key(prompt: str, messages: Messages) -> RequestKey:
    """Return what is equal for two runs that are asked the same."""
    return prompt, orjson.dumps(list(messages), option=orjson.OPT_SORT_KEYS)


def key_of_record(record: RunRecord) -> RequestKey:
    """Return the same for a recorded run."""
    return request_key(record.prompt, record.messages)


def all_equal(keys: Sequence[RequestKey]) -> bool:
    """Say whether all were asked the same; of erased prompts that is unknown."""
    return len(set(keys)) == 1 and bool(keys[0][0])


def candidate_keys(team_id: uuid.UUID, models: Sequence[str]) -> list[CandidateKey]:
    """Return for each model what is equal for two names of one candidate.

    A worker is the same in every pool; a tier belongs to its pool.
    """
    defaults = pool_list(team_id).filter(is_default=True).values_list("name", flat=True)
    default = defaults.first() or ""
    return [_candidate_key(model, default) for model in models]


def _candidate_key(model: str, default_pool: str) -> CandidateKey:
    try:
        name = parse_model(model)
    except NotFound:  # to start its run says so
        return ("unknown", model)
    if name.worker:
        return ("worker", name.worker)
    return ("tier", name.pool or default_pool, name.tier)
