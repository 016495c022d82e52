"""Django's entry for the accounts app."""

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    """People, teams and API keys."""

    name = "apps.accounts"
    label = "accounts"
