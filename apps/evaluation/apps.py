"""The app's name for Django."""

from django.apps import AppConfig


class EvaluationConfig(AppConfig):
    """Registers the app."""

    name = "apps.evaluation"
