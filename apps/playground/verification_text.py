"""Says in words what a verification found. Never more than was checked."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext, ngettext

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
            words=gettext("Entry #{number} is not what was recorded: {fault}").format(
                number=report.fault.seq, fault=kind
            ),
            detail=report.fault.detail,
        )
    if not report.entries:
        return VerificationText(False, gettext("The ledger holds no entry of this run"))
    if rows.faults:
        row, column, stored, derived = rows.faults[0]
        return VerificationText(
            is_intact=False,
            words=gettext(
                "The chain is intact, but a row says something else than its entries"
            ),
            detail=gettext("{place}: stored {stored}, derived {derived}").format(
                place=f"{row}: {column}", stored=stored, derived=derived
            ),
        )
    erased = gettext("{number} erased on record.").format(number=report.erased)
    texts = gettext("{number} texts match their digests.").format(number=report.bodies)
    return VerificationText(
        is_intact=True,
        words=ngettext(
            "{number} entry verified, chain intact",
            "{number} entries verified, chain intact",
            report.entries,
        ).format(number=report.entries),
        detail=f"{texts} {erased}" if report.erased else texts,
    )
