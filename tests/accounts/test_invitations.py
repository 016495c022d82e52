"""People are invited by mail; the link in it works once, for them, for a week."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.accounts.digests import token_generate
from apps.accounts.models import Invitation, Membership, Team
from apps.accounts.selectors import (
    access_invitation,
    invitation_find,
    invitation_list,
)
from apps.accounts.services import (
    invitation_accept,
    invitation_create,
    invitation_resend,
    invitation_revoke,
    member_add,
)
from apps.core.errors import Conflict, InvalidFields, NotAllowed, NotFound
from tests.accounts.ledger import actions, data, entries, recorded
from tests.factories import ACTOR, MembershipFactory, TeamFactory, UserFactory

pytestmark = pytest.mark.django_db

ADDRESS = "new@example.org"


def invite(team: Team | None = None, **values: Any) -> tuple[Invitation, str]:
    values = {"email": ADDRESS, "role": "member", "actor": ACTOR, **values}
    return invitation_create(team=team or TeamFactory.create(), **values)


def expire(invitation: Invitation) -> None:
    rows = Invitation.objects.for_team(invitation.team_id).filter(pk=invitation.pk)
    rows.update(expires_at=timezone.now() - timedelta(seconds=1))


def test_invited_person_joins_with_the_role_offered():
    team, user = TeamFactory.create(), UserFactory.create(email=ADDRESS)
    invitation, token = invite(team, role="reviewer")
    membership = invitation_accept(token=token, user=user)
    assert (membership.team, membership.user) == (team, user)
    assert membership.role == "reviewer"
    invitation.refresh_from_db()
    assert invitation.accepted_at is not None
    assert actions(team) == [
        "invitation.created",
        "invitation.accepted",
        "member.added",
    ]
    assert data(team, "member.added") == {"user": str(user.id), "role": "reviewer"}


def test_invitation_lives_a_week():
    invitation, _ = invite()
    left = invitation.expires_at - timezone.now()
    assert timedelta(days=6, hours=23) < left <= timedelta(days=7)


def test_mail_says_all_there_is_to_know(django_capture_on_commit_callbacks, settings):
    settings.CONDUCTOR_URL = "https://conductor.example"
    team = TeamFactory.create(name="Bits & <Bobs>")
    inviter = UserFactory.create(name="Ann O'Neil")
    with django_capture_on_commit_callbacks(execute=True):
        invitation, token = invite(team, role="admin", invited_by=inviter)
    (message,) = mail.outbox
    assert message.to == [ADDRESS]
    assert (
        message.subject == "Ann O'Neil invites you to join Bits & <Bobs> on Conductor"
    )
    for words in (
        "Ann O'Neil invites you to join the team Bits & <Bobs>",
        "role there will be: Admin",
        ADDRESS,
        f"https://conductor.example/invitations/{token}/",
        f"{invitation.expires_at.day} {invitation.expires_at:%b %Y, %H:%M} UTC",
    ):
        assert words in message.body
    assert "&amp;" not in message.body


def test_mail_without_an_inviter_reads_well(django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        invite(TeamFactory.create(name="Blue"))
    assert mail.outbox[0].subject == "You are invited to join Blue on Conductor"
    assert "You are invited to join the team Blue" in mail.outbox[0].body


def test_mail_waits_for_the_commit():
    invite()
    assert mail.outbox == []


def test_mail_server_that_fails_spoils_nothing(
    django_capture_on_commit_callbacks, settings, caplog
):
    settings.EMAIL_BACKEND = "tests.accounts.mail_down.EmailBackend"
    with django_capture_on_commit_callbacks(execute=True):
        invitation, token = invite()
    assert invitation_find(token) == invitation
    assert "the mail server is away" in caplog.text
    assert token not in caplog.text


def test_token_is_neither_stored_nor_recorded_nor_in_a_statement():
    with CaptureQueriesContext(connection) as queries:
        invitation, token = invite()
        invitation_accept(token=token, user=UserFactory.create(email=ADDRESS))
    assert not any(token in query["sql"] for query in queries)
    row = Invitation.objects.across_teams().values().get(pk=invitation.pk)
    assert token not in repr(row)
    assert token not in recorded(invitation.team)
    assert token not in f"{invitation!r} {invitation}"


def test_address_is_in_the_ledger_only_where_it_can_be_erased():
    invitation, _ = invite()
    (entry,) = entries(invitation.team)
    assert ADDRESS not in recorded(invitation.team)
    assert b'"email"' in bytes(entry.canonical)


@pytest.mark.parametrize("written", [" New@Example.ORG ", "NEW@example.org"])
def test_address_is_taken_in_any_case(written: str):
    invitation, token = invite(email=written)
    assert invitation.email == ADDRESS
    user = UserFactory.create(email=ADDRESS)
    assert invitation_accept(token=token, user=user).user == user


def test_another_person_cannot_accept():
    _, token = invite()
    with pytest.raises(NotAllowed, match="another address") as caught:
        invitation_accept(token=token, user=UserFactory.create())
    assert ADDRESS not in caught.value.message
    assert invitation_find(token).is_waiting


def test_deactivated_person_cannot_accept():
    _, token = invite()
    with pytest.raises(NotAllowed):
        invitation_accept(
            token=token, user=UserFactory.create(email=ADDRESS, is_active=False)
        )


def test_dead_links_all_read_alike():
    user, messages = UserFactory.create(email=ADDRESS), set()
    used, expired, revoked = invite(), invite(), invite()
    invitation_accept(token=used[1], user=user)
    expire(expired[0])
    invitation_revoke(invitation=revoked[0], actor=ACTOR)
    for token in (used[1], expired[1], revoked[1], token_generate(), "", "\0", "é"):
        with pytest.raises(NotFound) as found:
            invitation_find(token)
        with pytest.raises(NotFound) as accepted:
            invitation_accept(token=token, user=user)
        messages |= {found.value.message, accepted.value.message}
    assert len(messages) == 1
    assert Membership.objects.across_teams().count() == 1


def test_link_survives_a_rotated_site_secret(settings):
    invitation, token = invite()
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another one, long enough to be taken for a secret"
    assert invitation_find(token) == invitation


def test_member_meanwhile_keeps_the_role_they_have():
    team, user = TeamFactory.create(), UserFactory.create(email=ADDRESS)
    _, token = invite(team, role="admin")
    member_add(team=team, user=user, role="viewer", actor=ACTOR)
    assert invitation_accept(token=token, user=user).role == "viewer"
    assert list(invitation_list(team.id)) == []
    assert actions(team)[-1] == "invitation.accepted"


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"email": ""}, "email"),
        ({"email": "nobody"}, "email"),
        ({"email": "a@b@c.org"}, "email"),
        ({"email": "a\0@example.org"}, "email"),
        ({"email": "a@example.org\nBcc: b@example.org"}, "email"),
        ({"email": f"{'a' * 250}@example.org"}, "email"),
        ({"email": None}, "email"),
        ({"role": "boss"}, "role"),
        ({"role": ""}, "role"),
        ({"role": None}, "role"),
    ],
)
def test_bad_invitation_is_refused(values: dict[str, Any], field: str):
    team = TeamFactory.create()
    with pytest.raises(InvalidFields) as caught:
        invite(team, **values)
    assert list(caught.value.fields) == [field]
    assert actions(team) == []


def test_member_is_not_invited():
    member = MembershipFactory.create()
    with pytest.raises(InvalidFields, match="in the team already"):
        invite(member.team, email=member.user.email.upper())


def test_address_is_invited_once_in_a_team():
    invitation, _ = invite()
    with pytest.raises(InvalidFields, match="invited already"):
        invite(invitation.team, role="viewer")
    assert invite()[0].team != invitation.team
    assert actions(invitation.team) == ["invitation.created"]


def test_address_is_invited_anew_after_the_first_expired_or_was_revoked():
    first, _ = invite()
    expire(first)
    second, _ = invite(first.team)
    invitation_revoke(invitation=second, actor=ACTOR)
    third, _ = invite(first.team)
    assert list(invitation_list(first.team_id)) == [third]


@pytest.mark.parametrize("acting_role", ["member", "reviewer", "viewer", "nobody"])
def test_lesser_roles_invite_nobody(acting_role: str):
    invitation, _ = invite()
    with pytest.raises(NotAllowed):
        invite(invitation.team, email="b@example.org", acting_role=acting_role)
    for service in (invitation_resend, invitation_revoke):
        with pytest.raises(NotAllowed):
            service(invitation=invitation, actor=ACTOR, acting_role=acting_role)
    assert actions(invitation.team) == ["invitation.created"]


def test_only_owners_invite_owners():
    team = TeamFactory.create()
    with pytest.raises(NotAllowed, match="only owners"):
        invite(team, role="owner", acting_role="admin")
    invitation, _ = invite(team, role="owner", acting_role="owner")
    for service in (invitation_resend, invitation_revoke):
        with pytest.raises(NotAllowed, match="only owners"):
            service(invitation=invitation, actor=ACTOR, acting_role="admin")


def test_resending_makes_a_new_link_and_kills_the_old(
    django_capture_on_commit_callbacks,
):
    invitation, old = invite()
    expire(invitation)
    invitation.refresh_from_db()
    with django_capture_on_commit_callbacks(execute=True):
        again, new = invitation_resend(invitation=invitation, actor=ACTOR)
    assert invitation_find(new) == again == invitation
    assert again.is_open(timezone.now())
    with pytest.raises(NotFound):
        invitation_find(old)
    assert f"/invitations/{new}/" in mail.outbox[0].body
    assert data(again.team, "invitation.resent") == {
        "before": {"expires_at": invitation.expires_at.isoformat(timespec="seconds")},
        "after": {"expires_at": again.expires_at.isoformat(timespec="seconds")},
    }


def test_revoking_again_records_nothing():
    invitation, _ = invite()
    for _ in range(2):
        invitation_revoke(invitation=invitation, actor=ACTOR)
    assert actions(invitation.team) == ["invitation.created", "invitation.revoked"]


def test_accepted_invitation_is_neither_resent_nor_revoked():
    invitation, token = invite()
    invitation_accept(token=token, user=UserFactory.create(email=ADDRESS))
    for service in (invitation_resend, invitation_revoke):
        with pytest.raises(Conflict):
            service(invitation=invitation, actor=ACTOR)


def test_revoked_invitation_is_not_resent():
    invitation, _ = invite()
    invitation_revoke(invitation=invitation, actor=ACTOR)
    with pytest.raises(Conflict):
        invitation_resend(invitation=invitation, actor=ACTOR)


def test_invitation_of_a_deleted_team_is_not_found():
    invitation, token = invite()
    invitation.team.delete()
    with pytest.raises(NotFound):
        invitation_resend(invitation=invitation, actor=ACTOR)
    with pytest.raises(NotFound):
        invitation_accept(token=token, user=UserFactory.create(email=ADDRESS))


def test_team_sees_its_own_waiting_invitations_newest_first():
    team = TeamFactory.create()
    first, second = (invite(team, email=f"{n}@example.org")[0] for n in "ab")
    expire(first)
    invite()
    assert list(invitation_list(team.id)) == [second, first]


def test_invitation_of_another_team_is_not_found():
    invitation, _ = invite()
    assert access_invitation(invitation.team_id, invitation.id) == invitation
    with pytest.raises(NotFound):
        access_invitation(TeamFactory.create().id, invitation.id)
