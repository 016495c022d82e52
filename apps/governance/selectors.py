"""Reads of a team's retention, legal holds, policy and feedback."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Collection
from dataclasses import replace
from datetime import timedelta

from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone

from apps.audit.selectors import entry_list, entry_recorded_at
from apps.audit.types import Actor
from apps.conversations.selectors import conversations_idle
from apps.core.errors import NotFound
from apps.core.scoping import TeamQuerySet
from apps.core.ttl_cache import TtlCache
from apps.governance.models import (
    LegalHold,
    PolicyTrial,
    PolicyVersion,
    Retention,
    ReviewSettings,
    RunFeedback,
    SitePolicyVersion,
)
from apps.governance.policies.rules import PolicyDocument
from apps.governance.types import (
    Feedback,
    Held,
    IdleRule,
    PolicyInForce,
    PolicyName,
    RetentionStatus,
)

logger = logging.getLogger(__name__)
FEEDBACK_SHOWN = 50
"""Ratings of one run that are read."""
_policies: TtlCache[uuid.UUID | None, PolicyInForce] = TtlCache()
"""The policies in force, by team; None is the site's."""


def site_days() -> int | None:
    """Return the retention period of teams that chose none. None: no limit."""
    return settings.RETENTION_DAYS or None


def retention_status(team_id: uuid.UUID) -> RetentionStatus:
    """Return a team's retention period, and how far its content is erased."""
    row = Retention.objects.for_team(team_id).first() or Retention(team_id=team_id)
    begins_at = row.begins_at
    return RetentionStatus(
        days=row.days,
        site_days=site_days(),
        begins_at=begins_at if begins_at and begins_at > timezone.now() else None,
        erased_until=entry_recorded_at(team_id, row.erased_through),
        idle=_idle_rule(row),
    )


def idle_count(team_id: uuid.UUID, *, days: int, keeps_pinned: bool) -> int:
    """Return how many conversations a rule would delete now, were it in force."""
    on_hold = held(team_id)
    if on_hold.is_all:
        return 0
    before = timezone.now() - timedelta(days=days)
    return conversations_idle(
        team_id, before, keeps_pinned=keeps_pinned, kept_runs=on_hold.run_ids
    ).count()


def _idle_rule(row: Retention) -> IdleRule:
    begins_at = row.conversations_begin_at
    return IdleRule(
        days=row.conversation_days,
        keeps_pinned=row.keeps_pinned,
        begins_at=begins_at if begins_at and begins_at > timezone.now() else None,
    )


def hold_list(team_id: uuid.UUID) -> QuerySet[LegalHold]:
    """Return the legal holds of a team, newest first, released ones too."""
    return LegalHold.objects.for_team(team_id)


def holds_in_force(team_id: uuid.UUID) -> QuerySet[LegalHold]:
    """Return the legal holds of a team that hold, newest first."""
    return hold_list(team_id).filter(released_at=None)


def holds_released(team_id: uuid.UUID) -> QuerySet[LegalHold]:
    """Return those that were released, newest first."""
    return hold_list(team_id).exclude(released_at=None)


def holds_of_run(team_id: uuid.UUID, run_id: uuid.UUID) -> QuerySet[LegalHold]:
    """Return the holds on a run, those on its whole team included."""
    in_force = holds_in_force(team_id)
    return in_force.filter(run_id=run_id) | in_force.filter(run_id=None)


def held(team_id: uuid.UUID) -> Held:
    """Return what of a team must not be erased."""
    run_ids = set(holds_in_force(team_id).values_list("run_id", flat=True))
    return Held(None in run_ids, frozenset(filter(None, run_ids)))


def access_hold(team_id: uuid.UUID, hold_id: uuid.UUID) -> LegalHold:
    """Return a hold of the team. Raises: NotFound for any other one."""
    hold = hold_list(team_id).filter(id=hold_id).first()
    if hold is None:
        raise NotFound(f"there is no legal hold {str(hold_id)!r} in this team")
    return hold


# --- policies ------------------------------------------------------------------------


def policy_versions(team_id: uuid.UUID) -> QuerySet[PolicyVersion]:
    """Return the versions of a team's policy, newest first."""
    return PolicyVersion.objects.for_team(team_id)


def access_policy_version(team_id: uuid.UUID, version: int) -> PolicyVersion:
    """Return one version of a team's policy. Raises: NotFound."""
    row = policy_versions(team_id).filter(version=version).first()
    if row is None:
        raise NotFound(f"the policy has no version {version}")
    return row


def policy_newest(team_id: uuid.UUID) -> PolicyVersion | None:
    """Return the version in force. None: the team never had a rule."""
    return policy_versions(team_id).first()


def site_policy_versions() -> QuerySet[SitePolicyVersion]:
    """Return the versions of the site's policy, newest first."""
    return SitePolicyVersion.objects.all()


def site_policy_newest() -> SitePolicyVersion | None:
    """Return the version in force. None: the site never had a rule."""
    return site_policy_versions().first()


def policy_peek(team_id: uuid.UUID | None) -> PolicyInForce | None:
    """Return a recently read policy, without touching the database.

    `team_id` None: that of the site. For the event loop: never blocks. None says
    nothing; ask `policy_in_force`.
    """
    return _policies.get(team_id)


def policy_in_force(team_id: uuid.UUID | None) -> PolicyInForce:
    """Return a policy, at most `CACHE_SECONDS` old. Blocks. None: that of the site."""
    found = _policies.get(team_id)
    if found is not None:
        return found
    generation = _policies.generation
    if team_id is None:
        policy = policy_read("site", site_policy_newest())
    else:
        own = policy_read("team", policy_newest(team_id))
        policy = replace(own, serves_reviews=_reviews_need_classes(team_id))
    _policies.put(team_id, policy, generation=generation)
    return policy


def policy_read(
    name: PolicyName, row: PolicyVersion | SitePolicyVersion | None
) -> PolicyInForce:
    """Return what a version says; without rules if there is none.

    One that cannot be read is `is_readable` False: it denies every run while in force.
    """
    version, values = (row.version, row.document) if row else (0, {})
    try:
        document = PolicyDocument.model_validate(values)
    except Exception:  # the boundary: a policy that cannot be read denies by name
        logger.exception("version %s of the %s policy cannot be read", version, name)
        return PolicyInForce(name, version, PolicyDocument(), is_readable=False)
    return PolicyInForce(name, version, document)


def _reviews_need_classes(team_id: uuid.UUID) -> bool:
    settings = ReviewSettings.objects.for_team(team_id)
    return settings.filter(document__has_key="data_class").exists()


def policies_in_force(team_id: uuid.UUID) -> tuple[PolicyInForce, ...]:
    """Return the policies that bind a team: the site's comes first."""
    both = policy_in_force(None), policy_in_force(team_id)
    return tuple(policy for policy in both if policy.binds)


def policies_forget(team_id: uuid.UUID | None) -> None:
    """Forget what this process remembers of a policy, after a change."""
    _policies.drop(lambda key, _: key == team_id)


def policy_trial_list(team_id: uuid.UUID) -> TeamQuerySet[PolicyTrial]:
    """Return the trials of a team's drafts, newest first."""
    return PolicyTrial.objects.for_team(team_id)


def access_policy_trial(team_id: uuid.UUID, trial_id: uuid.UUID) -> PolicyTrial:
    """Return a trial of the team. Raises: NotFound for any other one."""
    trial = policy_trial_list(team_id).filter(id=trial_id).first()
    if trial is None:
        raise NotFound(f"there is no trial {str(trial_id)!r} in this team")
    return trial


# --- feedback ------------------------------------------------------------------------


def feedback_list(team_id: uuid.UUID, run_id: uuid.UUID) -> list[Feedback]:
    """Return the ratings of a run with their comments, newest first."""
    rows = list(RunFeedback.objects.for_team(team_id).filter(run_id=run_id))
    return [_with_comment(row) for row in rows[:FEEDBACK_SHOWN]]


def ratings_by(
    team_id: uuid.UUID, run_ids: Collection[uuid.UUID], actor: Actor
) -> dict[uuid.UUID, str]:
    """Return how somebody rated some runs; those they did not rate are not in it."""
    rows = RunFeedback.objects.for_team(team_id).filter(
        run_id__in=run_ids, actor_type=actor.type, actor_id=actor.id
    )
    return {run_id: r for run_id, r in rows.values_list("run_id", "rating") if r}


def _with_comment(row: RunFeedback) -> Feedback:
    entries = entry_list(
        row.team_id, subject_id=row.run_id, after_seq=row.entry_seq - 1, limit=1
    )
    comment = entries[0].bodies.get("comment", "") if entries else ""
    thousandths = row.outcome_thousandths
    return Feedback(
        row.rating,
        None if thousandths is None else thousandths / 1_000,
        comment,
        row.actor_id,
        row.actor_name,
        row.updated_at,
    )
