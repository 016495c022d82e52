"""Verifies the entries of one run, as its page does; faults are recorded.

Only they are: whoever reads a run may verify it, as often as they like.
"""

from __future__ import annotations

import logging
import time
from uuid import UUID

from django.db import DatabaseError, transaction

from apps.audit.browsing.verified_entries import verified_facts, verified_record
from apps.audit.types import Actor
from apps.audit.verify import VerifyReport, verify_subject
from apps.core.errors import ConductorError

logger = logging.getLogger(__name__)


def run_check(*, team_id: UUID, run_id: UUID, actor: Actor) -> VerifyReport:
    """Verify the entries of a run; if they have faults, record and log that.

    A chain may be damaged so that nothing can be appended to it. Then the log alone
    has the faults, and they are returned all the same.
    """
    start = time.monotonic()
    found = verify_subject(team_id, run_id)
    if found.fault is None:
        return found
    facts = verified_facts(found, time.monotonic() - start)
    told = found.fault.kind, found.fault.seq
    logger.error("ledger: run %s does not hold: %s at %s", run_id, *told)
    try:
        with transaction.atomic():
            verified_record(team_id, actor, {"run_id": str(run_id), **facts})
    except (DatabaseError, ConductorError):
        logger.exception("ledger: the faults of run %s cannot be recorded", run_id)
    return found
