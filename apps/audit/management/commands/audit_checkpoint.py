"""`manage.py audit_checkpoint`: signs and copies the ends of all chains now."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from apps.audit.checkpoints.creation import checkpoints_create
from apps.audit.checkpoints.export import CheckpointExporter


class Command(BaseCommand):
    """Make the checkpoints that are due at the next moment anyway."""

    help = "Sign the end of every chain that has grown, and copy what is not copied."

    def handle(self, *args: Any, **options: Any) -> None:
        """Do it and say how many there were."""
        made = checkpoints_create()
        try:
            copied = CheckpointExporter().copy_all()
        except OSError as exc:
            raise CommandError(f"CHECKPOINT_DIR: {exc}") from exc
        where = settings.CHECKPOINT_DIR or "the log alone"
        self.stdout.write(f"{made} checkpoints made, {copied} copied to {where}")
