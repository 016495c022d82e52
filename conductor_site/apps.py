from django.apps import AppConfig
from django.db.models.signals import pre_migrate

from conductor_site.sqlite3.conversion import convert_before_migrations


class SiteConfig(AppConfig):
    name = "conductor_site"
    label = "site"

    def ready(self) -> None:
        """Register the checks of the configuration and what precedes migrations."""
        from conductor_site import checks  # noqa: F401  (they need the other apps)

        pre_migrate.connect(convert_before_migrations)
