"""Runs and steps as rows: projections of the ledger, made for lists and filters.

The ledger is the truth. These rows are written in the same transaction as the entries
they are derived from, by `projection.py` alone, but that their texts are erased
together with the entries'; sums of past days are made from them.
"""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_noop as _

from apps.accounts.models import ApiKey, Team
from apps.core.ids import new_id
from apps.core.scoping import TeamQuerySet
from apps.pools.worker_figures.profiles import FAMILY_LENGTH
from apps.runs.label_models import RunLabel
from apps.runs.label_types import RunLabels
from apps.runs.querysets import IdempotencyKeys
from apps.runs.saved_view_models import SavedView
from apps.runs.search_models import IndexedRun, SearchBlock, SearchProgress
from apps.runs.types import WaitsFor
from apps.runs.usage_models import UsageDay, UsagePart, UsageSums

__all__ = [
    "NOT_BY_CALLERS",
    "STATES_CALLED",
    "SUSPENSION_REASON_LENGTH",
    "TITLE_CHARACTERS",
    "ApprovalState",
    "IdempotencyKey",
    "IndexedRun",
    "PlanApproval",
    "PlanVote",
    "Process",
    "ProcessKind",
    "Run",
    "RunFamily",
    "RunLabel",
    "RunState",
    "RunStop",
    "SavedView",
    "SearchBlock",
    "SearchProgress",
    "Source",
    "Step",
    "Suspension",
    "UsageDay",
    "UsagePart",
    "UsageSums",
]

SUSPENSION_REASON_LENGTH = 200
TITLE_CHARACTERS = 120
"""How much of the prompt a list shows."""


class RunState(models.TextChoices):
    """Where a run stands."""

    RUNNING = "running", _("Running")
    """Accepted; in the hands of a process, or waiting for one after a restart."""
    COMPLETED = "completed", _("Completed")
    """It has its answer."""
    FAILED = "failed", _("Failed")
    """It ended without the answer asked for."""
    CANCELLED = "cancelled", _("Cancelled")
    """A person or a key stopped it."""


class Source(models.TextChoices):
    """Where a run was asked for."""

    PLAYGROUND = "playground", _("Chat")
    """A page."""
    API = "api", _("API")
    """`/v1`, also for the requests of a batch."""
    REST = "rest", _("REST API")
    """`/api/v1`."""
    EVALUATION = "evaluation", _("Evaluation")
    SHADOW = "shadow", _("Shadow test")


NOT_BY_CALLERS = (Source.EVALUATION, Source.SHADOW)
"""Runs whose answers nobody waits for."""


class ProcessKind(models.TextChoices):
    """What a process with an executor is for."""

    WEB = "web", "Web"
    WORKER = "worker", "Worker"


class Process(models.Model):
    """A process that executes runs, for as long as it renews its lease."""

    id = models.UUIDField(primary_key=True)
    kind = models.CharField(max_length=10, choices=ProcessKind.choices)
    name = models.CharField(max_length=200)
    """Host and process id, for people."""
    started_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    """By the database's clock. After that its runs are for others to take."""
    live_runs = models.PositiveIntegerField(default=0)
    """At the latest renewal."""

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


class Run(models.Model):
    """One prompt and what became of it."""

    id = models.UUIDField(primary_key=True)
    # Foreign keys without an index of their own: every one costs each run two page
    # writes. The lists' indexes below begin with the team; the others are followed
    # only when a person or key is deleted.
    team = models.ForeignKey(Team, models.CASCADE, related_name="runs", db_index=False)
    state = models.CharField(max_length=10, choices=RunState.choices)
    source = models.CharField(max_length=10, choices=Source.choices)
    model = models.CharField(max_length=200)
    """As the caller named it, for example `conductor-ultra`."""
    pool_name = models.CharField(max_length=100)
    pool_version = models.PositiveIntegerField()
    title = models.CharField(max_length=TITLE_CHARACTERS)
    actor_type = models.CharField(max_length=16)
    actor_id = models.CharField(max_length=64)
    actor_name = models.CharField(max_length=200)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        related_name="+",
        db_index=False,
    )
    api_key = models.ForeignKey(
        ApiKey, models.SET_NULL, null=True, related_name="+", db_index=False
    )
    # No foreign key: tests are of an app above this one.
    ab_test_id = models.UUIDField(null=True)
    """The A/B test that the run belongs to."""
    ab_arm = models.CharField(max_length=1, db_default="")
    """a or b; empty: it is in no A/B test."""
    # No foreign key: presets are of an app above this one, and may be deleted.
    preset_id = models.UUIDField(null=True)
    """What the prompt was made with. NULL: no preset, or the run is older than this
    column."""
    created_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)
    tier = models.CharField(max_length=10, db_default="")
    """What `model` asks for: mini, ultra or direct. Empty: it has no known form."""
    family = models.CharField(max_length=FAMILY_LENGTH, db_default="")
    """Of tasks, as the caller named it, or that of the evaluation's task. Empty: it has
    none."""
    planner = models.CharField(max_length=40, default="")
    plan = models.JSONField(default=list)
    """Workers and access lists of the newest plan, for the small graph."""
    shape = models.CharField(max_length=16, null=True)  # noqa: DJ001
    """The digest of its graph, see `records.plan_shapes`; empty: there is no plan.
    NULL: the run is older than this column; `insights_rebuild` fills it."""
    steps_total = models.PositiveIntegerField(default=0)
    """Steps of all plans, skipped ones left out."""
    steps_done = models.PositiveIntegerField(default=0)
    """Steps that have an answer."""
    prompt_tokens = models.PositiveBigIntegerField(default=0)
    completion_tokens = models.PositiveBigIntegerField(default=0)
    orchestration_prompt_tokens = models.PositiveBigIntegerField(default=0)
    """The conductor's part of `prompt_tokens`."""
    orchestration_completion_tokens = models.PositiveBigIntegerField(default=0)
    cost_micros = models.PositiveBigIntegerField(default=0)
    """The known part of the cost, in micro-dollars."""
    has_unknown_cost = models.BooleanField(default=False)
    latency_ms = models.PositiveBigIntegerField(null=True)
    overhead_ms = models.PositiveBigIntegerField(null=True)
    """Time in which no model was being waited for."""
    error_code = models.CharField(max_length=40, default="")
    error_message = models.TextField(default="")
    # What a run notes at its end is in this row, which its last commit writes anyway:
    # a table of its own would cost every run a write of two more pages.
    first_token_ms = models.PositiveBigIntegerField(null=True)
    """From the beginning to the first token of the answer, whether the caller got
    tokens or the whole; NULL: not known."""
    asked_tokens = models.PositiveBigIntegerField(null=True)
    """The length of the prompt, estimated; NULL: not known."""
    answer_tokens = models.PositiveBigIntegerField(null=True)
    """Output tokens of the call that wrote the answer; NULL: there is none."""
    findings = models.JSONField(null=True)
    """Faults and loops, each a `records.end_facts.RunFinding`. NULL: it has not ended,
    or it ended before this was noted; `insights_rebuild` derives that."""
    owner_id = models.UUIDField(null=True)
    """The process that executes it, while it is unfinished; NULL: none yet."""
    fence = models.PositiveIntegerField(default=0)
    """Grows with each change of hands; a write that knows an older one is refused."""
    deaths = models.PositiveSmallIntegerField(db_default=0)
    """Processes that ended while they executed it."""

    waits_for: WaitsFor | None = None
    """Not a column: known of runs that `selectors.with_waits` returned."""

    labels: RunLabels | None = None
    """Not a column: known of runs that `labels.with_labels` returned."""

    objects = TeamQuerySet["Run"].as_manager()

    class Meta:
        indexes = [
            # The list of runs, read backwards: version 7 ids ascend with time, and new
            # rows then go to the end of the index.
            models.Index(fields=["team", "id"], name="run_by_team"),
            # The same list, filtered by state.
            models.Index(fields=["team", "state", "id"], name="run_by_state"),
            # The same list, filtered by what insights sum by: rare values are found
            # without reading all runs of a team.
            models.Index(fields=["team", "tier", "id"], name="run_by_tier"),
            models.Index(fields=["team", "planner", "id"], name="run_by_planner"),
            models.Index(fields=["team", "family", "id"], name="run_by_family"),
            # The same list, filtered by preset; other runs are not in it.
            models.Index(
                fields=["team", "preset_id", "id"],
                name="run_by_preset",
                condition=models.Q(preset_id__isnull=False),
            ),
            # Few rows, whatever the table holds: for the sweep of leases.
            models.Index(
                fields=["owner_id"],
                name="run_unfinished",
                condition=models.Q(finished_at__isnull=True),
            ),
            # For the report of an A/B test, and for how many runs it has.
            models.Index(
                fields=["ab_test_id", "id"],
                name="run_of_ab_test",
                condition=models.Q(ab_test_id__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.id} {self.state}"

    @property
    def is_over(self) -> bool:
        """Say whether the run has ended."""
        return self.state != RunState.RUNNING


class RunFamily(models.Model):
    """A family of tasks that callers of a team have named: one of a bounded number."""

    team = models.ForeignKey(Team, models.CASCADE, related_name="+", db_index=False)
    name = models.CharField(max_length=FAMILY_LENGTH)

    objects = TeamQuerySet["RunFamily"].as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["team", "name"], name="run_family_is_unique"
            )
        ]

    def __str__(self) -> str:
        return self.name


class RunStop(models.Model):
    """A request to cancel a run that executes in another process."""

    run = models.OneToOneField(Run, models.CASCADE, primary_key=True, related_name="+")
    team = models.ForeignKey(Team, models.CASCADE, related_name="+", db_index=False)
    reason = models.CharField(max_length=200)
    actor_type = models.CharField(max_length=16)
    actor_id = models.CharField(max_length=64)
    actor_name = models.CharField(max_length=200)
    context = models.JSONField(null=True)
    """Of the request that asks for it. Null: written by an older process."""

    objects = TeamQuerySet["RunStop"].as_manager()

    def __str__(self) -> str:
        return f"{self.run_id} {self.reason}"


STATES_CALLED = ("completed", "failed")
"""States of steps that called their worker."""


class Step(models.Model):
    """One step of a run that has ended."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="steps", db_index=False)
    team = models.ForeignKey(Team, models.CASCADE, related_name="+", db_index=False)
    round = models.PositiveSmallIntegerField()
    index = models.PositiveSmallIntegerField()
    worker = models.CharField(max_length=100)
    """Who answered, or was asked last."""
    state = models.CharField(max_length=10)
    """completed, failed or skipped."""
    attempts = models.PositiveSmallIntegerField()
    prompt_tokens = models.PositiveBigIntegerField()
    completion_tokens = models.PositiveBigIntegerField()
    cost_micros = models.PositiveBigIntegerField(null=True)
    """All attempts, in micro-dollars; NULL if a part is unknown."""
    latency_ms = models.PositiveBigIntegerField()
    """All attempts, waits between them left out."""

    objects = TeamQuerySet["Step"].as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["run", "round", "index"], name="step_is_unique_in_run"
            )
        ]
        indexes = [
            # The list of runs, filtered by worker.
            models.Index(fields=["team", "worker", "run"], name="step_by_worker")
        ]

    def __str__(self) -> str:
        return f"{self.run_id} {self.round}.{self.index} {self.state}"


class ApprovalState(models.TextChoices):
    """Where a plan stands that people must approve."""

    WAITING = "waiting", _("Waiting")
    APPROVED = "approved", _("Approved")
    REFUSED = "refused", _("Refused")
    EXPIRED = "expired", _("Expired")
    """Nobody decided in time."""
    WITHDRAWN = "withdrawn", _("Withdrawn")
    """The run ended before anyone decided."""


class PlanApproval(models.Model):
    """A plan that people must approve before it is accepted.

    Made from `approval.requested`. People change it through
    `governance.services.approvals`, until the run takes note: then `settled_at` is set
    and its texts are cleared, for the ledger has them.
    """

    run = models.ForeignKey(Run, models.CASCADE, related_name="+", db_index=False)
    team = models.ForeignKey(Team, models.CASCADE, related_name="+", db_index=False)
    round = models.PositiveSmallIntegerField()
    state = models.CharField(max_length=10, choices=ApprovalState.choices)
    plan_digest = models.CharField(max_length=64)
    """Of the plan as it stands now: `engine.plan.Plan.digest`."""
    edited_plan = models.TextField(default="")
    """JSON, if a person changed the plan; see `governance.approvals.plans`."""
    approvals_needed = models.PositiveSmallIntegerField()
    requester_id = models.UUIDField(null=True)
    """The member the run belongs to, who may not approve it."""
    requested_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    decided_by = models.TextField(default="")
    """Names of those who decided, one in each line."""
    reason = models.TextField(default="")
    """Why it is refused."""
    notified_at = models.DateTimeField(null=True)
    """When mails to those who can approve it were sent."""
    settled_at = models.DateTimeField(null=True)

    objects = TeamQuerySet["PlanApproval"].as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["run"],
                condition=models.Q(settled_at__isnull=True),
                name="run_waits_for_one_approval",
            )
        ]
        indexes = [
            models.Index(
                fields=["team", "requested_at"],
                name="approval_waiting",
                condition=models.Q(settled_at__isnull=True),
            )
        ]

    def __str__(self) -> str:
        return f"{self.run_id} {self.state}"


class PlanVote(models.Model):
    """One person's approval of a plan that needs more than one."""

    approval = models.ForeignKey(
        PlanApproval, models.CASCADE, related_name="votes", db_index=False
    )
    team = models.ForeignKey(Team, models.CASCADE, related_name="+", db_index=False)
    user_id = models.UUIDField()
    name = models.CharField(max_length=200)
    """As the ledger names them."""
    plan_digest = models.CharField(max_length=64)
    """The plan they approved. It does not count for another one."""
    voted_at = models.DateTimeField(auto_now_add=True)

    objects = TeamQuerySet["PlanVote"].as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["approval", "user_id", "plan_digest"],
                name="one_vote_of_each_person",
            )
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.plan_digest[:8]}"


class IdempotencyKey(models.Model):
    """Which run a client's `Idempotency-Key` stands for, for a day."""

    team = models.ForeignKey(Team, models.CASCADE, related_name="+", db_index=False)
    key = models.CharField(max_length=255)
    body_digest = models.BinaryField(max_length=32)
    """SHA-256 of the request's body as it came."""
    # No foreign key: it is claimed before the run is on record.
    run_id = models.UUIDField()
    claimed_at = models.DateTimeField()

    objects = IdempotencyKeys["IdempotencyKey"].as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["team", "key"], name="idempotency_key_is_unique"
            )
        ]
        indexes = [
            # For the sweep of those whose day is over.
            models.Index(fields=["claimed_at"], name="idempotency_key_by_age")
        ]

    def __str__(self) -> str:
        return f"{self.key} {self.run_id}"


class Suspension(models.Model):
    """An order that no run of a team may start, and that those in progress end."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    team = models.ForeignKey(Team, models.CASCADE, null=True, related_name="+")
    """NULL: the whole site."""
    reason = models.CharField(max_length=SUSPENSION_REASON_LENGTH)
    actor_type = models.CharField(max_length=16)
    actor_id = models.CharField(max_length=64)
    actor_name = models.CharField(max_length=200)
    placed_at = models.DateTimeField(auto_now_add=True)
    lifted_at = models.DateTimeField(null=True)
    """NULL: it is in force."""

    objects = TeamQuerySet["Suspension"].as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["team"],
                condition=models.Q(lifted_at=None),
                name="one_suspension_in_force",
            )
        ]

    def __str__(self) -> str:
        return f"{self.scope} {self.reason}"

    @property
    def scope(self) -> str:
        """Return what it stops: team or site."""
        return "site" if self.team_id is None else "team"
