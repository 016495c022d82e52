"""Addresses of what tells people and programs that something happened."""

from __future__ import annotations

from django.urls import URLPattern, path

from apps.rest.resources import alerts, webhooks

notice_patterns: list[URLPattern] = [
    path("webhooks/", webhooks.Webhooks.as_view(), name="webhooks"),
    path("webhooks/<uuid:webhook_id>/", webhooks.OneWebhook.as_view(), name="webhook"),
    path(
        "webhooks/<uuid:webhook_id>/secret/",
        webhooks.WebhookSecret.as_view(),
        name="webhook_secret",
    ),
    path(
        "webhooks/<uuid:webhook_id>/test/",
        webhooks.WebhookTest.as_view(),
        name="webhook_test",
    ),
    path(
        "webhooks/<uuid:webhook_id>/deliveries/",
        webhooks.WebhookDeliveries.as_view(),
        name="webhook_deliveries",
    ),
    path(
        "webhooks/<uuid:webhook_id>/deliveries/<uuid:delivery_id>/resend/",
        webhooks.WebhookResend.as_view(),
        name="webhook_resend",
    ),
    path("alerts/", alerts.Alerts.as_view(), name="alerts"),
    path("alerts/<uuid:alert_id>/", alerts.OneAlert.as_view(), name="alert"),
    path(
        "alerts/<uuid:alert_id>/acknowledge/",
        alerts.AlertAcknowledge.as_view(),
        name="alert_acknowledge",
    ),
    path("alerts/<uuid:alert_id>/mute/", alerts.AlertMute.as_view(), name="alert_mute"),
    path("alert-rules/", alerts.AlertRules.as_view(), name="alert_rules"),
    path(
        "alert-rules/<slug:alert_kind>/",
        alerts.OneAlertRule.as_view(),
        name="alert_rule",
    ),
]
