"""What candidates are asked, and which of them are the same, as keys to compare."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence

import orjson

from apps.core.errors import NotFound
from apps.engine.ports import Messages
from apps.pools.selectors import pool_list, worker_list
from apps.runs.planning.model_resolver import parse_model
from apps.runs.types import RunRecord

RequestKey = tuple[str, bytes]


def request_key(prompt: str, messages: Messages) -> RequestKey:
    """Return what is equal for two runs that are asked the same."""
    return prompt, orjson.dumps(list(messages), option=orjson.OPT_SORT_KEYS)


def key_of_record(record: RunRecord) -> RequestKey:
    """Return the same for a recorded run."""
    return request_key(record.prompt, record.messages)


def all_equal(keys: Sequence[RequestKey]) -> bool:
    """Say whether all were asked the same; of erased prompts that is unknown."""
    return len(set(keys)) == 1 and bool(keys[0][0])


def candidate_keys(team_id: uuid.UUID, models: Sequence[str]) -> list[str]:
    """Return for each model what is equal for two names of one candidate.

    A worker is the same in every pool; a tier belongs to its pool. They are told apart
    by their ids: another one may have got the name of one that is gone. A model that
    is not known, or no longer, goes by its name.
    """
    workers = dict(worker_list(team_id).order_by().values_list("name", "id"))
    pools = dict[str | None, uuid.UUID]()
    for name, pool_id, is_default in (
        pool_list(team_id).order_by().values_list("name", "id", "is_default")
    ):
        pools[name] = pool_id
        if is_default:
            pools[None] = pool_id
    return [_candidate_key(model, workers, pools) for model in models]


def _candidate_key(
    model: str,
    workers: Mapping[str, uuid.UUID],
    pools: Mapping[str | None, uuid.UUID],
) -> str:
    try:
        name = parse_model(model)
    except NotFound:  # to start its run says so
        return f"name {model}"
    if name.worker:
        found, kind = workers.get(name.worker), "worker"
    else:
        found, kind = pools.get(name.pool), f"tier {name.tier}"
    return f"{kind} {found}" if found else f"name {model}"
