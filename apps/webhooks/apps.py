"""The app's name for Django."""

from django.apps import AppConfig


class WebhooksConfig(AppConfig):
    """Registers the app."""

    name = "apps.webhooks"
