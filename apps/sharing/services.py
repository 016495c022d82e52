"""Turns share links on and off, makes, revokes and counts them.

Each change and its ledger entry commit together. What ends links locks the team's row
of `SharingSettings`, and so does making one: none is made while all of them end.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from apps.accounts.digests import SHARE_LINK, digests_of, token_generate
from apps.accounts.models import Membership, Team, User
from apps.accounts.principal import Principal
from apps.accounts.rights import MANAGE_SHARING, REVOKE_OWN_LINKS, SHARE_RUNS
from apps.audit.services import entries_append
from apps.audit.types import SERVICE, Actor, Batch, EntryDraft
from apps.conversations.models import Conversation, Turn
from apps.core.data_classes import DATA_CLASSES, DataClassName, is_at_least
from apps.core.errors import Conflict, NotAllowed
from apps.core.validation import (
    Cleaner,
    clean_choice,
    clean_fields,
    clean_switch,
    clean_text,
)
from apps.runs.models import Run
from apps.runs.selectors import run_view
from apps.sharing.models import (
    LONGEST_DAYS,
    NOTE_LENGTH,
    ShareLink,
    SharingSettings,
)
from apps.sharing.selectors import (
    NOTE,
    runs_shown,
    share_link_list,
    status_of,
    unended_link_list,
)
from apps.sharing.shared_class import shared_class
from apps.sharing.types import LinkFilters, LinkState, SharingStatus

MOST_OPEN = 20
"""Links of one run or conversation that work at the same time."""
VIEW_PRECISION = timedelta(minutes=1)
"""A link's views are written at most this often."""
KEPT = timedelta(days=90)
"""How long a link that has ended stays in the lists; the ledger keeps it."""
FORGOTTEN_AT_ONCE = 500
HOURS_A_DAY = 24


@dataclass(frozen=True, slots=True)
class Shared:
    """What is to be shared: a run, or the turns of a conversation up to one."""

    run: Run | None = None
    turn: Turn | None = None

    @property
    def team_id(self) -> uuid.UUID:
        """Return whose it is."""
        if self.run is not None:
            return self.run.team_id
        assert self.turn is not None
        return self.turn.conversation.team_id

    @property
    def filters(self) -> LinkFilters:
        """Return which links show it."""
        if self.turn is not None:
            return LinkFilters(conversation_id=self.turn.conversation_id)
        return LinkFilters(run_id=self.run.id if self.run else None)


def turn_to_share(conversation: Conversation) -> Turn:
    """Return the last turn that is shown. Raises: Conflict if there is none."""
    if conversation.shown is None:
        raise Conflict("this conversation has no turn yet")
    return conversation.shown


@transaction.atomic
def sharing_set(
    *, team: Team, values: Mapping[str, Any], actor: Actor
) -> SharingStatus:
    """Change whether a team shares by links, for how long, and up to which data class.

    When it is turned off, all links end for good. Raises: InvalidFields.
    """
    cleaned = clean_fields(values, _SETTINGS)
    row = _lock(team.id)
    before = {name: getattr(row, name) for name in cleaned}
    after = {name: value for name, value in cleaned.items() if value != before[name]}
    if not after:
        return status_of(row)
    for name, value in after.items():
        setattr(row, name, value)
    row.save(update_fields=list(after))
    facts = {"before": {name: before[name] for name in after}, "after": after}
    ended = 0 if row.is_on else _end_all(team.id, actor, timezone.now())
    draft = EntryDraft(
        "sharing.updated", "team", team.id, actor, {**facts, "links_ended": ended}
    )
    entries_append(batch=Batch(team.id, (draft,)))
    return status_of(row)


def share_link_create(
    *, principal: Principal, shared: Shared, values: Mapping[str, Any]
) -> tuple[ShareLink, str]:
    """Make a link to what is shared; return it and its secret, which nothing keeps.

    `values`: `hours` it works for; `note`, `has_plan` and `has_name` if wanted. Raises:
    NotAllowed for API keys; InvalidFields; Conflict if links are off, there is no
    answer yet, its data class must not be shared, or there are too many links.
    """
    principal.require(SHARE_RUNS)
    cleaned = clean_fields(
        {"note": "", "has_plan": False, "has_name": False, **values}, _LINK
    )
    secret, user = token_generate(), _person(principal)
    link = _unsaved(shared, cleaned, secret)
    _require_answers(link)
    # Reads every text, so it is done before anything is locked.
    link.data_class = shared_class(runs_shown(link), has_plan=link.has_plan)
    with transaction.atomic():
        status = status_of(_lock(shared.team_id))
        _require_room(shared, status, link)
        if not Membership.objects.for_team(link.team_id).filter(user=user).exists():
            raise NotAllowed("you are no member of this team any more")
        link.made_by, link.made_by_name = user, principal.actor.display
        link.save(force_insert=True)
        texts = {NOTE: cleaned["note"]} if cleaned["note"] else {}
        _record(link, "share_link.created", principal.actor, _facts(link), texts)
    return link, secret


@transaction.atomic
def share_link_revoke(*, link: ShareLink, principal: Principal) -> ShareLink:
    """End a link for good. Doing it again changes and records nothing.

    Raises: NotAllowed for a link of another member, but to owners and admins.
    """
    principal.require(REVOKE_OWN_LINKS)
    if principal.user is None or link.made_by_id != principal.user.id:
        principal.require(MANAGE_SHARING)
    actor = principal.actor
    _revoke(link.team_id, Q(id=link.id), actor, "revoked", timezone.now())
    link.refresh_from_db()
    return link


@transaction.atomic
def share_links_revoke(*, principal: Principal, link_ids: Collection[uuid.UUID]) -> int:
    """End several links of a team for good; return how many of them were open.

    Ids of other links are passed over. Raises: NotAllowed.
    """
    principal.require(MANAGE_SHARING)
    chosen = Q(id__in=link_ids)
    now = timezone.now()
    return _revoke(principal.team_id, chosen, principal.actor, "revoked", now)


def member_links_end(team_id: uuid.UUID, user_id: uuid.UUID, actor: Actor) -> None:
    """End the links of a member who leaves, in the open transaction."""
    if SharingSettings.objects.for_team(team_id).select_for_update().exists():
        reason = "the member has gone"
        _revoke(team_id, Q(made_by=user_id), actor, reason, timezone.now())


def conversation_links_end(
    team_id: uuid.UUID, conversation_ids: Collection[uuid.UUID], actor: Actor
) -> None:
    """End the links of conversations that are deleted, in the open transaction."""
    if SharingSettings.objects.for_team(team_id).select_for_update().exists():
        chosen = Q(turn__conversation__in=conversation_ids)
        reason = "the conversation was deleted"
        _revoke(team_id, chosen, actor, reason, timezone.now())


def share_link_note_view(link: ShareLink, context: Mapping[str, str]) -> None:
    """Count that a link was opened; the first time is recorded in the ledger.

    A view within a minute after one that was counted is not, so that many visitors cost
    one write a minute. `context`: of the request.
    """
    now = timezone.now()
    last = link.last_viewed_at
    if last is not None and last > now - VIEW_PRECISION:
        return
    rows = ShareLink.objects.for_team(link.team_id).filter(id=link.id)
    with transaction.atomic():
        if last is None and rows.filter(last_viewed_at=None).update(
            views=F("views") + 1, last_viewed_at=now
        ):
            visitor = replace(SERVICE, context=context)
            _record(link, "share_link.viewed", visitor, {"views": 1})
            return
        stale = Q(last_viewed_at=None) | Q(last_viewed_at__lte=now - VIEW_PRECISION)
        rows.filter(stale).update(views=F("views") + 1, last_viewed_at=now)


def share_links_forget(now: datetime | None = None) -> Iterator[int]:
    """Delete links of all teams that ended long ago, some at a time.

    Yields how many each step deleted.
    """
    before = (now or timezone.now()) - KEPT
    ended = ShareLink.objects.across_teams().filter(
        Q(expires_at__lt=before) | Q(revoked_at__lt=before)
    )
    while ids := list(
        ended.order_by("id").values_list("id", flat=True)[:FORGOTTEN_AT_ONCE]
    ):
        ended.filter(id__in=ids).delete()
        yield len(ids)


def _person(principal: Principal) -> User:
    if principal.user is None:
        raise NotAllowed("share links belong to people; no API key may make one")
    return principal.user


def _lock(team_id: uuid.UUID) -> SharingSettings:
    """Return a team's row, locked until the open transaction ends."""
    rows = SharingSettings.objects
    rows.bulk_create([SharingSettings(team_id=team_id)], ignore_conflicts=True)
    return rows.for_team(team_id).select_for_update().get()


def _unsaved(shared: Shared, cleaned: Mapping[str, Any], secret: str) -> ShareLink:
    now = timezone.now()
    return ShareLink(
        team_id=shared.team_id,
        digest=digests_of(secret, purpose=SHARE_LINK)[0],
        run=shared.run,
        turn=shared.turn,
        has_plan=cleaned["has_plan"],
        has_name=cleaned["has_name"],
        created_at=now,
        expires_at=now + timedelta(hours=cleaned["hours"]),
    )


def _require_answers(link: ShareLink) -> None:
    runs = runs_shown(link)
    # A turn is stored before its run is on record, whose text nobody has classified.
    last = link.run_id if link.turn is None else link.turn.run_id
    if last not in {run.id for run in runs} or not all(run.is_over for run in runs):
        raise Conflict(
            "the answer is not complete yet; share it when the run has ended"
        )
    if not any(run_view(run).answer for run in runs):
        raise Conflict("there is no answer to share, or it has been erased")


def _require_room(shared: Shared, status: SharingStatus, link: ShareLink) -> None:
    """Raise Conflict unless the team may have this link."""
    if not status.is_allowed:
        raise Conflict("the operator of this site does not allow share links")
    if not status.is_on:
        raise Conflict(
            "share links are off in this team; an owner or admin can allow them"
        )
    if link.expires_at - link.created_at > timedelta(days=status.max_days):
        raise Conflict(f"a link of this team works for at most {status.max_days} days")
    if not is_at_least(status.highest_class, _class_of(link)):
        raise Conflict(
            f"this is {link.data_class}, and this team shares nothing above "
            f"{status.highest_class}"
        )
    filters = replace(shared.filters, state=LinkState.OPEN)
    if share_link_list(link.team_id, filters).count() >= MOST_OPEN:
        raise Conflict(f"there are {MOST_OPEN} links to this already; revoke one first")


def _class_of(link: ShareLink) -> DataClassName:
    return next(name for name in DATA_CLASSES if name == link.data_class)


def _end_all(team_id: uuid.UUID, actor: Actor, now: datetime) -> int:
    """End all links of a team. The entry of the change says how many."""
    found = unended_link_list(team_id)
    return found.update(revoked_at=now, revoked_by=actor.display)


def _revoke(
    team_id: uuid.UUID, chosen: Q, actor: Actor, reason: str, now: datetime
) -> int:
    """End those of the chosen links that have not ended, with an entry for each."""
    found = unended_link_list(team_id).filter(chosen)
    links = list(found.select_for_update(of=("self",)))
    if links:
        rows = ShareLink.objects.for_team(team_id).filter(id__in=[e.id for e in links])
        rows.update(revoked_at=now, revoked_by=actor.display)
        drafts = tuple(
            EntryDraft(
                "share_link.revoked",
                "share_link",
                link.id,
                actor,
                {"reason": reason, "views": link.views},
            )
            for link in links
        )
        entries_append(batch=Batch(team_id, drafts))
    return len(links)


def _facts(link: ShareLink) -> dict[str, Any]:
    conversation_id = str(link.turn.conversation_id) if link.turn else None
    return {
        "run_id": str(link.run_id) if link.run_id else None,
        "conversation_id": conversation_id,
        "expires_at": link.expires_at.isoformat(timespec="seconds"),
        "has_plan": link.has_plan,
        "has_name": link.has_name,
        "data_class": link.data_class,
    }


def _record(
    link: ShareLink,
    action: str,
    actor: Actor,
    facts: Mapping[str, Any],
    texts: Mapping[str, str] | None = None,
) -> None:
    draft = EntryDraft(action, "share_link", link.id, actor, facts, texts or {})
    entries_append(batch=Batch(link.team_id, (draft,)))


def _clean_count(what: str, most: int) -> Cleaner:
    def clean(value: Any) -> int:
        if type(value) is not int or not 1 <= value <= most:
            raise ValueError(f"it is a whole number of {what} from 1 to {most:,}")
        return value

    return clean


def _clean_note(value: Any) -> str:
    return "" if value == "" else clean_text(value, "note", NOTE_LENGTH)


_SETTINGS: Mapping[str, Cleaner] = {
    "is_on": clean_switch,
    "max_days": _clean_count("days", LONGEST_DAYS),
    "highest_class": lambda value: clean_choice(value, DATA_CLASSES, "data class"),
}
_LINK: Mapping[str, Cleaner] = {
    "hours": _clean_count("hours", LONGEST_DAYS * HOURS_A_DAY),
    "note": _clean_note,
    "has_plan": clean_switch,
    "has_name": clean_switch,
}
