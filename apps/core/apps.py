from django.apps import AppConfig

from apps.core.keyring import require_usable_keys
from apps.core.logs import configure_logs


class CoreConfig(AppConfig):
    name = "apps.core"
    label = "core"

    def ready(self) -> None:
        """Refuse to start with keys that nothing could be sealed with."""
        require_usable_keys()
        configure_logs()
