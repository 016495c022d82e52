"""`manage.py site_policy_show`: print the rules that bind all teams."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from apps.governance.management.policy_files import policy_file_text
from apps.governance.selectors import site_policy_newest


class Command(BaseCommand):
    """Prints the site policy in the form that `site_policy_set` reads."""

    help = "Print the rules that bind all teams, as JSON. The version goes to stderr."

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the rules."""
        row = site_policy_newest()
        self.stdout.write(policy_file_text(row))
        whose = f"{row.version}, {row.actor_name}" if row else "0"
        self.stderr.write(f"site policy, version {whose}")
