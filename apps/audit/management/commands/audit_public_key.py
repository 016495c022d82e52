"""`manage.py audit_public_key`: what others need to check this site's checkpoints."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from apps.audit.signing import own_public_keys, public_pem


class Command(BaseCommand):
    """Print the public keys of checkpoints; the first one signs now."""

    help = "Print the public keys that verify checkpoints, in PEM format."

    def handle(self, *args: Any, **options: Any) -> None:
        """Print each key below its id."""
        for key_id, key in own_public_keys().items():
            self.stdout.write(f"{key_id}\n{public_pem(key)}", ending="")
