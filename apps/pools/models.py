"""Workers, conductors and the pools they make up, as rows.

Secrets are sealed; prices are dated, and no row means unknown, never zero. Services
keep teams from naming each other's rows. What is in use goes only with its whole team.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.core.validators import RegexValidator
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_noop

from apps.accounts.models import Delivery, Team
from apps.core.ids import new_id
from apps.core.scoping import TeamQuerySet
from apps.pools.base_urls import origin
from apps.pools.default_params import MAX_BUDGET_TOKENS as MAX_BUDGET_TOKENS
from apps.pools.default_params import DefaultParams
from apps.pools.default_params import ReasoningEffort as ReasoningEffort
from apps.pools.light_planners.models import BrokenPromise as BrokenPromise
from apps.pools.light_planners.models import PlannerCounts as PlannerCounts
from apps.pools.light_planners.models import PlannerVersion as PlannerVersion
from apps.pools.prices.fetched_list import PriceList as PriceList
from apps.pools.prompt_styles import PromptStyle
from apps.pools.providers.protocols import MaxTokensField as MaxTokensField
from apps.pools.providers.protocols import Protocol as Protocol
from apps.pools.worker_figures.outcomes import OutcomeSource as OutcomeSource
from apps.pools.worker_figures.outcomes import WorkerOutcome as WorkerOutcome
from apps.pools.worker_figures.profiles import WorkerProfile as WorkerProfile

NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"
"""No slash: `pool/tier` is a model name in the API."""
NAME_LENGTH = 64

_check_name = RegexValidator(
    NAME_PATTERN,
    "Use letters, digits, '.', '_' and '-', beginning with one of the first.",
)


def _name_field() -> models.CharField[str, str]:
    return models.CharField(max_length=NAME_LENGTH, validators=[_check_name])


class Credential(models.Model):
    """A provider's key, sealed. Write-only: nothing shows it again."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    team = models.ForeignKey(Team, models.CASCADE, related_name="credentials")
    name = models.CharField(max_length=100)
    scheme = models.CharField(max_length=5)
    """`https` or `http`: how it may be sent, and in no other way."""
    host = models.CharField(max_length=260)
    """`host:port` it may be sent to, and no other."""
    sealed = models.BinaryField()
    """The secret, encrypted and bound to this team, row, scheme and host."""
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    objects = TeamQuerySet["Credential"].as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["team", "name", "scheme", "host"], name="credential_is_unique"
            )
        ]

    def __str__(self) -> str:
        return f"{self.name} for {self.origin}"

    @property
    def origin(self) -> str:
        """Return `scheme://host:port`, the only place it may be sent to."""
        return f"{self.scheme}://{self.host}"

    def is_bound_to(self, base_url: str) -> bool:
        """Say whether it may be sent to `base_url`."""
        return self.origin == origin(base_url)


class ModelEndpoint(models.Model):
    """Where a model is served and how it is reached, for workers and conductors."""

    base_url = models.CharField(max_length=500)
    """With the version path, without what the protocol appends: `/chat/completions`,
    `/messages` or `/models/…`."""
    protocol = models.CharField(
        max_length=16, choices=Protocol.choices, default=Protocol.OPENAI
    )
    model = models.CharField(max_length=200)
    """The name the server knows the model by."""
    credential = models.ForeignKey(
        Credential, models.RESTRICT, null=True, blank=True, related_name="+"
    )
    """None: the server asks for no key."""
    max_tokens_field = models.CharField(
        max_length=24, choices=MaxTokensField.choices, default=MaxTokensField.MAX_TOKENS
    )
    """Means something to the OpenAI-compatible protocol alone."""
    connect_timeout_s = models.PositiveIntegerField(null=True, blank=True)
    """None, here and below: the site's setting."""
    first_byte_timeout_s = models.PositiveIntegerField(null=True, blank=True)
    first_token_timeout_s = models.PositiveIntegerField(null=True, blank=True)
    """Until the first content, reasoning or tool call. None: by its own latencies."""
    idle_timeout_s = models.PositiveIntegerField(null=True, blank=True)
    total_timeout_s = models.PositiveIntegerField(null=True, blank=True)
    last_test = models.JSONField(null=True, blank=True, editable=False)
    """The fields of a `TestResult`, as text where JSON has no form. None: untested."""

    class Meta:
        abstract = True


class WorkerKind(models.TextChoices):
    """What a worker makes of what it is sent."""

    CHAT = "chat", "Chat"
    """Answers to conversations: it does subtasks of plans."""
    EMBEDDING = "embedding", "Embeddings"
    """Vectors of texts. No plan names it; it is called by its own name alone."""


EMBEDDING_PROTOCOLS = (Protocol.OPENAI, Protocol.GEMINI)
"""Those that have an embeddings method."""


SIMULATED = "simulated"
"""Tag, or word in the description, of a worker that only pretends to be a model."""


def says_simulated(tags: Iterable[str], description: str) -> bool:
    """Say whether a worker's tags or description say that it only imitates a model."""
    return SIMULATED in tags or SIMULATED in description.lower()


class Worker(ModelEndpoint, DefaultParams):
    """A model that does subtasks, or makes embeddings."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    team = models.ForeignKey(Team, models.CASCADE, related_name="workers")
    name = _name_field()
    kind = models.CharField(
        max_length=10, choices=WorkerKind.choices, default=WorkerKind.CHAT
    )
    description = models.TextField(blank=True)
    """What it is good at; shown to the conductor if the conductor wants it."""
    context_tokens = models.PositiveIntegerField(null=True, blank=True)
    """Input and output together. None: unknown."""
    max_output_tokens = models.PositiveIntegerField(default=4096)
    accepts_images = models.BooleanField(default=False)
    """False: no plan gives it a question with images."""
    accepts_tools = models.BooleanField(default=True)
    """False: it writes no final answer to a question that brings tools."""
    accepts_prefill = models.BooleanField(default=False)
    """True: it goes on from a partial answer that ends the messages."""
    tags = models.JSONField(default=list, blank=True)
    """Short words for people's lists and filters."""
    is_enabled = models.BooleanField(default=True)
    """False: left out of every pool's plans."""

    objects = TeamQuerySet["Worker"].as_manager()

    class Meta:
        ordering = ("name",)
        constraints = [
            models.UniqueConstraint(
                fields=["team", "name"], name="worker_name_is_unique"
            ),
            models.CheckConstraint(
                condition=Q(name__regex=NAME_PATTERN), name="worker_name_is_plain"
            ),
            models.CheckConstraint(
                condition=Q(max_output_tokens__gt=0), name="worker_may_write"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_simulated(self) -> bool:
        """Say whether it only imitates a model."""
        return says_simulated(self.tags, self.description)


class ConductorMode(models.TextChoices):
    """How a conductor model is asked to write its plan."""

    LISTS = "lists", gettext_noop("Three lists")
    """Reasoning, then model_id, subtasks and access_list, as conductors are trained."""
    JSON_SCHEMA = "json_schema", gettext_noop("JSON schema")
    """Structured output, for general models on servers that support it."""


class Conductor(ModelEndpoint):
    """A model that plans."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    team = models.ForeignKey(Team, models.CASCADE, related_name="conductors")
    name = _name_field()
    mode = models.CharField(
        max_length=16, choices=ConductorMode.choices, default=ConductorMode.LISTS
    )
    prompt_style = models.CharField(
        max_length=5, choices=PromptStyle.choices, default=PromptStyle.FULL
    )
    shows_descriptions = models.BooleanField(default=False)
    """False: workers are anonymous in its prompt, as it was trained."""
    shows_measurements = models.BooleanField(default=False)
    """True: workers that were calibrated are described by what was measured."""
    uses_prefill = models.BooleanField(default=False)
    """True: its reasoning is started for it. Not every server allows that."""
    context_tokens = models.PositiveIntegerField(null=True, blank=True)
    """Input and output together. None: unknown."""
    max_output_tokens = models.PositiveIntegerField(default=2048)
    temperature = models.DecimalField(
        max_digits=3, decimal_places=2, null=True, blank=True
    )
    """None: the server's default."""

    objects = TeamQuerySet["Conductor"].as_manager()

    class Meta:
        ordering = ("name",)
        constraints = [
            models.UniqueConstraint(
                fields=["team", "name"], name="conductor_name_is_unique"
            ),
            models.CheckConstraint(
                condition=Q(name__regex=NAME_PATTERN), name="conductor_name_is_plain"
            ),
            models.CheckConstraint(
                condition=Q(max_output_tokens__gt=0), name="conductor_may_write"
            ),
            models.CheckConstraint(
                condition=Q(temperature__range=(0, 2)), name="conductor_temperature"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Price(models.Model):
    """What a model costs from a day on, in micro-dollars per million tokens.

    The row with the latest `valid_from` that is not in the future is in force. A model
    without one has an unknown price, which is not zero.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    team = models.ForeignKey(Team, models.CASCADE, related_name="+")
    worker = models.ForeignKey(
        Worker, models.CASCADE, null=True, blank=True, related_name="prices"
    )
    conductor = models.ForeignKey(
        Conductor, models.CASCADE, null=True, blank=True, related_name="prices"
    )
    valid_from = models.DateField()
    input_micros = models.PositiveBigIntegerField()
    output_micros = models.PositiveBigIntegerField()
    cached_input_micros = models.PositiveBigIntegerField(null=True, blank=True)
    """None: cached tokens cost as much as others."""

    objects = TeamQuerySet["Price"].as_manager()

    class Meta:
        ordering = ("-valid_from",)
        constraints = [
            models.CheckConstraint(
                condition=Q(worker=None) ^ Q(conductor=None), name="price_of_one_model"
            ),
            models.UniqueConstraint(
                fields=["worker", "valid_from"], name="worker_price_is_unique"
            ),
            models.UniqueConstraint(
                fields=["conductor", "valid_from"], name="conductor_price_is_unique"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.worker or self.conductor} from {self.valid_from}"


class Pool(models.Model):
    """Workers that may be planned with, the conductor that plans, and a way out."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    team = models.ForeignKey(Team, models.CASCADE, related_name="pools")
    name = _name_field()
    is_default = models.BooleanField(default=False)
    """True: used when a caller names no pool."""
    conductor = models.ForeignKey(
        Conductor, models.RESTRICT, null=True, blank=True, related_name="pools"
    )
    """None: no tier plans with a model."""
    planner_version = models.ForeignKey(
        PlannerVersion, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    """The version of its light planner that tiers use. None: it has none."""
    workers = models.ManyToManyField(Worker, through="PoolWorker", related_name="pools")
    fallback = models.ForeignKey(Worker, models.RESTRICT, related_name="+")
    """The first to take over when another worker fails. One of `workers`."""
    retries_refusals = models.BooleanField(default=False)
    """True: another worker is asked after one has refused the content."""
    version = models.PositiveIntegerField(default=1)
    """Grows with every change of the pool or of anything it is made of."""

    objects = TeamQuerySet["Pool"].as_manager()

    class Meta:
        ordering = ("name",)
        constraints = [
            models.UniqueConstraint(
                fields=["team", "name"], name="pool_name_is_unique"
            ),
            models.UniqueConstraint(
                fields=["team"], condition=Q(is_default=True), name="one_default_pool"
            ),
            models.CheckConstraint(
                condition=Q(name__regex=NAME_PATTERN), name="pool_name_is_plain"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def enabled_workers(self) -> list[Worker]:
        """Return the workers that plans may use, in order. Prefetch their places."""
        places = sorted(self.places.all(), key=lambda place: place.position)
        return [place.worker for place in places if place.worker.is_enabled]


class PoolVersion(models.Model):
    """What a pool was at one of its versions, for comparing. Holds no secret."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    team = models.ForeignKey(Team, models.CASCADE, related_name="+")
    pool = models.ForeignKey(Pool, models.CASCADE, related_name="versions")
    version = models.PositiveIntegerField()
    document = models.JSONField()
    """As `versions.pool_document` makes it."""
    created_at = models.DateTimeField(auto_now_add=True)
    actor_name = models.CharField(max_length=200, blank=True)
    """Who made it. Empty: it was there before versions were kept."""

    objects = TeamQuerySet["PoolVersion"].as_manager()

    class Meta:
        ordering = ("-version",)
        constraints = [
            models.UniqueConstraint(
                fields=["pool", "version"], name="pool_version_is_unique"
            )
        ]

    def __str__(self) -> str:
        return f"{self.pool_id} version {self.version}"


class PoolWorker(models.Model):
    """A worker's place in a pool."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    team = models.ForeignKey(Team, models.CASCADE, related_name="+")
    pool = models.ForeignKey(Pool, models.CASCADE, related_name="places")
    worker = models.ForeignKey(Worker, models.RESTRICT, related_name="places")
    position = models.PositiveSmallIntegerField()
    """Counted from 0: the number the conductor calls the worker by."""
    may_substitute = models.BooleanField(default=True)
    """True: takes over, in the order of the pool, when others and the fallback fail."""

    objects = TeamQuerySet["PoolWorker"].as_manager()

    class Meta:
        ordering = ("position",)
        constraints = [
            models.UniqueConstraint(
                fields=["pool", "worker"], name="worker_once_a_pool"
            ),
            models.UniqueConstraint(
                fields=["pool", "position"], name="pool_position_is_unique"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.position}: {self.worker}"


class TierName(models.TextChoices):
    """The two ways of using a pool, as callers name them."""

    MINI = "mini", "Mini"
    """One step by one worker: quick."""
    ULTRA = "ultra", "Ultra"
    """A workflow of several steps."""


class TierPlanner(models.TextChoices):
    """Who plans the runs of a tier."""

    CONDUCTOR = "conductor", "The pool's conductor"
    """Needs a conductor in the pool."""
    LIGHT = "light", "The pool's light planner"
    """Needs a version of it in the pool."""
    CASCADE = "cascade", "The light planner, and the conductor where it is unsure"
    """Needs both."""
    SINGLE_WORKER = "single_worker", "None: the fallback worker answers alone"
    """Needs none."""

    @property
    def is_light(self) -> bool:
        """Say whether the light planner plans, or begins to."""
        return self in (TierPlanner.LIGHT, TierPlanner.CASCADE)

    @property
    def has_conductor(self) -> bool:
        """Say whether the conductor plans, or may."""
        return self in (TierPlanner.CONDUCTOR, TierPlanner.CASCADE)


class Tier(models.Model):
    """What a run may use when it is started with this tier of a pool."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    team = models.ForeignKey(Team, models.CASCADE, related_name="+")
    pool = models.ForeignKey(Pool, models.CASCADE, related_name="tiers")
    name = models.CharField(max_length=8, choices=TierName.choices)
    planner = models.CharField(
        max_length=16, choices=TierPlanner.choices, default=TierPlanner.CONDUCTOR
    )
    answer_worth_micros = models.PositiveBigIntegerField(null=True, blank=True)
    """What a right answer is worth to the light planner. NULL: as that was trained."""
    max_steps = models.PositiveSmallIntegerField()
    max_rounds = models.PositiveSmallIntegerField(default=1)
    max_parallel = models.PositiveSmallIntegerField(default=4)
    """Calls in flight at the same time."""
    max_calls = models.PositiveIntegerField(default=40)
    """Outbound calls, retries included."""
    max_tokens = models.PositiveBigIntegerField(null=True, blank=True)
    """Input and output tokens of all calls. None: no limit."""
    max_cost_micros = models.PositiveBigIntegerField(null=True, blank=True)
    """Micro-dollars. None: no limit."""
    wall_time_s = models.PositiveIntegerField(default=900)
    delivery = models.CharField(
        max_length=8, choices=Delivery.choices, default=Delivery.LIVE
    )
    """How streamed answers go out unless the key or the request says."""
    is_hedged = models.BooleanField(default=False)
    """True: a worker slower than it nearly always is gets a rival."""
    allows_delegation = models.BooleanField(default=False)
    """True: a plan may leave the rest to a worker, which plans it as another round."""

    objects = TeamQuerySet["Tier"].as_manager()

    class Meta:
        ordering = ("name",)
        constraints = [
            models.UniqueConstraint(fields=["pool", "name"], name="tier_once_a_pool"),
            models.CheckConstraint(
                condition=Q(name__in=TierName.values), name="tier_name_is_known"
            ),
            models.CheckConstraint(
                condition=Q(
                    max_steps__gte=1,
                    max_rounds__gte=1,
                    max_parallel__gte=1,
                    max_calls__gte=F("max_steps"),
                    wall_time_s__gte=1,
                ),
                name="tier_can_run",
            ),
            models.CheckConstraint(
                condition=Q(delivery__in=Delivery.values), name="tier_delivery_is_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.pool}/{self.name}"
