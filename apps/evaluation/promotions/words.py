"""What a change of a pool and its models comes to, for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from apps.pools.models import Conductor, Pool, TierName, TierPlanner, Worker
from apps.pools.selectors import conductor_list, worker_list

Values = Mapping[str, Any]


def setup_words(pool: Pool, before: Values, after: Values) -> list[str]:
    """Return what changes between two setups of a pool, in one sentence each."""
    workers = {str(row.id): row for row in worker_list(pool.team_id)}
    conductors = {str(row.id): row for row in conductor_list(pool.team_id)}
    return [
        *_members(pool, workers, before, after),
        *_conductor(pool, conductors, before, after),
        *_tiers(before, after),
        *_models("Worker", pool, workers, before, after, "workers"),
        *_models("Conductor", pool, conductors, before, after, "conductors"),
    ]


def _members(
    pool: Pool, workers: Mapping[str, Worker], before: Values, after: Values
) -> Iterator[str]:
    old, new = before.get("worker_ids", []), after.get("worker_ids", [])
    if old != new:
        names = ", ".join(_name(workers, each) for each in new)
        yield f"The workers of pool {pool.name} become {names}."
    if before.get("fallback_id") != after.get("fallback_id"):
        one, other = (_name(workers, each["fallback_id"]) for each in (after, before))
        yield (
            f"{one} becomes the fallback worker of pool {pool.name}, instead of "
            f"{other}."
        )
    if before.get("no_substitute_ids") != after.get("no_substitute_ids"):
        spared = [_name(workers, each) for each in after["no_substitute_ids"]]
        yield f"Workers that take over for no other: {', '.join(spared) or 'none'}."
    if before.get("retries_refusals") != after.get("retries_refusals"):
        words = "is" if after["retries_refusals"] else "is not"
        yield f"After a refusal another worker {words} asked."


def _conductor(
    pool: Pool, conductors: Mapping[str, Conductor], before: Values, after: Values
) -> Iterator[str]:
    if before.get("conductor_id") == after.get("conductor_id"):
        return
    new, old = (
        _name(conductors, each["conductor_id"], "none") for each in (after, before)
    )
    planned = [
        tier.name
        for tier in pool.tiers.all()
        if tier.planner == TierPlanner.CONDUCTOR and tier.name not in after["tiers"]
    ]
    too = f" It plans for tier {' and '.join(planned)}, too." if planned else ""
    yield f"The conductor of pool {pool.name} becomes {new}; it is {old}.{too}"


def _tiers(before: Values, after: Values) -> Iterator[str]:
    for tier in TierName.values:
        had, gets = before["tiers"].get(tier), after["tiers"].get(tier)
        if tier not in after["tiers"] or had == gets:
            continue
        if gets is None or had is None:
            yield f"Tier {tier} {'goes' if gets is None else 'is added'}."
        else:
            yield from _changes(f"Tier {tier}", had, gets)


def _models(
    noun: str,
    pool: Pool,
    rows: Mapping[str, Any],
    before: Values,
    after: Values,
    part: str,
) -> Iterator[str]:
    for key, gets in after.get(part, {}).items():
        name = _name(rows, key)
        yield from _changes(f"{noun} {name}", before[part][key], gets)
        others = sorted({each.name for each in rows[key].pools.all()} - {pool.name})
        if others and before[part][key] != gets:
            yield f"This {noun.lower()} changes in pool {', '.join(others)}, too."


def _changes(what: str, had: Values, gets: Values) -> Iterator[str]:
    for name, value in gets.items():
        if had[name] != value and name == "credential_id":
            yield f"{what}: its key becomes the one of then."
        elif had[name] != value:
            label = name.replace("_", " ").removesuffix(" id")
            yield f"{what}: {label} becomes {_word(value)}; it is {_word(had[name])}."


def _name(rows: Mapping[str, Any], key: str | None, none: str = "another one") -> str:
    if key is None:
        return none
    return str(rows[key].name) if key in rows else "another one"


def _word(value: object) -> str:
    """Return a value of a tier or a model for people."""
    if value in TierPlanner.values:
        return f"“{TierPlanner(value).label}”"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        given = [f"{n.replace('_', ' ')} {v}" for n, v in value.items() if v]
        return ", ".join(given) or "none"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(str, value)) or "none"
    return "none" if value in (None, "") else str(value)
