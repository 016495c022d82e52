"""The app's name for Django."""

from django.apps import AppConfig


class AlertsConfig(AppConfig):
    """Registers the app."""

    name = "apps.alerts"

    def ready(self) -> None:
        """Teach webhooks for chats what alerts say."""
        from apps.alerts.words import chat_words
        from apps.webhooks.services import CHAT_WORDS

        CHAT_WORDS.update({"alert.opened": chat_words, "alert.closed": chat_words})
