"""The report of an export of a filter: a page for people, written as entries come.

The page around the table is one template, cut in two where the rows belong. Plans come
after the table, so only the entries that draw them are kept, and those of few runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.template.loader import render_to_string

from apps.audit.browsing.fact_words import summary_of
from apps.audit.bundles.contents import BundleEntry, entries_proven
from apps.audit.bundles.report_plans import PLAN_ACCEPTED, STATES, report_plans
from apps.audit.canonical_json import canonical_bytes
from apps.audit.checkpoints.format import SignedCheckpoint
from apps.audit.merkle.stored_tree import StoredTree
from apps.audit.models import LedgerExport

MAX_RUNS = 10
"""Plans are drawn if no more runs have one among the entries."""
NOT_AMONG_THEM = "end not among these entries"
"""Of a step: a filter may leave out how it ended."""
_ROWS = "<!-- rows -->"
"""Where the rows belong. Values are escaped, so none can hold it."""


class LedgerReport:
    """Writes the page of one export."""

    def __init__(
        self, export: LedgerExport, checkpoint: SignedCheckpoint, time: str
    ) -> None:
        self._export = export
        self._about = {
            "team_id": export.team_id,
            "filter": canonical_bytes(export.filter).decode(),
            "has_filter": bool(export.filter),
            "exported": time,
            "checkpoint": checkpoint,
            "max_runs": MAX_RUNS,
        }
        self._kept: dict[str, list[BundleEntry]] = {}
        """By run: entries with its plans, and with how their steps ended."""
        self._has_too_many_runs = False

    def start(self) -> bytes:
        """Return what comes before the rows."""
        return self._page().partition(_ROWS)[0].encode()

    def rows(self, entries: Iterable[BundleEntry]) -> bytes:
        """Return some entries as rows."""
        shown = [self._shown(entry) for entry in entries]
        context = {"entries": shown}
        return render_to_string("audit/_ledger_report_rows.html", context).encode()

    def end(self, tree: StoredTree) -> bytes:
        """Return what comes after the rows: the plans. Raises: as `entries_proven`."""
        runs = [(run, self._plans(tree, kept)) for run, kept in self._kept.items()]
        return self._page(runs).partition(_ROWS)[2].encode()

    def _page(self, runs: Sequence[tuple[str, Any]] = ()) -> str:
        about = {**self._about, "has_too_many_runs": self._has_too_many_runs}
        return render_to_string("audit/ledger_report.html", {**about, "runs": runs})

    def _shown(self, entry: BundleEntry) -> dict[str, Any]:
        document = entry.document
        self._keep(entry, document)
        return {
            "seq": entry.seq,
            "recorded": document["recorded"],
            "action": document["action"],
            "actor": document["actor"],
            "target": document["targets"][0],
            "outcome": document["outcome"],
            "summary": summary_of(document["data"]),
        }

    def _keep(self, entry: BundleEntry, document: dict[str, Any]) -> None:
        """Keep an entry if a plan is drawn from it."""
        run, is_plan = document["targets"][0]["id"], document["action"] == PLAN_ACCEPTED
        if self._has_too_many_runs or not (is_plan or document["action"] in STATES):
            return
        if run in self._kept:
            self._kept[run].append(entry)
        elif is_plan and len(self._kept) < MAX_RUNS:
            self._kept[run] = [entry]
        elif is_plan:
            self._has_too_many_runs = True
            self._kept.clear()

    def _plans(self, tree: StoredTree, kept: Sequence[BundleEntry]) -> Any:
        entries = entries_proven(tree, kept, has_texts=self._export.has_texts)
        return report_plans(entries, not_ended=NOT_AMONG_THEM)
