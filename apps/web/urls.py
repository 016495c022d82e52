"""Addresses of the pages about a person's own account, and of the operator's own."""

from django.contrib import admin
from django.urls import path

from apps.web import account_pages
from apps.web import admin_ledger as site_ledger
from apps.web import admin_policy as site_policies
from apps.web import admin_settings as site_settings
from apps.web import admin_status as site_operations
from apps.web import admin_suspensions as site_suspensions
from apps.web.documentation import pages as documentation

operator_only = admin.site.admin_view

urlpatterns = [
    path("account/", account_pages.account, name="account"),
    path("account/language/", account_pages.account_language, name="account_language"),
    path("docs/", documentation.doc_index, name="docs"),
    path("docs/<path:name>/", documentation.doc_page, name="doc"),
    path("accounts/sso/", account_pages.single_sign_on, name="single_sign_on"),
    path(
        "admin/operations/",
        operator_only(site_operations.site_operations),
        name="site_operations",
    ),
    path(
        "admin/stop/",
        operator_only(site_suspensions.site_suspensions),
        name="site_suspensions",
    ),
    path(
        "admin/policy/",
        operator_only(site_policies.site_policy),
        name="site_policy",
    ),
    path(
        "admin/settings/",
        operator_only(site_settings.site_settings),
        name="site_settings",
    ),
    path("admin/ledger/", operator_only(site_ledger.site_ledger), name="site_ledger"),
    path(
        "admin/ledger/<uuid:team_id>/",
        operator_only(site_ledger.site_ledger_team),
        name="site_ledger_team",
    ),
]
