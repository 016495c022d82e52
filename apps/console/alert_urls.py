"""Addresses of the pages about alerts."""

from __future__ import annotations

from django.urls import path

from apps.console.views import alert_rules, alerts

urlpatterns = [
    path("", alerts.alert_list_page, name="alert_list"),
    path("bell/", alerts.alert_bell, name="alert_bell"),
    path("mails/", alert_rules.alert_mails_page, name="alert_mails"),
    path("rules/", alert_rules.alert_rules_page, name="alert_rules"),
    path("rules/<slug:alert_kind>/", alert_rules.alert_rule_edit, name="alert_rule"),
    path("test/", alert_rules.alert_test_view, name="alert_test"),
    path("<uuid:alert_id>/", alerts.alert_page, name="alert"),
    path(
        "<uuid:alert_id>/acknowledge/",
        alerts.alert_acknowledge_view,
        name="alert_acknowledge",
    ),
    path("<uuid:alert_id>/mute/", alerts.alert_mute_view, name="alert_mute"),
]
