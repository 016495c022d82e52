"""Does what one process does for the whole site, in a thread of each serving process.

Each looks now and then, and the one that has been there for longest does it. Whatever
is not done this time, or done twice because the leader has just changed, is no harm.
Between two steps a thread gives way to requests: `apps/core/background/`.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator

from django.db import DEFAULT_DB_ALIAS, DatabaseError, InterfaceError, connections

from apps.alerts.evaluation import alerts_evaluate, alerts_forget
from apps.alerts.mails import alert_mails_send
from apps.audit.exports.jobs import exports_expire
from apps.batches.services import files_expire
from apps.budgets.crossings import budget_crossings_record
from apps.core.background.pacing import BackgroundWork
from apps.core.database_outage import is_outage
from apps.evaluation.ab.jobs import ab_tests_end
from apps.evaluation.production.counting import outcomes_count
from apps.governance.services import (
    attachments_expire,
    conversations_expire,
    retention_erase,
    reviews_feed,
)
from apps.insights.rollup import insights_watch
from apps.pools.services import price_list_refresh
from apps.runs.execution.executor import Executor
from apps.runs.selectors import is_leader
from apps.runs.services import runs_index, usage_watch
from apps.sharing.services import share_links_forget
from apps.training.adaptation.jobs import erased_runs_forget, planners_adapt
from apps.training.conductor.folders import folders_sweep
from apps.webhooks.sending import deliveries_forget

logger = logging.getLogger(__name__)
BEGIN_S = 60.0
"""A process that has just started has other things to do."""
EVERY_S = 3600.0
QUEUE_EVERY_S = 5.0
"""So soon after its end a run is in the review queue."""
ALERT_EVERY_S = 15.0
SUM_EVERY_S = 60.0
END_S = 5.0
"""How long to wait for the step in progress; a database may hang."""


def _refresh_prices() -> Iterator[object]:
    yield price_list_refresh()


Jobs = tuple[tuple[str, Callable[[], Iterator[object]]], ...]
JOBS: Jobs = (
    ("content past its retention period was not erased", retention_erase),
    ("planners did not forget runs that were erased", erased_runs_forget),
    ("conversations that are not used were not deleted", conversations_expire),
    ("expired files are not deleted", files_expire),
    ("attachments that no run has are not deleted", attachments_expire),
    ("expired exports are not deleted", exports_expire),
    ("share links that ended long ago are not deleted", share_links_forget),
    ("old deliveries of webhooks are not deleted", deliveries_forget),
    ("folders of conductors' trainings are not deleted", folders_sweep),
    ("old alerts are not deleted", alerts_forget),
    ("the price list is not refreshed", _refresh_prices),
)
"""What the log says if one cannot be done, and what does it, step by step."""
FREQUENT_JOBS: Jobs = (
    ("judgements of answers were not credited to workers", outcomes_count),
    ("planners did not learn from what was judged", planners_adapt),
    ("A/B tests that are over were not ended", ab_tests_end),
    ("runs were not queued for review", reviews_feed),
    ("crossed budgets were not recorded", budget_crossings_record),
)
"""Those that people wait for."""


ALERT_JOBS: Jobs = (
    ("alerts were not opened or closed", alerts_evaluate),
    ("mails about alerts were not sent", alert_mails_send),
)
"""In a thread of their own: a mail server may take its time."""


SUM_JOBS: Jobs = (
    ("usage is not summed", usage_watch().keep),
    ("insights are not summed", insights_watch().keep),
)
"""Those that take longer, and delay none of the others."""


SEARCH_JOBS: Jobs = (("runs are not indexed for the search", runs_index),)
"""People wait for it, and it takes hours once: when this version first sees the runs of
a large site."""


class MaintenanceThread:
    """The thread that does it."""

    def __init__(
        self,
        executor: Executor,
        jobs: Jobs | None = None,
        *,
        every_s: float | None = None,
    ) -> None:
        self._lease_keeper = executor.lease_keeper
        self._jobs = JOBS if jobs is None else jobs
        self._begin_s = BEGIN_S if every_s is None else every_s
        self._every_s = EVERY_S if every_s is None else every_s
        self._stop = threading.Event()
        self._work = BackgroundWork(self._stop.wait)
        self._thread = threading.Thread(
            target=self._run, name="maintenance", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Stop after the step in progress."""
        self._stop.set()
        self._thread.join(END_S)

    def look(self) -> None:
        """Do every chore, if this process is the one to do it."""
        try:
            if is_leader(self._lease_keeper.lease_id):
                with self._work.here():
                    for complaint, job in self._jobs:
                        self._do(complaint, job)
        except (DatabaseError, InterfaceError) as exc:
            logger.warning("maintenance: the database refused or is away: %s", exc)
        finally:
            connections[DEFAULT_DB_ALIAS].close()

    def _do(self, complaint: str, job: Callable[[], Iterator[object]]) -> None:
        try:
            for _ in job():
                if self._work.step_done():
                    return
        except Exception as exc:  # the boundary of a thread
            if is_outage(exc):
                raise
            # The next look may do better; the other jobs get their turn now.
            logger.exception("maintenance: %s this time", complaint)

    def _run(self) -> None:
        wait_s = self._begin_s
        while not self._stop.wait(wait_s):
            self.look()
            wait_s = self._every_s
