"""Verifies chains in the background, in a thread of each serving process.

It works half of the time at most: runs in the same process have the other half.
"""

from __future__ import annotations

import logging
import threading
import time

from django.db import DEFAULT_DB_ALIAS, DatabaseError, InterfaceError, connections

from apps.audit.browsing.full_checks import (
    full_check_claim,
    full_check_steps,
    full_checks_order_due,
)

logger = logging.getLogger(__name__)

LOOK_S = 2.0
"""Between two looks for an order; somebody is watching the page."""
DUE_S = 60.0
"""Between two looks for chains that are due, and before the first."""
END_S = 5.0
"""How long to wait for the page in progress; a database may hang."""


class FullCheckThread:
    """The thread that does it."""

    def __init__(self) -> None:
        self._stop = threading.Event()
        self._thread = threading.Thread(
            target=self._run, name="full-checks", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Give back what is not finished, and stop."""
        self._stop.set()
        self._thread.join(END_S)

    def look(self, *, orders_due: bool = False) -> None:
        """Do the orders there are, and with `orders_due` those that are due."""
        try:
            while not self._stop.is_set():
                if orders_due:
                    full_checks_order_due()
                if not self._work():
                    return
        except (DatabaseError, InterfaceError) as exc:
            logger.warning("full checks: the database is away: %s", exc)
        except Exception:  # the boundary of a thread: the next look may do better
            logger.exception("full checks: none this time")
        finally:
            connections[DEFAULT_DB_ALIAS].close()

    def _work(self) -> bool:
        """Do one order; False: there was none."""
        order = full_check_claim()
        if order is None:
            return False
        steps, begin = full_check_steps(order), time.monotonic()
        for _ in steps:
            if self._stop.wait(time.monotonic() - begin):
                steps.close()
                break
            begin = time.monotonic()
        return True

    def _run(self) -> None:
        due_at = time.monotonic() + DUE_S
        while not self._stop.wait(LOOK_S):
            is_time = time.monotonic() >= due_at
            self.look(orders_due=is_time)
            if is_time:
                due_at = time.monotonic() + DUE_S
