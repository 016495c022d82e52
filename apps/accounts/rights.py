"""The rights that operations require: a permission of a role, a scope of an API key.

Roles and scopes differ in grain: a member sees all of a team's settings or none, a key
only what it was made for. So each operation names both.
"""

from __future__ import annotations

from dataclasses import dataclass

from apps.accounts.models import Permission, Scope


@dataclass(frozen=True, slots=True)
class Right:
    """The access that an operation requires."""

    permission: Permission
    """The permission that a member's role must give."""
    scopes: tuple[Scope, ...] = ()
    """A key needs any one of these. Empty: no key may."""


ANY_KEY = tuple(Scope)
"""For what a key knows already, such as its own team."""
READ_RUNS = Right(Permission.READ_RUNS, (Scope.READ,))
READ_ENTRIES = Right(Permission.READ_RUNS, (Scope.READ, Scope.AUDIT_READ))
READ_LEDGER = Right(Permission.READ_AUDIT, (Scope.AUDIT_READ,))
"""All entries of the team, not those of one run alone."""
CHECK_LEDGER = Right(Permission.READ_AUDIT)
KEEP_VIEWS = Right(Permission.READ_RUNS)
"""Of the list of runs; they belong to people."""
SHARE_RUNS = Right(Permission.SHARE_RUNS)
"""People alone: a link ends when the member who made it leaves."""
REVOKE_OWN_LINKS = Right(Permission.READ_RUNS)
"""Also of a member who may not share any more."""
MANAGE_SHARING = Right(Permission.MANAGE_SHARING)
READ_SHARING = Right(Permission.READ_TEAM, (Scope.AUDIT_READ,))
EXPORT_RUNS = Right(Permission.EXPORT_RUNS, (Scope.AUDIT_EXPORT,))
RUN = Right(Permission.RUN, (Scope.RUN,))
RATE = Right(Permission.READ_RUNS, (Scope.RUN,))
"""Give feedback on a run."""
READ_PRESETS = Right(Permission.READ_RUNS, (Scope.READ, Scope.RUN))
"""Those that the principal sees."""
DIRECT = Right(Permission.RUN, (Scope.DIRECT,))
"""Needed besides RUN to call one worker without a plan."""
READ_TEAM = Right(Permission.READ_TEAM, ANY_KEY)
SET_RATES = Right(Permission.MANAGE_BUDGETS, (Scope.BUDGETS_WRITE,))
APPROVE_PLANS = Right(Permission.APPROVE_PLANS)
"""People alone approve: no key may."""
READ_APPROVALS = Right(Permission.READ_RUNS, (Scope.READ, Scope.AUDIT_READ))
REVIEW_RUNS = Right(Permission.REVIEW_RUNS)
"""People alone judge: no key may."""
READ_REVIEWS = Right(Permission.REVIEW_RUNS, (Scope.AUDIT_READ,))
ASK_REVIEW = Right(Permission.READ_RUNS, (Scope.RUN,))
"""Send a run to the review queue."""
MANAGE_REVIEWS = Right(Permission.MANAGE_POLICY)
"""Change which runs are reviewed, and the rubric."""
READ_REVIEW_SETTINGS = Right(Permission.READ_TEAM, (Scope.AUDIT_READ,))
STOP_RUNS = Right(Permission.STOP_RUNS)
MANAGE_TEAM = Right(Permission.MANAGE_TEAM)
MANAGE_WEBHOOKS = Right(Permission.MANAGE_WEBHOOKS)
"""People alone: a key that leaks must not send the ledger elsewhere."""
READ_ALERTS = Right(Permission.READ_TEAM, (Scope.READ,))
MANAGE_ALERTS = Right(Permission.MANAGE_ALERTS)
"""People alone: a key that leaks must not silence alerts."""
READ_POLICY = Right(Permission.READ_TEAM, (Scope.AUDIT_READ,))
MANAGE_POLICY = Right(Permission.MANAGE_POLICY)
READ_RETENTION = Right(Permission.READ_TEAM, (Scope.AUDIT_READ,))
MANAGE_HOLDS = Right(Permission.MANAGE_HOLDS)
READ_MEMBERS = Right(Permission.READ_TEAM, (Scope.MEMBERS_READ, Scope.MEMBERS_WRITE))
READ_INVITATIONS = Right(
    Permission.MANAGE_MEMBERS, (Scope.MEMBERS_READ, Scope.MEMBERS_WRITE)
)
MANAGE_MEMBERS = Right(Permission.MANAGE_MEMBERS, (Scope.MEMBERS_WRITE,))
READ_KEYS = Right(Permission.MANAGE_KEYS, (Scope.KEYS_READ, Scope.KEYS_WRITE))
MANAGE_KEYS = Right(Permission.MANAGE_KEYS, (Scope.KEYS_WRITE,))
READ_POOLS = Right(Permission.READ_TEAM, (Scope.POOLS_READ, Scope.POOLS_WRITE))
MANAGE_POOLS = Right(Permission.MANAGE_POOLS, (Scope.POOLS_WRITE,))
READ_EVALUATIONS = Right(Permission.READ_RUNS, (Scope.READ,))
MANAGE_EVALUATIONS = Right(Permission.MANAGE_POOLS, (Scope.POOLS_WRITE,))
"""Import suites and start evaluations: they cost what many runs do."""
READ_LEARNING = READ_EVALUATIONS
"""See the consent to learning data, and how much of it there is."""
MANAGE_LEARNING = Right(Permission.MANAGE_POLICY)
"""People alone consent: no key may."""
EXPORT_LEARNING = Right(Permission.MANAGE_POLICY, (Scope.AUDIT_EXPORT,))
READ_BUDGETS = Right(Permission.READ_TEAM, (Scope.BUDGETS_READ, Scope.BUDGETS_WRITE))
MANAGE_BUDGETS = Right(Permission.MANAGE_BUDGETS, (Scope.BUDGETS_WRITE,))
