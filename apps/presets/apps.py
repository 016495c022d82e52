from django.apps import AppConfig


class PresetsConfig(AppConfig):
    name = "apps.presets"
    label = "presets"
