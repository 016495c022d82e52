"""Addresses of the REST API."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, path, re_path

from apps.rest.documentation import ApiDocs, ApiSchema
from apps.rest.resources import invitations, keys, me, members, runs, team
from apps.rest.views import NoSuchAddress

app_name = "rest"
urlpatterns: list[URLPattern | URLResolver] = [
    path("schema/", ApiSchema.as_view(), name="schema"),
    path("docs/", ApiDocs.as_view(), name="docs"),
    path("me/", me.Me.as_view(), name="me"),
    path("me/membership/", me.MyMembership.as_view(), name="my_membership"),
    path("team/", team.OneTeam.as_view(), name="team"),
    path("members/", members.Members.as_view(), name="members"),
    path("members/<uuid:user_id>/", members.OneMember.as_view(), name="member"),
    path("invitations/", invitations.Invitations.as_view(), name="invitations"),
    path(
        "invitations/<uuid:invitation_id>/",
        invitations.OneInvitation.as_view(),
        name="invitation",
    ),
    path(
        "invitations/<uuid:invitation_id>/resend/",
        invitations.InvitationResend.as_view(),
        name="invitation_resend",
    ),
    path("keys/", keys.Keys.as_view(), name="keys"),
    path("keys/<uuid:key_id>/", keys.OneKey.as_view(), name="key"),
    path("keys/<uuid:key_id>/rotate/", keys.KeyRotate.as_view(), name="key_rotate"),
    path("keys/<uuid:key_id>/revoke/", keys.KeyRevoke.as_view(), name="key_revoke"),
    path("runs/", runs.Runs.as_view(), name="runs"),
    path("runs/<uuid:run_id>/", runs.OneRun.as_view(), name="run"),
    path("runs/<uuid:run_id>/entries/", runs.RunEntries.as_view(), name="run_entries"),
    path("runs/<uuid:run_id>/cancel/", runs.RunCancel.as_view(), name="run_cancel"),
    re_path(r"^.*$", NoSuchAddress.as_view(), name="nothing"),
]
