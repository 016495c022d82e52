"""Reads the facts of a run that its policies depend on, each at the first need."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from channels.db import database_sync_to_async

from apps.accounts.selectors import role_of
from apps.core.data_classes import DataClassName, data_class_read
from apps.governance.policies.evaluation import RunFacts
from apps.governance.policies.run_texts import order_texts
from apps.governance.sensitive_data.classification import Classification, classify
from apps.governance.sensitive_data.detection import KINDS
from apps.governance.sensitive_data.own_patterns import OwnPattern
from apps.governance.types import PolicyInForce
from apps.runs.planning.model_resolver import ResolvedModel
from apps.runs.types import RunOrder

logger = logging.getLogger(__name__)
Policies = tuple[PolicyInForce, ...]
API_KEY_ROLE = "api_key"
SHORT_TEXTS = 5_000
"""Characters that are searched for sensitive data within some milliseconds."""


class RunFactsReader:
    """The facts of one run. For the event loop: never blocks it.

    A fact that cannot be determined stays unknown: a rule that needs it denies by name.
    """

    def __init__(self, order: RunOrder, resolved: ResolvedModel) -> None:
        self._order = order
        self._client = order.mirrors or order
        self._patterns: tuple[OwnPattern, ...] = ()
        self._searched = 0
        """How many of the texts the classification is of."""
        self._known = RunFacts(
            role="",
            member_id=self._client.user_id,
            key_id=self._client.api_key_id,
            tier=resolved.tier,
            source=self._client.source,
            texts=order_texts(order),
            worker_tags={w.name: w.tags for w in resolved.pool.callable_workers},
        )

    def add_texts(self, texts: Iterable[str]) -> None:
        """Take texts that were written while the run goes on."""
        known = self._known.texts
        if new := tuple(dict.fromkeys(text for text in texts if text not in known)):
            self._known = replace(self._known, texts=(*known, *new))

    async def read(self, policies: Policies) -> RunFacts:
        """Return the facts; role and data class only if something needs them."""
        patterns = patterns_of(policies)
        if self._known.classification is None or patterns != self._patterns:
            self._searched = 0
        is_new = self._searched < len(self._known.texts)
        if is_new and any(each.needs_classes for each in policies):
            names = dict.fromkeys(pattern.name for pattern in patterns)
            found = await self._classify(patterns)
            # Steps that run side by side may have added texts meanwhile.
            self._known = replace(
                self._known, classification=found, kinds=(*KINDS, *names)
            )
            self._patterns = patterns
        if not self._known.role and any(each.document.needs_roles for each in policies):
            role = await self._read_role()
            self._known = replace(self._known, role=role)
        return self._known

    async def _classify(self, patterns: Sequence[OwnPattern]) -> Classification | None:
        """Look for sensitive data in the texts that were not searched before.

        Long ones are searched beside the event loop.
        """
        texts, searched = self._known.texts, self._searched
        try:
            found = await _classified(texts[searched:], self._order, patterns)
            before = self._known.classification
            if searched == 0 or before is None:
                found = with_redacted(found, self._order)
            else:
                found = found.joined(before)
            self._searched = max(self._searched, len(texts))
            return found
        except Exception:  # the boundary: a rule that needs it denies
            logger.exception("a prompt could not be searched for sensitive data")
            return None

    async def _read_role(self) -> str:
        user_id = self._client.user_id
        if self._client.api_key_id is not None or user_id is None:
            return API_KEY_ROLE
        team_id = self._order.team_id
        try:
            role: str = await database_sync_to_async(role_of)(team_id, user_id)
        except Exception:  # the boundary: a rule that needs it denies
            logger.exception("the role of a member could not be read")
            return ""
        return role


async def order_classified(
    order: RunOrder, patterns: Sequence[OwnPattern]
) -> Classification:
    """Return the class of all texts of an order."""
    return await _classified(order_texts(order), order, patterns)


async def _classified(
    texts: Sequence[str], order: RunOrder, patterns: Sequence[OwnPattern]
) -> Classification:
    given = texts, stated_classes(order), patterns
    if sum(map(len, texts)) <= SHORT_TEXTS:
        return classify(*given)
    return await asyncio.to_thread(classify, *given)


def patterns_of(policies: Policies) -> tuple[OwnPattern, ...]:
    """Return the kinds of sensitive data that the policies define themselves."""
    return tuple(each for policy in policies for each in policy.document.patterns)


def stated_classes(order: RunOrder) -> tuple[DataClassName, ...]:
    """Return the data classes that were stated for a run, or found before it began."""
    found = "" if order.redaction is None else order.redaction.data_class
    stated = (order.restrictions.data_class, order.key_data_class, found)
    return tuple(data_class_read(name, param="data_class") for name in stated if name)


def with_redacted(found: Classification, order: RunOrder) -> Classification:
    """Add what was found in a prompt before placeholders replaced it on record."""
    if order.redaction is None:
        return found
    counts = Counter(order.redaction.findings) + Counter(found.findings)
    return replace(found, findings=dict(counts))
