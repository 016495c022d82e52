from django.apps import AppConfig


class RestConfig(AppConfig):
    name = "apps.rest"
    label = "rest"
