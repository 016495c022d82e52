"""`manage.py audit_export`: writes the record of a run as a file that proves itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.audit.bundles.export import bundle_create
from apps.audit.bundles.verifier import summary_lines
from apps.audit.selectors import chain_team_ids, first_seq_of
from apps.audit.types import Actor
from apps.core.errors import ConductorError

OPERATOR = Actor("service", "operator", "Operator")


class Command(BaseCommand):
    """Export one run of any team."""

    help = (
        "Write the entries of a run with their texts, proofs, a signed checkpoint and "
        "a verifier into a ZIP file. The export is recorded in the team's ledger."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the options."""
        parser.add_argument("--run", type=UUID, required=True, help="id of the run")
        parser.add_argument(
            "--out", type=Path, required=True, metavar="FILE", help="the new ZIP file"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Write it and say what it holds."""
        run_id, path = options["run"], options["out"]
        team_id = _team_of(run_id)
        if path.exists():
            raise CommandError(f"--out: {str(path)!r} exists")
        try:
            made = bundle_create(team_id=team_id, run_id=run_id, actor=OPERATOR)
            path.write_bytes(made.content)
        except (ConductorError, OSError) as exc:
            raise CommandError(str(exc)) from exc
        for line in summary_lines(made.summary):
            self.stdout.write(line)


def _team_of(run_id: UUID) -> UUID:
    for team_id in chain_team_ids():
        if first_seq_of(team_id, run_id) is not None:
            return team_id
    raise CommandError(f"no entries about {str(run_id)!r}")
