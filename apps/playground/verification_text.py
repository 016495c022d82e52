"""Says in words what a verification found. Never more than was checked."""

from __future__ import annotations

from dataclasses import dataclass

from apps.audit.rows import RowReport
from apps.audit.verify import VerifyReport


@dataclass(frozen=True, slots=True)
class VerificationText:
    """The result of a verification, for people."""

    is_intact: bool
    words: str
    detail: str = ""


def verification_text(report: VerifyReport, rows: RowReport) -> VerificationText:
    """Return what was found in the chain, and in the rows derived from it."""
    if report.fault is not None:
        kind = str(report.fault.kind).replace("_", " ")
        return VerificationText(
            is_intact=False,
            words=f"Entry #{report.fault.seq} is not what was recorded: {kind}",
            detail=report.fault.detail,
        )
    if not report.entries:
        return VerificationText(False, "The ledger holds no entry of this run")
    if rows.faults:
        row, column, stored, derived = rows.faults[0]
        return VerificationText(
            is_intact=False,
            words="The chain is intact, but a row says something else than its entries",
            detail=f"{row}: {column}: stored {stored}, derived {derived}",
        )
    noun = "entry" if report.entries == 1 else "entries"
    erased = f"{report.erased} erased on record." if report.erased else ""
    return VerificationText(
        is_intact=True,
        words=f"{report.entries} {noun} verified, chain intact",
        detail=f"{report.bodies} texts match their digests. {erased}".strip(),
    )
