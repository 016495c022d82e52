"""`manage.py audit_verify`: proves the ledger from the command line.

Exits with 0 if every chain holds, else non-zero, naming team, seq and kind of fault.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.audit.bundles.verifier import BundleRefused, summary_lines, verify_bundle
from apps.audit.chain import tagged
from apps.audit.checkpoints.verification import Copies
from apps.audit.rows import verify_rows
from apps.audit.signing import (
    PublicKeys,
    own_public_keys,
    public_pem,
    read_public_keys,
)
from apps.audit.verify import VerifyReport, team_ids, verify_subject, verify_team
from apps.core.errors import InvalidInput

SHOWN = 20
"""Refused copies that are named one by one."""


def moment(text: str) -> str:
    """Return an ISO 8601 time, in UTC unless it says otherwise, as entries hold it."""
    time = datetime.fromisoformat(text)
    time = time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
    return time.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Command(BaseCommand):
    """Verify the ledger of all teams, of one team, or of one run."""

    help = (
        "Verify the hash chains of the ledger, and the rows that are derived from "
        "them; exits non-zero if something is wrong."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the options."""
        parser.add_argument("--team", type=UUID, help="id of one team")
        parser.add_argument("--run", type=UUID, help="id of one run, or other subject")
        parser.add_argument(
            "--checkpoints",
            action="append",
            type=Path,
            default=[],
            metavar="FILE",
            help="copied checkpoints, or a log with them, to compare the chains with; "
            "may be given several times",
        )
        parser.add_argument(
            "--until",
            type=moment,
            metavar="TIME",
            help="pass over copied checkpoints made later than this (UTC)",
        )
        parser.add_argument(
            "--public-key",
            action="append",
            type=Path,
            default=[],
            metavar="FILE",
            help="believe checkpoints signed with these keys (PEM) and no others, "
            "instead of those of this site; may be given several times",
        )
        parser.add_argument(
            "--bundle",
            type=Path,
            metavar="FILE",
            help="verify the export of a run instead; reads no database",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Verify, print a line for each chain and fail if one does not hold."""
        if options["run"] and options["checkpoints"]:
            raise CommandError("--checkpoints speak of whole chains, not of one --run")
        if options["bundle"]:
            self._check_bundle(options)
            return
        keys = self._keys(options["public_key"])
        copies = Copies(keys or own_public_keys(), options["team"], options["until"])
        for path in options["checkpoints"]:
            self._read(copies, path)
        teams = [options["team"]] if options["team"] else team_ids()
        if options["run"]:
            reports = self._of_run(teams, options["run"], keys)
        else:
            teams = sorted({*teams, *copies.counts})
            reports = [_heard(verify_team(team, keys), copies) for team in teams]
        for report in reports:
            self._print(report)
        differences = sum(
            self._check_rows(report.team_id, options["run"]) for report in reports
        )
        self._fail_if_broken(reports, copies, differences)
        entries = sum(report.entries for report in reports)
        what = "chain holds" if len(reports) == 1 else "chains hold"
        self.stdout.write(f"{len(reports)} {what}, {entries} entries")

    def _check_bundle(self, options: dict[str, Any]) -> None:
        """Verify an export with the keys to believe, as its own verifier does."""
        paths = options["public_key"]
        try:
            keys = b"".join(path.read_bytes() for path in paths)
            own = "".join(public_pem(key) for key in own_public_keys().values())
            found = verify_bundle(
                options["bundle"],
                public_keys=keys if paths else own.encode(),
                team=options["team"],
                run=options["run"],
            )
        except (OSError, BundleRefused) as exc:
            raise CommandError(f"REFUSED {exc}") from exc
        for line in summary_lines(found):
            self.stdout.write(line)

    def _of_run(
        self, teams: Sequence[UUID], run: UUID, keys: PublicKeys | None
    ) -> list[VerifyReport]:
        reports = [verify_subject(team, run, keys, is_thorough=True) for team in teams]
        reports = [r for r in reports if r.entries or r.fault]
        if not reports:
            raise CommandError(f"no entries about {str(run)!r}")
        return reports

    def _keys(self, paths: Sequence[Path]) -> PublicKeys | None:
        """Return the keys to believe; None: those of this site."""
        if not paths:
            return None
        self.stdout.write("codes are not checked: that takes the site's own keys")
        try:
            return read_public_keys(path.read_bytes() for path in paths)
        except (OSError, InvalidInput) as exc:
            raise CommandError(f"--public-key: {exc}") from exc

    def _read(self, copies: Copies, path: Path) -> None:
        """Compare a file's checkpoints. One without any is taken for a mistake."""
        before, refused = copies.total, len(copies.refused)
        try:
            with path.open(encoding="utf-8", errors="replace") as lines:
                copies.read(str(path), lines)
        except OSError as exc:
            raise CommandError(f"--checkpoints: {exc}") from exc
        count = copies.total - before
        if not count and len(copies.refused) == refused:
            raise CommandError(f"--checkpoints: there are none in {str(path)!r}")
        self.stdout.write(f"{path}: {count} checkpoints compared")

    def _print(self, report: VerifyReport) -> None:
        counts = f"{report.entries} entries, {report.bodies} bodies"
        line = f"team {report.team_id}: {counts}, {report.erased} erased"
        line += f", {report.checkpoints} checkpoints, {report.macs} codes"
        if report.fault is None:
            self.stdout.write(
                f"{line}, ends with {report.end.seq} {tagged(report.end.hash)}"
            )
            return
        for fault in report.faults:
            self.stderr.write(
                f"{line}; FAULT {fault.kind} at seq {fault.seq}: {fault.detail}"
            )
            line = f"team {report.team_id}"
        more = report.fault_count - len(report.faults)
        if more:
            self.stderr.write(f"{line}; {more} further faults")

    def _check_rows(self, team_id: UUID, run_id: UUID | None) -> int:
        """Say what rows differ from the entries; return how many places."""
        report = verify_rows(team_id, run_id)
        if report.checked.total():
            counts = ", ".join(f"{n} {kind}" for kind, n in report.checked.items())
            self.stdout.write(f"team {team_id}: {counts} derived anew")
        for row, column, stored, derived in report.faults:
            values = f"stored {stored}, derived {derived}"
            self.stderr.write(f"team {team_id}: row {row}: {column}: {values}")
        return report.differences

    def _fail_if_broken(
        self, reports: Sequence[VerifyReport], copies: Copies, differences: int
    ) -> None:
        for refused in copies.refused[:SHOWN]:
            self.stderr.write(refused)
        broken = sum(not report.is_intact for report in reports)
        words = [f"{broken} of {len(reports)} chains do not hold"] if broken else []
        if copies.refused:
            words.append(f"{len(copies.refused)} copied checkpoints are not genuine")
        if differences:
            words.append(f"{differences} places of rows differ from the ledger")
        if words:
            raise CommandError(", ".join(words))


def _heard(report: VerifyReport, copies: Copies) -> VerifyReport:
    """Return `report` with the fault that copies know of."""
    return report.with_fault(copies.faults.get(report.team_id))
