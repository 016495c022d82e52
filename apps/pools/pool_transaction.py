"""One change of a team's pools: in order, recorded, versioned, and felt at once.

Guarantees: changes of a team come one after the other; the entries, the new versions
and the rows commit together or not at all; afterwards this process forgets its
snapshots of the team, and other processes do within `CACHE_SECONDS`.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction

from apps.accounts.models import Team
from apps.accounts.types import KeyHolder
from apps.audit.services import entries_append
from apps.audit.types import Actor, Batch, EntryDraft
from apps.core.errors import NotFound
from apps.pools.history.versions import versions_advance, versions_begin
from apps.pools.models import Conductor, Credential, Pool, Worker
from apps.pools.prices.floor import price_floor
from apps.pools.selectors import snapshots_forget

Subject = Credential | Worker | Conductor | Pool


@dataclass
class PoolChange:
    """A change in the making; what is recorded is written when it ends."""

    team: Team
    actor: Actor
    _records: list[tuple[str, uuid.UUID, dict[str, Any]]] = field(default_factory=list)

    def record(self, action: str, subject: Subject, **data: Any) -> None:
        """Say what was done to `subject`; the rest follows from it."""
        facts = {"name": subject.name, **data}
        self._records.append((action, subject.pk, facts))

    def end(self) -> None:
        """Write versions and entries. Without a record nothing has changed."""
        if not self._records:
            return
        advanced = versions_advance(self.team.id, self.actor.display)
        versions = {pool.id: pool for pool in advanced}
        cause = self._records[0]
        for _, subject_id, data in self._records:
            pool = versions.pop(subject_id, None)
            if pool is not None:
                data["version"] = pool.version
        for pool in versions.values():
            because = {"action": cause[0], "name": cause[2]["name"]}
            self.record("pool.changed", pool, version=pool.version, because_of=because)
        drafts = tuple(self._draft(*record) for record in self._records)
        # Last: the team's head stays locked until the commit.
        entries_append(batch=Batch(team_id=self.team.id, drafts=drafts))
        team_id = self.team.id
        transaction.on_commit(lambda: snapshots_forget(team_id))

    def _draft(
        self, action: str, subject_id: uuid.UUID, data: Mapping[str, Any]
    ) -> EntryDraft:
        return EntryDraft(
            action=action,
            subject_type=action.partition(".")[0],
            subject_id=subject_id,
            actor=self.actor,
            data=data,
        )


@contextmanager
def pool_change(
    team_id: uuid.UUID, actor: Actor, *, within: KeyHolder | None = None
) -> Iterator[PoolChange]:
    """Open a transaction in which no other one changes the team's pools.

    `within` is the key that makes the change, if it may concern prices; None if a
    person does. Raises: NotAllowed for what `price_floor` forbids a key.
    """
    with transaction.atomic():
        # Two at once would each miss the rows the other one is creating. No key: rows
        # that merely name the team need not wait.
        team = Team.objects.select_for_update(no_key=True).filter(pk=team_id).first()
        if team is None:
            raise NotFound("this team is gone")
        versions_begin(team_id)
        floor = price_floor(team_id, within)
        change = PoolChange(team, actor)
        yield change
        if floor is not None:
            floor.check()
        change.end()


def differences(
    before: Mapping[str, Any], after: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """Return the values that differ, as an entry holds them; empty: none does."""
    changed = [key for key in after if before.get(key) != after[key]]
    if not changed:
        return {}
    return {
        "before": {key: before.get(key) for key in changed},
        "after": {key: after[key] for key in changed},
    }
