"""Django's entry for the pools app."""

from django.apps import AppConfig


class PoolsConfig(AppConfig):
    """Workers, conductors, pools."""

    name = "apps.pools"
    label = "pools"
