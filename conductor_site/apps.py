from django.apps import AppConfig


class SiteConfig(AppConfig):
    name = "conductor_site"
    label = "site"

    def ready(self) -> None:
        """Register the checks of the configuration."""
        from conductor_site import checks  # noqa: F401  (they need the other apps)
