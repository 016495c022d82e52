"""`manage.py run_cancel`: cancel a run in whatever process it executes."""

from __future__ import annotations

import uuid
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.audit.types import Actor
from apps.core.errors import ConductorError
from apps.runs.models import Run
from apps.runs.services import run_cancel

ACTOR = Actor("service", "run_cancel", "the operator")
REASON = "cancelled by the operator"


class Command(BaseCommand):
    """Cancels one run of any team; its last entry names the operator."""

    help = (
        "Cancel a run: its calls are closed, and it ends as cancelled. Exits with 1 if "
        "there is no such run, if it was over, or if it does not end within seconds."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the arguments."""
        parser.add_argument("run_id", type=uuid.UUID, help="id of the run")
        parser.add_argument("--reason", default=REASON, help="why; shown and recorded")

    def handle(self, *args: Any, **options: Any) -> None:
        """Cancel it and say so."""
        run_id = options["run_id"]
        run = Run.objects.across_teams().filter(id=run_id).first()
        if run is None:
            raise CommandError(f"there is no run {str(run_id)!r}")
        if run.is_over:
            raise CommandError(f"run {run_id} was over already: {run.state}")
        try:
            is_cancelled = run_cancel(
                run_id=run.id,
                team_id=run.team_id,
                actor=ACTOR,
                reason=options["reason"][:200],
            )
        except ConductorError as exc:
            raise CommandError(exc.message) from exc
        if not is_cancelled:
            raise CommandError(f"run {run_id} has not been cancelled; look at its page")
        self.stdout.write(f"run {run_id} of team {run.team.slug} is cancelled")
