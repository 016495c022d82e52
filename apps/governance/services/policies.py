"""Changes a team's policy: each change is a new version, on record in the ledger."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from apps.accounts.models import Team
from apps.audit.services import entries_append
from apps.audit.types import Actor, Batch, EntryDraft
from apps.core.errors import NotFound, VersionConflict
from apps.core.input_parts import values_read
from apps.governance.models import PolicyVersion
from apps.governance.policies.rules import PolicyDocument
from apps.governance.selectors import policies_forget, policy_newest


@transaction.atomic
def policy_replace(
    *,
    team: Team,
    values: Mapping[str, Any],
    actor: Actor,
    expected_version: int | None = None,
) -> PolicyVersion | None:
    """Put new rules in force; return their version, None if the team never had rules.

    Equal rules make no new version. Raises: InvalidFields; NotFound if the team is no
    more; VersionConflict if the policy is not at `expected_version` any more.
    """
    document = values_read(PolicyDocument, values)
    # One change after the other: the row of the team is their lock.
    row = Team.objects.select_for_update(no_key=True).filter(pk=team.pk).first()
    if row is None:
        raise NotFound("this team has been deleted")
    newest = policy_newest(team.id)
    version = newest.version if newest else 0
    if expected_version not in (None, version):
        raise VersionConflict(
            f"the policy is at version {version} by now, not at {expected_version}"
        )
    before = newest.document if newest else {}
    after = document.values()
    if before == after:
        return newest
    made = PolicyVersion.objects.create(
        team=row,
        version=version + 1,
        document=after,
        actor_name=actor.display[:200],
    )
    _record(row, actor, {"version": made.version, "before": before, "after": after})
    team_id = team.id
    transaction.on_commit(lambda: policies_forget(team_id))
    return made


def _record(team: Team, actor: Actor, facts: Mapping[str, Any]) -> None:
    draft = EntryDraft("policy.updated", "policy", team.id, actor, facts)
    entries_append(batch=Batch(team.id, (draft,)))
