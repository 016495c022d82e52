"""Whatever is sent to whichever operation, the API keeps the contract of its schema.

Schemathesis makes good and bad requests of the schema; half of the ids in them are made
to be ids that exist. `CONDUCTOR_FUZZ_CASES` says how many cases there are in all.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import Any

import pytest
import schemathesis
from django.core.wsgi import get_wsgi_application
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from apps.accounts.models import ApiKey, Invitation, Membership, Scope, Team
from apps.accounts.services import api_key_cache_clear
from apps.budgets.models import Budget
from apps.budgets.rate_limits import rates_clear
from apps.pools.models import Conductor, Credential, Pool, Worker
from apps.runs.models import Run
from tests.conftest import Site
from tests.factories import issue_key
from tests.rest.things import make_things

pytestmark = pytest.mark.slow

CASES = int(os.environ.get("CONDUCTOR_FUZZ_CASES", "1200"))
IS_LONG = "CONDUCTOR_FUZZ_CASES" in os.environ
CHECKS: list[Any] = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
ROWS: dict[str, Any] = {
    "key_id": ApiKey,
    "api_key_id": ApiKey,
    "invitation_id": Invitation,
    "credential_id": Credential,
    "worker_id": Worker,
    "worker_ids": Worker,
    "fallback_id": Worker,
    "conductor_id": Conductor,
    "pool_id": Pool,
    "budget_id": Budget,
    "run_id": Run,
}
"""Where an id of which table stands, in an address or a body."""
MODELS = ("conductor-mini", "conductor-ultra", "worker/sim-delta")
MODES = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)


class Reality:
    """Makes cases meet what exists, so that they get behind the first check."""

    def __init__(self, site: Site) -> None:
        self._team = site.cast.team
        self._site = site
        # Revoking itself would end the test.
        self.key = issue_key(self._team, name="Fuzz", scopes=list(Scope))

    def meet(self, case: Any, pick: Callable[[int], int]) -> None:
        """Change a case in place; `pick(n)` chooses a number below n."""
        if pick(8):
            case.headers.pop("X-Team", None)
        if case.headers.get("If-Match") is not None and pick(2):
            case.headers["If-Match"] = "*"
        if pick(2):
            for name in list(case.path_parameters):
                case.path_parameters[name] = self._id(name, pick, default="1")
        if isinstance(case.body, dict):
            self._meet_body(case.body, pick)

    def restore(self) -> None:
        """Undo what would make all further cases alike."""
        team = Team.objects.filter(id=self._team.id)
        team.update(requests_per_minute=None, tokens_per_minute=None)
        Budget.objects.for_team(self._team.id).delete()
        api_key_cache_clear()
        rates_clear()

    def _meet_body(self, body: dict[str, Any], pick: Callable[[int], int]) -> None:
        for name, value in list(body.items()):
            if name == "base_url" and isinstance(value, str):
                # Never a real host: what is tried here is not the network.
                body[name] = self._site.simulator_url
            elif name == "model" and pick(2):
                body[name] = MODELS[pick(len(MODELS))]
            elif name == "worker_ids" and pick(2):
                body[name] = [self._id(name, pick)]
            elif (name in ROWS or name == "user_id") and pick(2):
                body[name] = self._id(name, pick)

    def _id(self, name: str, pick: Callable[[int], int], default: str = "") -> str:
        if name == "user_id":
            rows = Membership.objects.for_team(self._team.id)
            ids = list(rows.order_by("id").values_list("user_id", flat=True))
        elif name in ROWS:
            rows = ROWS[name].objects.for_team(self._team.id)
            rows = rows.exclude(id=self.key.row.id).order_by("id")
            ids = list(rows.values_list("id", flat=True))
        else:
            return default
        return str(ids[pick(len(ids))]) if ids else default


@pytest.fixture
def reality(site):
    site.cast.team.pools.all().delete()
    site.cast.team.workers.all().delete()
    site.cast.team.conductors.all().delete()
    make_things(site.cast, site.simulator_url)
    return Reality(site)


def test_the_api_keeps_its_contract_whatever_is_sent(reality):
    schema = schemathesis.openapi.from_wsgi("/api/v1/schema/", get_wsgi_application())
    operations = [each.ok() for each in schema.get_all_operations()]  # type: ignore[union-attr]
    assert len(operations) > 50
    share = max(4, CASES // len(operations))
    for operation in operations:
        try_edges(operation, reality, share // 2)
        for mode in MODES:
            try_anything(operation, mode, reality, share // 4)
        reality.restore()


def try_edges(operation: Any, reality: Reality, count: int) -> None:
    """Send cases from the edges of what the document allows, and just beyond them."""
    chance = random.Random(None if IS_LONG else operation.label)
    schema = operation.schema
    cases = list(
        schema.iter_coverage_cases(
            operation,
            generation_modes=list(MODES),
            generation_config=schema.config.generation,
        )
    )
    for case in chance.sample(cases, min(count, len(cases))):
        send(case, reality, chance.randrange)


def try_anything(
    operation: Any, mode: GenerationMode, reality: Reality, count: int
) -> None:
    """Send good or bad cases made by chance."""

    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        derandomize=not IS_LONG,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )
    @given(case=operation.as_strategy(generation_mode=mode), data=st.data())
    def attack(case: Any, data: Any) -> None:
        send(case, reality, lambda n: data.draw(st.integers(0, n - 1)))

    attack()


def send(case: Any, reality: Reality, pick: Callable[[int], int]) -> None:
    """Send one case and check the answer against the document."""
    reality.meet(case, pick)
    headers = {"Authorization": f"Bearer {reality.key.secret}"}
    case.validate_response(case.call(headers=headers), checks=CHECKS)
