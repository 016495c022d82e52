"""Changes policies of teams and of the site: each change is a version, on record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from apps.accounts.models import Team
from apps.audit.services import entries_append
from apps.audit.types import Actor, Batch, EntryDraft
from apps.core.errors import NotFound, VersionConflict
from apps.core.input_parts import values_read
from apps.governance.models import PolicyVersion, SitePolicyVersion
from apps.governance.policies.rules import PolicyDocument, SitePolicyDocument
from apps.governance.selectors import policies_forget, policy_newest, site_policy_newest


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
    version, before = (newest.version, newest.document) if newest else (0, {})
    _require_version(version, expected_version)
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


@transaction.atomic
def site_policy_replace(
    *,
    values: Mapping[str, Any],
    actor: Actor,
    expected_version: int | None = None,
) -> SitePolicyVersion | None:
    """Put new rules in force for all teams; return their version, None if never any.

    Equal rules make no new version. It is recorded in the ledger of each team. Raises:
    InvalidFields; VersionConflict if the policy is not at `expected_version` any more.
    """
    document = values_read(SitePolicyDocument, values)
    # The teams' rows are the lock, and each of their chains gets an entry.
    teams = list(Team.objects.select_for_update(no_key=True).order_by("id"))
    newest = site_policy_newest()
    version, before = (newest.version, newest.document) if newest else (0, {})
    _require_version(version, expected_version)
    after = document.values()
    if before == after:
        return newest
    made = SitePolicyVersion.objects.create(
        version=version + 1, document=after, actor_name=actor.display[:200]
    )
    facts = {"version": made.version, "before": before, "after": after}
    for team in teams:
        _record(team, actor, facts, action="site_policy.updated")
    transaction.on_commit(lambda: policies_forget(None))
    return made


def _require_version(version: int, expected: int | None) -> None:
    if expected not in (None, version):
        raise VersionConflict(
            f"the policy is at version {version} by now, not at {expected}"
        )


def _record(
    team: Team,
    actor: Actor,
    facts: Mapping[str, Any],
    *,
    action: str = "policy.updated",
) -> None:
    draft = EntryDraft(action, "policy", team.id, actor, facts)
    entries_append(batch=Batch(team.id, (draft,)))
