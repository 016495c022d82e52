"""Addresses of the pages about a person's own account, and of the operator's own."""

from django.contrib import admin
from django.urls import path

from apps.web import account_pages
from apps.web.documentation import pages as documentation
from apps.web.site import (
    ledger,
    operations,
    overview,
    policy,
    settings,
    suspensions,
)

operator_only = admin.site.admin_view
# The theme's page of an app would be a second way to the lists.
admin.site.app_index = overview.records_overview  # type: ignore[assignment, method-assign]

urlpatterns = [
    path("account/", account_pages.account, name="account"),
    path("account/language/", account_pages.account_language, name="account_language"),
    path("docs/", documentation.doc_index, name="docs"),
    path("docs/<path:name>/", documentation.doc_page, name="doc"),
    path("accounts/sso/", account_pages.single_sign_on, name="single_sign_on"),
    path("admin/", operator_only(overview.site_overview), name="site_overview"),
    path(
        "admin/operations/",
        operator_only(operations.site_operations),
        name="site_operations",
    ),
    path(
        "admin/stop/",
        operator_only(suspensions.site_suspensions),
        name="site_suspensions",
    ),
    path(
        "admin/policy/",
        operator_only(policy.site_policy),
        name="site_policy",
    ),
    path(
        "admin/settings/",
        operator_only(settings.site_settings),
        name="site_settings",
    ),
    path("admin/ledger/", operator_only(ledger.site_ledger), name="site_ledger"),
    path(
        "admin/ledger/<uuid:team_id>/",
        operator_only(ledger.site_ledger_team),
        name="site_ledger_team",
    ),
]
