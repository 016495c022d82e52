"""Reads of share links: for a team, and for whoever has the secret of one."""

from __future__ import annotations

import hmac
import uuid
from collections.abc import Sequence
from datetime import datetime

from django.conf import settings
from django.db.models import Q
from django.utils import timezone

from apps.accounts.digests import SHARE_LINK, digests_of
from apps.accounts.models import Membership, Permission
from apps.accounts.selectors import roles_with
from apps.audit.selectors import entries_by_subject
from apps.conversations.models import Turn
from apps.core.data_classes import DATA_CLASSES, data_class_read, is_at_least
from apps.core.errors import NotFound
from apps.core.scoping import TeamQuerySet
from apps.runs.models import Run
from apps.sharing.models import ShareLink, SharingSettings
from apps.sharing.types import LinkFilters, LinkState, SharingStatus

MOST_TURNS = 50
"""Turns of a conversation that are shown: the last ones."""
LONGEST_SECRET = 100
"""Longer than any; nothing longer is looked up."""
NOTE = "note"
"""The name of the body that holds the note of a link."""


def sharing_status(team_id: uuid.UUID) -> SharingStatus:
    """Return whether a team shares by links, and what."""
    row = SharingSettings.objects.for_team(team_id).first() or SharingSettings()
    return status_of(row)


def status_of(row: SharingSettings) -> SharingStatus:
    """Return what the settings of a team come to."""
    return SharingStatus(
        is_on=row.is_on,
        is_allowed=settings.SHARE_LINKS,
        max_days=row.max_days,
        highest_class=data_class_read(row.highest_class, param="highest_class"),
    )


def share_link_list(
    team_id: uuid.UUID,
    filters: LinkFilters = LinkFilters(),  # noqa: B008
) -> TeamQuerySet[ShareLink]:
    """Return the share links of a team, newest first."""
    rows = ShareLink.objects.for_team(team_id).select_related(
        "run", "turn__conversation", "made_by"
    )
    if filters.state is not None:
        rows = rows.filter(_in_state(team_id, filters.state, timezone.now()))
    if filters.user_id is not None:
        rows = rows.filter(made_by=filters.user_id)
    if filters.run_id is not None:
        rows = rows.filter(run=filters.run_id)
    if filters.conversation_id is not None:
        rows = rows.filter(turn__conversation=filters.conversation_id)
    return rows


def access_share_link(team_id: uuid.UUID, link_id: uuid.UUID) -> ShareLink:
    """Return a share link of the team. Raises: NotFound for any other one."""
    link = share_link_list(team_id).filter(id=link_id).first()
    if link is None:
        raise NotFound(f"there is no share link {str(link_id)!r} in this team")
    return link


def notes_of(links: Sequence[ShareLink]) -> dict[uuid.UUID, str]:
    """Return the notes of some links of one team; without those that have none.

    A note that has been erased is left out too.
    """
    if not links:
        return {}
    ids = [link.id for link in links]
    entries = entries_by_subject(links[0].team_id, ids, texts=(NOTE,))
    notes = (
        (link_id, each.bodies.get(NOTE))
        for link_id, found in entries.items()
        for each in found
    )
    return {link_id: note for link_id, note in notes if note}


def share_link_find(secret: str, now: datetime) -> ShareLink:
    """Return the link that a secret opens at `now`.

    Raises: NotFound if there is none, or it does not work any more, whatever the
    reason; all read alike.
    """
    if 0 < len(secret) <= LONGEST_SECRET and settings.SHARE_LINKS:
        digests = digests_of(secret, purpose=SHARE_LINK)
        # The one place without a team: the secret is what tells us the team.
        rows = ShareLink.objects.across_teams().select_related(
            "run", "turn__conversation", "made_by"
        )
        link = rows.filter(digest__in=digests).first()
        if link is not None and _opens(link, digests):
            states = link_states(link.team_id, [link], now)
            if states[link.id] == LinkState.OPEN:
                return link
    raise NotFound("this link does not work any more")


def turns_shown(turn: Turn) -> list[Run]:
    """Return the runs of the turns up to one, the oldest first.

    Of a long conversation the last `MOST_TURNS`; turns without a run on record are
    left out.
    """
    turns = {each.id: each for each in turn.conversation.turns.all()}
    path: list[uuid.UUID] = []
    each: Turn | None = turn
    while each is not None and len(path) < MOST_TURNS:
        path.append(each.run_id)
        each = turns.get(each.continues_id) if each.continues_id else None
    runs = Run.objects.for_team(turn.conversation.team_id).in_bulk(path)
    return [runs[run_id] for run_id in reversed(path) if run_id in runs]


def runs_shown(link: ShareLink) -> list[Run]:
    """Return the runs that a link shows, the oldest first."""
    if link.turn is not None:
        return turns_shown(link.turn)
    return [link.run] if link.run is not None else []


def unended_link_list(team_id: uuid.UUID) -> TeamQuerySet[ShareLink]:
    """Return the links of a team that can be revoked: open and stopped ones."""
    return share_link_list(team_id).filter(_is_unended(timezone.now()))


def link_states(
    team_id: uuid.UUID, links: Sequence[ShareLink], now: datetime
) -> dict[uuid.UUID, LinkState]:
    """Return where some links of one team stand at `now`, by their ids."""
    unended = [
        each.id for each in links if not each.revoked_at and now < each.expires_at
    ]
    working: set[uuid.UUID] = set()
    if unended:
        rows = ShareLink.objects.for_team(team_id).filter(id__in=unended)
        working = set(rows.filter(_works(team_id)).values_list("id", flat=True))
    states = dict.fromkeys(unended, LinkState.STOPPED)
    states |= dict.fromkeys(working, LinkState.OPEN)
    ended = {
        each.id: LinkState.REVOKED if each.revoked_at else LinkState.EXPIRED
        for each in links
        if each.id not in states
    }
    return states | ended


def _opens(link: ShareLink, digests: Sequence[str]) -> bool:
    # The database compares as it likes; this takes the same time whatever differs.
    matches = [hmac.compare_digest(link.digest, digest) for digest in digests]
    return any(matches)


def _works(team_id: uuid.UUID) -> Q:
    """Return which links of a team work as long as their time is not over."""
    status = sharing_status(team_id)
    if not status.works:
        return Q(pk__in=())
    classes = [name for name in DATA_CLASSES if is_at_least(status.highest_class, name)]
    makers = Membership.objects.for_team(team_id).filter(
        user__is_active=True, role__in=roles_with(Permission.SHARE_RUNS)
    )
    is_shown = Q(run__isnull=False) | Q(turn__isnull=False)
    return is_shown & Q(data_class__in=classes, made_by__in=makers.values("user"))


def _is_unended(now: datetime) -> Q:
    return Q(revoked_at=None, expires_at__gt=now)


def _in_state(team_id: uuid.UUID, state: LinkState, now: datetime) -> Q:
    # As `link_states`.
    match state:
        case LinkState.REVOKED:
            return Q(revoked_at__isnull=False)
        case LinkState.EXPIRED:
            return Q(revoked_at=None, expires_at__lte=now)
        case LinkState.OPEN:
            return _is_unended(now) & _works(team_id)
        case LinkState.STOPPED:
            working = ShareLink.objects.for_team(team_id).filter(_works(team_id))
            return _is_unended(now) & ~Q(pk__in=working.values("pk"))
