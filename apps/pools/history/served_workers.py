"""Which models stood behind the names of a pool's workers at one of its versions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from apps.pools.model_fingerprints import model_fingerprint, worker_fingerprint
from apps.pools.models import Pool, PoolVersion, Worker

VERSIONS_AT_ONCE = 20
PoolPlace = tuple[str, int]
"""A pool's name and version."""


class ServedWorker(NamedTuple):
    """A worker as it was at a version of a pool."""

    worker_id: UUID
    base_url: str
    model: str
    fingerprint: str


ByName = Mapping[str, ServedWorker]


def served_workers(
    team_id: UUID, places: Collection[PoolPlace]
) -> Mapping[PoolPlace, ByName]:
    """Return the workers of some versions of pools, by pool, version and name.

    Two pools that had the same name at that version are told apart by nothing: they
    are left out.
    """
    versions = {version for _, version in places}
    rows = PoolVersion.objects.for_team(team_id).filter(version__in=versions)
    written = [(row.version, row.document) for row in rows]
    seen = Counter((document["name"], version) for version, document in written)
    served: dict[PoolPlace, ByName] = {
        (document["name"], version): {
            values["name"]: _of_document(values) for values in document["workers"]
        }
        for version, document in written
        if seen[document["name"], version] == 1
    }
    # A pool that never changed may have no version that is written down.
    present = Pool.objects.for_team(team_id).filter(version__in=versions)
    for pool in present.prefetch_related("places__worker"):
        if not seen[pool.name, pool.version]:
            served[pool.name, pool.version] = {
                place.worker.name: _of_row(place.worker) for place in pool.places.all()
            }
    return served


def _of_document(values: Mapping[str, Any]) -> ServedWorker:
    return ServedWorker(
        UUID(values["id"]),
        values["base_url"],
        values["model"],
        model_fingerprint(values),
    )


def _of_row(worker: Worker) -> ServedWorker:
    return ServedWorker(
        worker.id, worker.base_url, worker.model, worker_fingerprint(worker)
    )


def served_since(pool: Pool, worker: Worker) -> datetime | None:
    """Return when a worker of a pool began to stand for its present model.

    None: it has done so for as long as the pool's versions say.
    """
    now, since = worker_fingerprint(worker), None
    rows = PoolVersion.objects.for_team(pool.team_id).filter(pool=pool)
    for row in rows.order_by("-version").iterator(chunk_size=VERSIONS_AT_ONCE):
        then = next(
            (w for w in row.document["workers"] if w["id"] == str(worker.id)), None
        )
        if then is None or model_fingerprint(then) != now:
            return since
        since = row.created_at
    return None
