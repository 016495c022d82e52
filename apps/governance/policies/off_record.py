"""Keeps sensitive data off the record: placeholders replace it before a run begins.

Whatever a run is made of is recorded, so what the record may not have must be gone from
its order first. No process has the values afterwards, this one neither.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Sequence
from dataclasses import replace

from django.utils import timezone

from apps.governance.errors import PolicyDenied
from apps.governance.policies.combination import evaluate_all
from apps.governance.policies.evaluation import RunFacts
from apps.governance.policies.run_facts import SHORT_TEXTS, Policies, patterns_of
from apps.governance.policies.run_texts import order_redacted, order_texts
from apps.governance.sensitive_data.classification import Classification
from apps.governance.sensitive_data.own_patterns import OwnPattern
from apps.governance.sensitive_data.redaction import Redactor
from apps.runs.types import RecordRedaction, RunOrder

logger = logging.getLogger(__name__)


async def order_off_record(
    order: RunOrder, policies: Policies, facts: RunFacts
) -> RunOrder:
    """Return an order without what the policies keep off the record.

    A run that is denied gets on record too. As a rule in doubt denies, all kinds that
    any rule keeps off the record are then replaced. Raises: PolicyDenied if that is not
    possible; nothing of the run may be recorded then.
    """
    outcome = evaluate_all(policies, facts, None, timezone.now())
    kinds = outcome.off_record | (_all_kinds(policies) if outcome.is_denied else set())
    if not kinds:
        return order
    if facts.classification is None:
        raise PolicyDenied("; ".join(outcome.reasons))
    given = order, facts.classification, kinds, patterns_of(policies)
    try:
        if sum(map(len, facts.texts)) <= SHORT_TEXTS:
            return _redacted(*given)
        return await asyncio.to_thread(_redacted, *given)
    except Exception as exc:  # the boundary: what is not replaced is not recorded
        logger.exception("sensitive data could not be kept off the record")
        raise PolicyDenied(
            f"{', '.join(sorted(kinds))} could not be kept off the record "
            f"({type(exc).__name__}): {'; '.join(outcome.reasons)}"
        ) from exc


def _all_kinds(policies: Policies) -> set[str]:
    return {
        kind
        for policy in policies
        for rule in policy.document.rules
        if rule.is_off_record and rule.mode == "enforce"
        for kind in rule.kinds_redacted or policy.document.kinds
    }


def _redacted(
    order: RunOrder,
    found: Classification,
    kinds: Collection[str],
    patterns: Sequence[OwnPattern],
) -> RunOrder:
    redactor = Redactor(order_texts(order))
    redactor.patterns = patterns
    replaced = {name: n for name, n in found.findings.items() if name in kinds}
    return replace(
        order_redacted(order, redactor, kinds),
        redaction=RecordRedaction(found.data_class, replaced) if replaced else None,
    )
