"""The app's name for Django."""

from django.apps import AppConfig


class InsightsConfig(AppConfig):
    """Registers the app."""

    name = "apps.insights"
