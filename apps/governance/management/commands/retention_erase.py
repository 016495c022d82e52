"""`manage.py retention_erase`: erases content past its retention period, now."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from apps.governance.services import conversations_expire, retention_erase


class Command(BaseCommand):
    """Does for all teams at once what one process of the site does every hour."""

    help = (
        "Erase the texts that teams have kept for as long as they want to, and delete "
        "conversations that are not used any more where a team wants it. Entries of "
        "the ledger stay, and so does what is on legal hold. Safe to call at any time."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        """Erase, and say how much."""
        erased = list(retention_erase())
        texts = sum(step.texts for step in erased)
        teams = len({step.team_id for step in erased if step.texts})
        self.stdout.write(f"{texts} texts of {teams} teams are erased")
        deleted = sum(step.conversations for step in conversations_expire())
        self.stdout.write(f"{deleted} conversations are deleted")
