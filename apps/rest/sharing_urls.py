"""Addresses of share links in the REST API."""

from __future__ import annotations

from django.urls import URLPattern, path

from apps.rest.resources.governance import share_links

sharing_urlpatterns: list[URLPattern] = [
    path("sharing/", share_links.SharingView.as_view(), name="sharing"),
    path("share-links/", share_links.ShareLinks.as_view(), name="share_links"),
    path(
        "share-links/<uuid:link_id>/",
        share_links.OneShareLink.as_view(),
        name="share_link",
    ),
    path(
        "share-links/<uuid:link_id>/revoke/",
        share_links.ShareLinkRevoke.as_view(),
        name="share_link_revoke",
    ),
    path(
        "runs/<uuid:run_id>/share-links/",
        share_links.RunShareLinks.as_view(),
        name="run_share_links",
    ),
    path(
        "conversations/<uuid:conversation_id>/share-links/",
        share_links.ConversationShareLinks.as_view(),
        name="conversation_share_links",
    ),
]
