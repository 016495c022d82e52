"""Addresses of the pages about alerts."""

from __future__ import annotations

from django.urls import path

from apps.console.alerts import rule_views, views

urlpatterns = [
    path("", views.alert_list_page, name="alert_list"),
    path("bell/", views.alert_bell, name="alert_bell"),
    path("mails/", rule_views.alert_mails_page, name="alert_mails"),
    path("rules/", rule_views.alert_rules_page, name="alert_rules"),
    path("rules/<slug:alert_kind>/", rule_views.alert_rule_edit, name="alert_rule"),
    path("test/", rule_views.alert_test_view, name="alert_test"),
    path("<uuid:alert_id>/", views.alert_page, name="alert"),
    path(
        "<uuid:alert_id>/acknowledge/",
        views.alert_acknowledge_view,
        name="alert_acknowledge",
    ),
    path("<uuid:alert_id>/mute/", views.alert_mute_view, name="alert_mute"),
]
