"""People, teams, memberships and API keys as rows.

Every rule one row can hold is a constraint here; everything that touches several rows
or the ledger is a service.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

from django.contrib.auth.models import (
    AbstractBaseUser,
    BaseUserManager,
    PermissionsMixin,
)
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models.functions import Lower
from django.utils.translation import gettext_noop

from apps.core.data_classes import DATA_CLASSES
from apps.core.ids import new_id
from apps.core.scoping import TeamQuerySet

MAX_REQUESTS_PER_MINUTE = 1_000_000
MAX_TOKENS_PER_MINUTE = 1_000_000_000
"""Sanity bounds of rates; both fit every database's integers."""


def _rate(highest: int) -> models.PositiveIntegerField[int | None, int | None]:
    return models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(highest)],
    )


def _rates_are_positive(entity: str) -> models.CheckConstraint:
    # NULL passes a check: no limit.
    return models.CheckConstraint(
        condition=models.Q(requests_per_minute__gt=0)
        & models.Q(tokens_per_minute__gt=0),
        name=f"{entity}_rates_are_positive",
    )


class UserManager(BaseUserManager["User"]):
    """Creates users. Email addresses are kept in lower case."""

    def create_user(
        self, email: str, password: str | None = None, **fields: Any
    ) -> User:
        """Create a user; without a password no sign-in is possible yet."""
        user = self.model(email=email.strip().lower(), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(
        self, email: str, password: str | None = None, **fields: Any
    ) -> User:
        """Create a site operator, who may use the admin."""
        return self.create_user(
            email, password, **{"is_staff": True, "is_superuser": True, **fields}
        )

    def get_by_natural_key(self, username: str | None) -> User:
        """Find a user by email address, whatever its case."""
        return self.get(email=(username or "").strip().lower())


class User(AbstractBaseUser, PermissionsMixin):
    """A person. The email address is the login."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    email = models.EmailField(unique=True)
    """In lower case, so that uniqueness ignores case."""
    name = models.CharField(max_length=150, blank=True)
    is_staff = models.BooleanField(default=False)
    """May use the admin. Says nothing about any team."""
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)
    language = models.CharField(max_length=10, blank=True, default="", db_default="")
    """Code of the language of their pages. Empty: as their browser says."""

    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    objects = UserManager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(email=Lower("email")),
                name="user_email_is_lower_case",
                violation_error_message="Write the e-mail address in lower case.",
            )
        ]

    def __str__(self) -> str:
        return self.email

    def get_full_name(self) -> str:
        """Return the name, or the address of someone who gave none."""
        return self.name or self.email


class Team(models.Model):
    """Owns everything: pools, runs, keys, one audit chain. The unit of isolation."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    name = models.CharField(max_length=100)
    slug = models.SlugField(max_length=60, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    members = models.ManyToManyField(
        User, through="Membership", related_name="teams", blank=True
    )
    requests_per_minute = _rate(MAX_REQUESTS_PER_MINUTE)
    """Of all the team's keys together. None: no limit."""
    tokens_per_minute = _rate(MAX_TOKENS_PER_MINUTE)
    """Of all the team's keys together. None: no limit."""

    class Meta:
        ordering = ("name", "id")
        constraints = [_rates_are_positive("team")]

    def __str__(self) -> str:
        return self.name


class Role(models.TextChoices):
    """What a member may do in a team."""

    OWNER = "owner", gettext_noop("Owner")
    """Everything, other owners included."""
    ADMIN = "admin", gettext_noop("Admin")
    """Pools, keys, members and budgets."""
    MEMBER = "member", gettext_noop("Member")
    """Starts runs."""
    REVIEWER = "reviewer", gettext_noop("Reviewer")
    """Reads runs and signs them off, places legal holds; starts no runs."""
    VIEWER = "viewer", gettext_noop("Viewer")
    """Reads runs."""


class Permission(models.TextChoices):
    """Permissions in a team. Roles and scopes are both sets of these."""

    READ_RUNS = "read_runs", "Read runs"
    RUN = "run", "Start and cancel runs"
    READ_TEAM = "read_team", "See members, pools and budgets"
    MANAGE_POOLS = "manage_pools", "Change pools, workers and credentials"
    MANAGE_KEYS = "manage_keys", "Make and revoke API keys"
    MANAGE_MEMBERS = "manage_members", "Invite, change and remove members"
    MANAGE_BUDGETS = "manage_budgets", "Set budgets and rates"
    READ_AUDIT = "read_audit", "Read the ledger"
    EXPORT_RUNS = "export_runs", "Export the records of runs"
    MANAGE_HOLDS = "manage_holds", "Place and release legal holds"
    MANAGE_POLICY = "manage_policy", "Change the policy that runs must pass"
    APPROVE_PLANS = "approve_plans", "Approve plans that the policy holds back"
    REVIEW_RUNS = "review_runs", "Review runs"
    STOP_RUNS = "stop_runs", "Stop all runs of the team"
    MANAGE_WEBHOOKS = "manage_webhooks", "Send events and the ledger elsewhere"
    MANAGE_ALERTS = "manage_alerts", "Change alert rules, acknowledge and mute alerts"
    SHARE_RUNS = "share_runs", "Share runs and conversations by links"
    MANAGE_SHARING = "manage_sharing", "Allow share links, and revoke those of others"
    MANAGE_TEAM = (
        "manage_team",
        "Rename and delete the team, set its retention period",
    )
    """Owners only."""


class Membership(models.Model):
    """One person's role in one team."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    team = models.ForeignKey(Team, models.CASCADE, related_name="memberships")
    user = models.ForeignKey(User, models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role.choices)
    created_at = models.DateTimeField(auto_now_add=True)
    hides_setup = models.BooleanField(default=False, db_default=False)
    """True: this person dismissed the checklist of the team's set-up."""

    objects = TeamQuerySet["Membership"].as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["team", "user"], name="membership_is_unique"
            ),
            models.CheckConstraint(
                condition=models.Q(role__in=Role.values),
                name="membership_role_is_known",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} is {self.role} of {self.team_id}"


class Invitation(models.Model):
    """An offer to join a team, sent to an email address. Holds no token, a digest."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    team = models.ForeignKey(Team, models.CASCADE, related_name="invitations")
    email = models.EmailField()
    """In lower case. Only a user with this address can accept."""
    role = models.CharField(max_length=10, choices=Role.choices)
    digest = models.CharField(max_length=64, unique=True)
    """HMAC-SHA256 of the token in the link, in hexadecimal."""
    invited_by = models.ForeignKey(
        User, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    accepted_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    objects = TeamQuerySet["Invitation"].as_manager()

    class Meta:
        ordering = ("-created_at", "-id")
        constraints = [
            models.UniqueConstraint(
                fields=["team", "email"],
                condition=models.Q(accepted_at=None, revoked_at=None),
                name="invitation_waits_once",
            ),
            models.CheckConstraint(
                condition=models.Q(role__in=Role.values),
                name="invitation_role_is_known",
            ),
            models.CheckConstraint(
                condition=models.Q(email=Lower("email")),
                name="invitation_email_is_lower_case",
            ),
            models.CheckConstraint(
                condition=models.Q(accepted_at=None) | models.Q(revoked_at=None),
                name="invitation_has_one_end",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.role} of {self.team_id}, invited"

    @property
    def is_waiting(self) -> bool:
        """Say whether it was neither accepted nor revoked; it may have expired."""
        return self.accepted_at is None and self.revoked_at is None

    def is_open(self, now: datetime) -> bool:
        """Say whether it can be accepted at `now`."""
        return self.is_waiting and now < self.expires_at


class Scope(models.TextChoices):
    """What a program may do with an API key."""

    RUN = "runs:create", gettext_noop("Start and cancel runs")
    """Includes the OpenAI-compatible endpoint."""
    READ = "runs:read", gettext_noop("Read runs")
    """Every run of the team, with its steps."""
    DIRECT = "workers:direct", gettext_noop("Call single workers")
    """`worker/<name>` and `<pool>/worker/<name>`: runs without a plan."""
    POOLS_READ = "pools:read", gettext_noop("Read pools and workers")
    POOLS_WRITE = "pools:write", gettext_noop("Change pools, workers and credentials")
    KEYS_READ = "keys:read", gettext_noop("Read the list of API keys")
    KEYS_WRITE = "keys:write", gettext_noop("Create and revoke API keys")
    """A key can only pass on scopes that it has."""
    MEMBERS_READ = "members:read", gettext_noop("Read the list of members")
    MEMBERS_WRITE = "members:write", gettext_noop("Invite, change and remove members")
    BUDGETS_READ = "budgets:read", gettext_noop("Read budgets and usage")
    BUDGETS_WRITE = "budgets:write", gettext_noop("Set budgets and rates")
    AUDIT_READ = (
        "audit:read",
        gettext_noop("Read the ledger, retention and legal holds"),
    )
    AUDIT_EXPORT = "audit:export", gettext_noop("Export the records of runs")
    """With their texts, as files that prove themselves."""


OFFERED_SCOPES = tuple(Scope)
"""What a key can be given. Older keys may have others, and keep them."""
DEFAULT_SCOPES = (Scope.RUN, Scope.READ, Scope.DIRECT)
"""What a program needs that only asks questions."""
TIERS = ("mini", "ultra")
"""Tiers a key may be held to. The pools app, above this one, says what they do."""


class ProgressForm(models.TextChoices):
    """How a stream tells what its run is doing, before the answer begins."""

    REASONING = "reasoning", gettext_noop("As reasoning")
    """Lines that clients show as a model's thoughts."""
    EVENTS = "events", gettext_noop("As named events")
    """Between the chunks, and to the end of the run."""
    OFF = "off", gettext_noop("Not at all")


class Delivery(models.TextChoices):
    """How the answer of a streamed run goes out."""

    LIVE = "live", gettext_noop("Live")
    """Word by word, as the last worker writes it."""
    VERIFIED = "verified", gettext_noop("Verified")
    """When it is complete, so that any fault before that is repaired unseen."""


class ApiKey(models.Model):
    """A team's key for programs. Holds a digest; the key cannot be read again.

    The key belongs to the team and speaks for it. It is revoked when the member who
    made it leaves the team.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    team = models.ForeignKey(Team, models.CASCADE, related_name="api_keys")
    created_by = models.ForeignKey(
        User, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    name = models.CharField(max_length=100)
    prefix = models.CharField(max_length=8, unique=True)
    """Public part of the key, by which the row is found."""
    digest = models.CharField(max_length=64)
    """HMAC-SHA256 of the whole key, in hexadecimal."""
    last_four = models.CharField(max_length=4)
    """End of the key's checksum: lets people tell their keys apart."""
    scopes = models.JSONField(default=list)
    """Values of `Scope`."""
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    """To the minute."""
    always_include_usage = models.BooleanField(default=False)
    """Streams end with usage even if the client did not ask for it."""
    delivery = models.CharField(max_length=8, choices=Delivery.choices, blank=True)
    """How answers go out to this key unless a request says. Empty: as the tier says."""
    progress = models.CharField(max_length=9, choices=ProgressForm.choices, blank=True)
    """What streams tell this key of a run unless a request says. Empty: reasoning."""
    data_class = models.CharField(max_length=12, blank=True)
    """Of its prompts, at least: one of `core.data_classes`. Empty: nothing is said."""
    allowed_tiers = models.JSONField(default=list, blank=True)
    """Some of `TIERS`. Empty: all."""
    allowed_workers = models.JSONField(default=list, blank=True)
    """Names of workers. Empty: all."""
    requests_per_minute = _rate(MAX_REQUESTS_PER_MINUTE)
    """None: no limit but the team's."""
    tokens_per_minute = _rate(MAX_TOKENS_PER_MINUTE)
    """None: no limit but the team's."""
    replaced_by = models.ForeignKey(
        "self", models.SET_NULL, null=True, blank=True, related_name="+"
    )
    """The key it was rotated to; both work until this one expires."""
    created_at = models.DateTimeField(auto_now_add=True)

    objects = TeamQuerySet["ApiKey"].as_manager()

    class Meta:
        ordering = ("-created_at", "-id")
        constraints = [
            _rates_are_positive("api_key"),
            models.CheckConstraint(
                condition=models.Q(delivery__in=["", *Delivery.values]),
                name="api_key_delivery_is_known",
            ),
            models.CheckConstraint(
                condition=models.Q(progress__in=["", *ProgressForm.values]),
                name="api_key_progress_is_known",
            ),
            models.CheckConstraint(
                condition=models.Q(data_class__in=["", *DATA_CLASSES]),
                name="api_key_data_class_is_known",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} (cdk_{self.prefix}…{self.last_four})"

    def is_live(self, now: datetime) -> bool:
        """Say whether the key works at `now`."""
        return self.revoked_at is None and now < self.expires_at
