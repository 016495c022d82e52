"""A pool as a run needs it: complete, decrypted, frozen. No ORM.

Holds secrets in memory, inside `Endpoint`; their `repr` leaves them out.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from apps.llm.types import Endpoint
from apps.llm.vllm_metrics import ServerLoad
from apps.pools.attributes import ConductorAttributes, WorkerAttributes
from apps.pools.models import says_simulated

if TYPE_CHECKING:  # NumPy is loaded only where a pool has a light planner
    from apps.planners.light.model import LightModel


@dataclass(frozen=True, slots=True)
class PriceSnapshot:
    """A price in force, in micro-dollars per million tokens."""

    input_micros: int
    output_micros: int
    cached_input_micros: int | None
    """None: cached tokens cost as much as others."""


@dataclass(frozen=True, slots=True)
class ListPrice:
    """What a provider asks of everybody for a model, by a public list of prices."""

    provider: str
    """As the list calls it, like `OpenAI`."""
    model: str
    """The name it was looked up by."""
    as_of: date
    """Since when the list is what it is."""
    price: PriceSnapshot
    """In force when it was looked up."""
    remarks: tuple[str, ...] = ()
    """What the figures leave out, a sentence each."""
    changes_by_hour: bool = False
    """True: at other times of the day another price is in force."""


class RefreshOutcome(StrEnum):
    """What became of a look for a newer price list."""

    NOT_SET = "not_set"
    """PRICE_LIST_URL is empty: the list of this version is in use."""
    RECENT = "recent"
    """The last look was less than a day ago, so there was none."""
    UNCHANGED = "unchanged"
    """The list is the newest there is."""
    REPLACED = "replaced"
    """There was a newer one, which is in use now."""
    FAILED = "failed"
    """The former list stays in use."""


@dataclass(frozen=True, slots=True)
class PriceListRefresh:
    """How a look for a newer price list went."""

    outcome: RefreshOutcome
    models: int = 0
    """How many models the list in use has prices of, if it was read."""
    why: str = ""
    """What went wrong, in a sentence without any of the list's content."""


@dataclass(frozen=True, slots=True)
class WorkerSnapshot:
    """One worker, ready to be called."""

    id: uuid.UUID
    name: str
    endpoint: Endpoint
    price: PriceSnapshot | None
    """None: unknown, which is not free."""
    attributes: WorkerAttributes
    may_substitute: bool = True
    """True: it may take over when others fail, in the order of the pool."""
    measured: str = ""
    """What was measured of it, for a conductor. Empty: nothing."""
    in_production: str = ""
    """How its answers to real requests were judged, for a conductor. Empty: nothing is
    known, or the conductor does not read it."""
    fingerprint: str = ""
    """Of the model that it stands for; see `model_fingerprints`."""

    @property
    def is_simulated(self) -> bool:
        """Say whether it only imitates a model."""
        return says_simulated(self.attributes.tags, self.attributes.description)


@dataclass(frozen=True, slots=True)
class ConductorSnapshot:
    """The model that plans, ready to be called."""

    id: uuid.UUID
    name: str
    endpoint: Endpoint
    price: PriceSnapshot | None
    """None: unknown, which is not free."""
    attributes: ConductorAttributes


@dataclass(frozen=True, slots=True)
class TierSnapshot:
    """The limits a tier puts on a run."""

    name: str
    """A value of `TierName`."""
    planner: str
    """A value of `TierPlanner`."""
    answer_worth_micros: int | None
    """For the light planner; as of `Tier`."""
    max_steps: int
    max_rounds: int
    max_parallel: int
    max_calls: int
    max_tokens: int | None
    """None: no limit."""
    max_cost_micros: int | None
    """Micro-dollars. None: no limit."""
    wall_time_s: int
    delivery: str = "live"
    """A value of `runs.types.Delivery`."""
    is_hedged: bool = False
    """True: a worker slower than it nearly always is gets a rival."""
    allows_delegation: bool = False
    """True: a plan may leave the rest to a worker."""


@dataclass(frozen=True, slots=True)
class PlannerSnapshot:
    """The light planner of a pool, ready to plan."""

    number: int
    """Of its version."""
    model: LightModel
    answer_worth_micros: int | None = None
    """What a right answer is worth, as it was trained. None: its fit does not say."""


@dataclass(frozen=True, slots=True)
class PoolSnapshot:
    """Everything about one version of a pool."""

    id: uuid.UUID
    team_id: uuid.UUID
    name: str
    version: int
    """Grows with every change of the pool or of anything it is made of."""
    workers: tuple[WorkerSnapshot, ...]
    """The enabled ones, in the order in which the conductor sees them. Never empty."""
    fallback: str
    """Name of the worker that takes over when another one fails. Empty: none can."""
    conductor: ConductorSnapshot | None
    tiers: Mapping[str, TierSnapshot]
    retries_refusals: bool = False
    """True: another worker is asked after one has refused the content."""
    planner: PlannerSnapshot | None = None
    """The light planner in use. None: the pool has none."""

    @property
    def chat_workers(self) -> tuple[WorkerSnapshot, ...]:
        """Return the workers that plans may name."""
        return tuple(w for w in self.workers if not w.endpoint.makes_embeddings)

    @property
    def embedding_workers(self) -> tuple[WorkerSnapshot, ...]:
        """Return the workers that make vectors of texts."""
        return tuple(w for w in self.workers if w.endpoint.makes_embeddings)

    def embedding_worker(self, name: str) -> WorkerSnapshot | None:
        """Return the one of that name; None: there is none."""
        return next((w for w in self.embedding_workers if w.name == name), None)

    @property
    def is_simulated(self) -> bool:
        """Say whether no worker that plans may name is a real model."""
        workers = self.chat_workers
        return bool(workers) and all(worker.is_simulated for worker in workers)


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import of a pool file did. Each line names a thing, never a secret."""

    pool: str
    version: int
    created: tuple[str, ...]
    changed: tuple[str, ...]
    unchanged: int

    @property
    def has_changes(self) -> bool:
        """Say whether the import changed anything."""
        return bool(self.created or self.changed)


@dataclass(frozen=True, slots=True)
class PlanningNotice:
    """One reason why a pool plans less than its settings suggest."""

    path: str
    """The value that would have to change, like `tiers.ultra.planner`."""
    text: str
    """What happens instead, why, and what to do, for people; names as `%(…)s`."""
    names: Mapping[str, str]

    @property
    def message(self) -> str:
        """Return the text with its names."""
        return self.text % self.names


@dataclass(frozen=True, slots=True)
class Change:
    """One value that differs between two versions of a pool."""

    path: str
    """Like `workers.strong.model` or `tiers.ultra.max_steps`."""
    before: Any
    """A text, number, truth value or list of texts. None: there was none."""
    after: Any
    """None: there is none any more."""


@dataclass(frozen=True, slots=True)
class TrialStep:
    """A step of the plan that a conductor wrote in its test."""

    worker: str
    subtask: str
    """Its beginning."""
    access: tuple[int, ...]
    """Earlier steps whose answers it would read, from 0."""


@dataclass(frozen=True, slots=True)
class TestResult:
    """How a test of a model went."""

    ok: bool
    latency_ms: int
    """From the start of the call to its end, however it ended."""
    answer: str
    """The beginning of what the model said."""
    model: str
    """The model that answered, as the provider names it. Empty: none did."""
    error_code: str
    """A word of `apps.llm.errors`, the code of a `ConductorError`, or of a conductor a
    word of `PlanFault`. Empty: none."""
    message: str
    """What went wrong, for people."""
    tested_at: datetime
    """When the calls ended."""
    abilities: Mapping[str, bool] = field(default_factory=dict)
    """What a model that answered can do, as it showed, by the names of `PROBES`. Left
    out: not found out."""
    plan_steps: int | None = None
    """Steps of the plan that a conductor wrote. None: a worker, or no usable plan."""
    plan: tuple[TrialStep, ...] = ()
    """Those steps. Empty: as above, or the test is older than they are kept."""


@dataclass(frozen=True, slots=True)
class ServerLook:
    """What a conductor's server said of itself just now."""

    looked_at: datetime
    latency_ms: int
    """Until it had named its models, or had failed to."""
    serves_model: bool | None
    """False: it names models, and not this one. None: it did not name any."""
    load: ServerLoad | None
    """None: it shows no metrics, as most providers don't."""
    error_code: str = ""
    """A word of `apps.llm.errors`, or the code of a `ConductorError`. Empty: none."""
    message: str = ""
    """What went wrong, for people."""

    @property
    def is_reachable(self) -> bool:
        """Say whether it answered as it should."""
        return not self.error_code


class HealthState(StrEnum):
    """How a worker is doing, in one word."""

    UNTESTED = "untested"
    """Not tested yet."""
    HEALTHY = "healthy"
    DEGRADED = "degraded"
    """Some of its recent calls failed."""
    FAILING = "failing"
    """Most of its recent calls failed, or its last test did."""
    RESTING = "resting"
    """It failed several times in a row and is not asked for half a minute."""
    DISABLED = "disabled"
    """It is left out of every pool's plans."""


@dataclass(frozen=True, slots=True)
class WorkerHealth:
    """A worker's recent calls and its last test, judged."""

    state: HealthState
    calls: int
    failures: int
    latency_ms: int | None
    """Of a usual call, else of the last test; None: there was neither."""
    last_test: TestResult | None


@dataclass(frozen=True, slots=True)
class KnownProvider:
    """A well-known provider or server, to begin a worker with."""

    id: str
    name: str
    protocol: str
    """A value of `Protocol`."""
    base_url: str
    needs_key: bool
    hint: str
    """One sentence: where the key or the names of models come from."""
    max_tokens_field: str
    """A value of `MaxTokensField`; the OpenAI-compatible protocol alone asks for it."""
    extra_params: tuple[str, ...] = ()
    """Extra parameters that its models usually take; for that protocol alone."""
    lists_models: bool = True
    """False: its address has no list of the models that can be called there."""
    key_form: str = ""
    """A regular expression that its keys match, as a whole. Empty: they have no form
    that tells them from others."""
