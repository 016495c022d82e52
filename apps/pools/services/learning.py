"""Records what calls reveal about a model, such as a refused prefill.

The only changes of a team's models that no person makes. Their entries name the
service as actor, and the run that found it out.
"""

from __future__ import annotations

import uuid

from apps.audit.types import SERVICE
from apps.llm.types import Endpoint
from apps.pools.models import Conductor, Worker
from apps.pools.pool_transaction import differences, pool_change
from apps.pools.serializers import recorded_values


def prefill_refused(
    *, team_id: uuid.UUID, endpoint: Endpoint, is_conductor: bool, run_id: uuid.UUID
) -> bool:
    """Note that a model takes no beginning of an answer; False if that was no news.

    A record that has been pointed elsewhere meanwhile stays as it is. Raises: NotFound
    if the team is gone.
    """
    kind: type[Conductor | Worker] = Conductor if is_conductor else Worker
    field = "uses_prefill" if is_conductor else "accepts_prefill"
    rows = kind.objects.for_team(team_id).filter(
        name=endpoint.name, base_url=endpoint.base_url, model=endpoint.model
    )
    with pool_change(team_id, SERVICE) as change:
        row = rows.filter(**{field: True}).first()
        if row is None:
            return False
        before = recorded_values(row)
        setattr(row, field, False)
        row.save(update_fields=[field])
        changed = differences(before, recorded_values(row))
        action = "conductor.updated" if is_conductor else "worker.updated"
        cause = {"fault": "prefill_refused", "run": str(run_id)}
        change.record(action, row, because_of=cause, **changed)
    return True
