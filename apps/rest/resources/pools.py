"""Pools: who works, who plans, within which limits, and what each version was.

A pool's `ETag` is its version. A change must name the one it is of in `If-Match`, so
that two people who change a pool at once do not undo each other's work.
"""

from __future__ import annotations

import uuid
from typing import Any

from django.urls import reverse
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.models import Delivery
from apps.accounts.rights import MANAGE_POOLS, READ_POOLS
from apps.pools.models import Pool, Protocol, TierPlanner
from apps.pools.selectors import (
    access_pool,
    access_pool_version,
    known_provider_list,
    planning_notices,
    pool_list,
    pool_values,
    pool_version_changes,
    pool_versions,
)
from apps.pools.services import pool_create, pool_delete, pool_update
from apps.rest.fields import (
    MAX_WHOLE,
    Dollars,
    Flag,
    Id,
    Input,
    Output,
    Query,
    TextField,
    Time,
    Whole,
    Word,
)
from apps.rest.pagination import page_by_place
from apps.rest.resources.endpoints import MAX_SECONDS, PLAIN_DOLLARS
from apps.rest.schema import operation
from apps.rest.version_tags import IF_MATCH, etag_of, expected_version
from apps.rest.views import RestView

TAG = "Pools"
ETAG = OpenApiParameter(
    "ETag",
    str,
    OpenApiParameter.HEADER,
    response=[200, 201],
    description='The pool\'s version, like `"3"`.',
)
TIER: dict[str, Any] = {
    "planner": "conductor",
    "answer_worth_usd": "0.01",
    "max_steps": 5,
    "max_rounds": 1,
    "max_parallel": 4,
    "max_calls": 40,
    "max_tokens": None,
    "max_cost_usd": "0.5",
    "wall_time_s": 900,
    "delivery": "live",
    "is_hedged": False,
    "allows_delegation": False,
}
EXAMPLE: dict[str, Any] = {
    "id": "0199c0de-0000-7000-8000-000000000008",
    "version": 3,
    "name": "house",
    "is_default": True,
    "conductor_id": "0199c0de-0000-7000-8000-000000000009",
    "worker_ids": ["0199c0de-0000-7000-8000-000000000007"],
    "fallback_id": "0199c0de-0000-7000-8000-000000000007",
    "no_substitute_ids": [],
    "retries_refusals": False,
    "tiers": {"ultra": TIER},
    "notices": [],
}
SENT = {key: EXAMPLE[key] for key in ("name", "worker_ids", "fallback_id")}


# --- what comes in -------------------------------------------------------------------


class TierInput(Input):
    """What differs from the tier's usual limits."""

    planner = Word(
        choices=TierPlanner.choices,
        required=False,
        help_text="`light` and `cascade` need a version of the light planner in use.",
    )
    answer_worth_usd = Dollars(
        required=False,
        allow_null=True,
        help_text="For the light planner: what a right answer is worth. A plan that "
        "costs a tenth of it has to be right in ten points of a hundred more. 10000, "
        "the most: cost does not count. Null: as the planner was trained.",
    )
    max_steps = Whole(min_value=1, max_value=50, required=False)
    max_rounds = Whole(min_value=1, max_value=10, required=False)
    max_parallel = Whole(min_value=1, max_value=100, required=False)
    max_calls = Whole(min_value=1, max_value=10_000, required=False)
    max_tokens = Whole(min_value=1, max_value=10**12, required=False, allow_null=True)
    max_cost_usd = Dollars(required=False, allow_null=True)
    wall_time_s = Whole(min_value=1, max_value=MAX_SECONDS, required=False)
    delivery = Word(
        choices=Delivery.choices,
        required=False,
        help_text="How streamed answers go out unless the key or the request says: "
        "word by word, or once they are complete. Default: live.",
    )
    is_hedged = Flag(
        required=False,
        help_text="True: a worker slower than it nearly always is gets a rival, whose "
        "call costs too. Default: false.",
    )
    allows_delegation = Flag(
        required=False,
        help_text="True: the last step of a plan may leave the rest to its worker, "
        "whose plan is one of the rounds, so it takes two. Default: false.",
    )


class TiersInput(Input):
    """The tiers by name. Null: the pool has no such tier."""

    mini = TierInput(required=False, allow_null=True)
    ultra = TierInput(required=False, allow_null=True)


class PoolInput(Input):
    """A pool."""

    name = TextField(max_length=64, help_text="Letters, digits, '.', '_' and '-'.")
    is_default = Flag(required=False, help_text="Used when a caller names no pool.")
    conductor_id = Id(required=False, allow_null=True)
    worker_ids = serializers.ListField(
        child=Id(),
        allow_empty=False,
        max_length=100,
        help_text="In the order in which the conductor sees them.",
    )
    fallback_id = Id(
        help_text="One of `worker_ids`: the first to take over when another fails."
    )
    no_substitute_ids = serializers.ListField(
        child=Id(),
        required=False,
        max_length=100,
        help_text="Those of `worker_ids` that take over for no other. The rest does, "
        "in order, when the fallback fails too.",
    )
    retries_refusals = Flag(
        required=False,
        help_text="True: another worker is asked after one has refused the content. "
        "Default: false, so that the refusal is the answer.",
    )
    tiers = TiersInput(required=False)


class ChangesQuery(Query):
    """Which two versions to compare."""

    older = serializers.IntegerField(min_value=1, max_value=MAX_WHOLE)
    newer = serializers.IntegerField(min_value=1, max_value=MAX_WHOLE)


# --- what goes out -------------------------------------------------------------------


class TierOutput(Output):
    """What a run with this tier may use. Null: no limit."""

    planner = serializers.ChoiceField(choices=TierPlanner.choices)
    answer_worth_usd = serializers.RegexField(
        PLAIN_DOLLARS,
        allow_null=True,
        help_text="What a right answer is worth to the light planner. Null: as the "
        "version that plans was trained.",
    )
    max_steps = serializers.IntegerField()
    max_rounds = serializers.IntegerField()
    max_parallel = serializers.IntegerField()
    max_calls = serializers.IntegerField()
    max_tokens = serializers.IntegerField(allow_null=True)
    max_cost_usd = serializers.RegexField(PLAIN_DOLLARS, allow_null=True)
    wall_time_s = serializers.IntegerField()
    delivery = serializers.ChoiceField(choices=Delivery.choices)
    is_hedged = serializers.BooleanField()
    allows_delegation = serializers.BooleanField()


class NoticeOutput(Output):
    """One reason why a pool plans less than its settings suggest."""

    path = serializers.CharField(help_text="The value that would have to change.")
    message = serializers.CharField()


class PoolOutput(Output):
    """A pool."""

    id = serializers.UUIDField()
    version = serializers.IntegerField(
        help_text="Grows with every change of the pool or of what it is made of."
    )
    name = serializers.CharField()
    is_default = serializers.BooleanField()
    conductor_id = serializers.UUIDField(allow_null=True)
    worker_ids = serializers.ListField(child=serializers.UUIDField())
    fallback_id = serializers.UUIDField()
    no_substitute_ids = serializers.ListField(child=serializers.UUIDField())
    retries_refusals = serializers.BooleanField()
    tiers = serializers.DictField(child=TierOutput(), help_text="By name.")
    notices = NoticeOutput(
        many=True, help_text="Why a tier does not plan; empty: nothing to say."
    )


class PoolVersionOutput(Output):
    """A version of a pool."""

    version = serializers.IntegerField()
    created_at = Time()
    actor_name = serializers.CharField(help_text="Who made it; empty: unknown.")


class PoolVersionDetailOutput(PoolVersionOutput):
    """A version of a pool with all the pool was made of."""

    document = serializers.DictField()


class ChangeOutput(Output):
    """One value that differs."""

    path = serializers.CharField()
    before = serializers.JSONField(help_text="Null: there was none.")
    after = serializers.JSONField(help_text="Null: there is none any more.")


class ChangesOutput(Output):
    """What differs between two versions."""

    older = serializers.IntegerField()
    newer = serializers.IntegerField()
    changes = ChangeOutput(many=True)


class ProviderOutput(Output):
    """A well-known provider or server, to begin a worker with."""

    id = serializers.CharField()
    name = serializers.CharField()
    protocol = serializers.ChoiceField(choices=Protocol.choices)
    base_url = serializers.CharField()
    needs_key = serializers.BooleanField()
    hint = serializers.CharField()
    max_tokens_field = serializers.CharField()
    extra_params = serializers.ListField(
        child=serializers.CharField(),
        help_text="Extra parameters that its models usually take.",
    )


# --- operations ----------------------------------------------------------------------


class Pools(RestView):
    """The pools of the team."""

    tag = TAG
    rights = {"GET": READ_POOLS, "POST": MANAGE_POOLS}

    @operation("pool_list", "List pools", page_of=PoolOutput, example=EXAMPLE)
    def get(self, request: Request) -> Response:
        """Return the pools by name."""
        pools = pool_list(self.principal.team_id).select_related(
            "conductor", "fallback"
        )
        pools = pools.prefetch_related("places")
        page = page_by_place(pools, **self.read_page())
        told = [_told(pool) for pool in page.data]
        return self.paged(type(page)(told, page.next_cursor), PoolOutput)

    @operation(
        "pool_create",
        "Make a pool",
        body=PoolInput,
        answer=PoolOutput,
        status=201,
        parameters=[ETAG],
        sent=SENT,
        example=EXAMPLE,
    )
    def post(self, request: Request) -> Response:
        """Make a pool. A team's first one is its default.

        Without tiers it gets `mini` and, with a conductor, `ultra`.
        """
        pool = pool_create(
            team=self.principal.team,
            values=self.read(PoolInput),
            actor=self.principal.actor,
        )
        place = reverse("rest:pool", args=[pool.id])
        return _tagged(pool, self.created(_output(pool), place))


class OnePool(RestView):
    """One pool."""

    tag = TAG
    rights = {"GET": READ_POOLS, "PATCH": MANAGE_POOLS, "DELETE": MANAGE_POOLS}

    @operation(
        "pool_get",
        "Read a pool",
        answer=PoolOutput,
        parameters=[ETAG],
        example=EXAMPLE,
    )
    def get(self, request: Request, pool_id: uuid.UUID) -> Response:
        """Return a pool; its `ETag` is what a change must name."""
        pool = access_pool(self.principal.team_id, pool_id)
        return _tagged(pool, Response(_output(pool)))

    @operation(
        "pool_update",
        "Change a pool",
        body=PoolInput,
        is_partial=True,
        answer=PoolOutput,
        parameters=[IF_MATCH, ETAG],
        errors=(412, 428),
        sent={"tiers": {"ultra": {"max_cost_usd": "0.5"}}},
        example=EXAMPLE,
    )
    def patch(self, request: Request, pool_id: uuid.UUID) -> Response:
        """Change the given values of a pool, for runs that begin later.

        Of a tier, too, what is not given stays; a tier given as null goes.
        """
        pool = access_pool(self.principal.team_id, pool_id)
        expected = expected_version(request)
        changed = pool_update(
            pool=pool,
            values=self.read(PoolInput, is_partial=True),
            actor=self.principal.actor,
            expected_version=expected,
        )
        return _tagged(changed, Response(_output(changed)))

    @operation(
        "pool_delete",
        "Delete a pool",
        parameters=[IF_MATCH],
        errors=(409, 412, 428),
    )
    def delete(self, request: Request, pool_id: uuid.UUID) -> Response:
        """Delete a pool; its workers and its conductor stay."""
        pool = access_pool(self.principal.team_id, pool_id)
        expected = expected_version(request)
        pool_delete(pool=pool, actor=self.principal.actor, expected_version=expected)
        return Response(status=204)


class PoolVersions(RestView):
    """What a pool was."""

    tag = TAG
    rights = {"GET": READ_POOLS}

    @operation("pool_versions", "List a pool's versions", page_of=PoolVersionOutput)
    def get(self, request: Request, pool_id: uuid.UUID) -> Response:
        """Return the versions that are written down, the newest first."""
        pool = access_pool(self.principal.team_id, pool_id)
        return self.listed(pool_versions(pool.team_id, pool.id), PoolVersionOutput)


class OnePoolVersion(RestView):
    """A version of a pool."""

    tag = TAG
    rights = {"GET": READ_POOLS}

    @operation(
        "pool_version_get", "Read a pool's version", answer=PoolVersionDetailOutput
    )
    def get(self, request: Request, pool_id: uuid.UUID, version: int) -> Response:
        """Return all the pool was made of at a version."""
        pool = access_pool(self.principal.team_id, pool_id)
        row = access_pool_version(pool.team_id, pool.id, version)
        return Response(PoolVersionDetailOutput(row).data)


class PoolChanges(RestView):
    """What changed between versions."""

    tag = TAG
    rights = {"GET": READ_POOLS}

    @operation(
        "pool_changes",
        "Compare two versions of a pool",
        query=ChangesQuery,
        answer=ChangesOutput,
        example={
            "older": 2,
            "newer": 3,
            "changes": [{"path": "tiers.ultra.max_steps", "before": 5, "after": 8}],
        },
    )
    def get(self, request: Request, pool_id: uuid.UUID) -> Response:
        """Return what differs between two versions, value by value."""
        pool = access_pool(self.principal.team_id, pool_id)
        asked = self.read_query(ChangesQuery)
        older, newer = (
            access_pool_version(pool.team_id, pool.id, asked[name])
            for name in ("older", "newer")
        )
        changes = pool_version_changes(older, newer)
        return Response(ChangesOutput({**asked, "changes": changes}).data)


class Providers(RestView):
    """Well-known providers."""

    tag = TAG
    rights = {"GET": READ_POOLS}

    @operation("provider_list", "List well-known providers", page_of=ProviderOutput)
    def get(self, request: Request) -> Response:
        """Return providers and servers to begin a worker with."""
        return self.listed(list(known_provider_list()), ProviderOutput)


def _told(pool: Pool) -> dict[str, Any]:
    return {
        "id": pool.id,
        "version": pool.version,
        **pool_values(pool),
        "notices": planning_notices(pool),
    }


def _output(pool: Pool) -> dict[str, Any]:
    return PoolOutput(_told(pool)).data


def _tagged(pool: Pool, response: Response) -> Response:
    response["ETag"] = etag_of(pool.version)
    return response
