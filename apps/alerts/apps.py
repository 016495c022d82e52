"""The app's name for Django."""

from django.apps import AppConfig


class AlertsConfig(AppConfig):
    """Registers the app."""

    name = "apps.alerts"
