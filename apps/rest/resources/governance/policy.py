"""The team's policy: the rules that every run must pass."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.rights import MANAGE_POLICY, READ_POLICY
from apps.governance.models import PolicyVersion, SitePolicyVersion
from apps.governance.selectors import (
    access_policy_version,
    policy_newest,
    policy_read,
    policy_versions,
    site_policy_newest,
)
from apps.governance.services import policy_replace
from apps.governance.types import PolicyName
from apps.rest.fields import Input, Output, Time
from apps.rest.schema import operation
from apps.rest.version_tags import IF_MATCH, etag_of, expected_version
from apps.rest.views import RestView

TAG = "Policy"
ETAG = OpenApiParameter(
    "ETag",
    str,
    OpenApiParameter.HEADER,
    response=[200],
    description='The policy\'s version, like `"3"`; `"0"` before the first rule.',
)
RULES: list[dict[str, Any]] = [
    {
        "name": "Admins may",
        "conditions": {"roles": ["owner", "admin"]},
        "effect": {"kind": "allow"},
    },
    {
        "name": "Falcon stays in the EU",
        "conditions": {"words": ["Project Falcon"]},
        "effect": {"kind": "only_workers", "tags": ["eu"]},
    },
    {
        "name": "Dear plans",
        "mode": "shadow",
        "conditions": {"cost_over_usd": "0.5"},
        "effect": {"kind": "deny"},
    },
]
PATTERNS: list[dict[str, Any]] = [
    {"name": "customer_number", "pattern": r"\bK-\d{6}\b", "data_class": "confidential"}
]
EXAMPLE: dict[str, Any] = {
    "version": 3,
    "updated_at": "2026-11-21T15:53:16.000000Z",
    "updated_by": "Alice",
    "rules": RULES,
    "patterns": PATTERNS,
    "error": None,
}
NEVER: dict[str, Any] = {
    "version": 0,
    "updated_at": None,
    "updated_by": None,
    "rules": [],
    "patterns": [],
    "error": None,
}
SITE_EXAMPLE: dict[str, Any] = {
    "version": 2,
    "updated_at": "2026-11-21T15:53:16.000000Z",
    "rules": RULES[1:2],
    "patterns": [],
    "error": None,
}
SITE_NEVER: dict[str, Any] = {
    "version": 0,
    "updated_at": None,
    "rules": [],
    "patterns": [],
    "error": None,
}
UNREADABLE = "policy_unreadable"
ERROR_HELP = (
    "Null: the version can be read. Else every run is denied while it is in force; "
    "`rules` and `patterns` are as they are stored."
)
RULES_HELP = (
    "In the order in which they are checked. Each has a `name`, `conditions` that must "
    "all hold, an `effect` (`kind` is allow, deny, only_workers, no_workers, "
    "no_conductor, limit, redact or require_approval) and a `mode` (enforce, shadow or "
    "off). See docs/governance.md."
)
PATTERNS_HELP = (
    "The policy's own kinds of sensitive data: each has a `name`, a `pattern` of RE2 "
    "and a `data_class`. Rules name them in `contains` and `kinds`."
)


class PolicyInput(Input):
    """All rules of the policy."""

    rules = serializers.ListField(child=serializers.DictField(), help_text=RULES_HELP)
    patterns = serializers.ListField(
        child=serializers.DictField(), required=False, help_text=PATTERNS_HELP
    )


class PolicyErrorOutput(Output):
    """Why a version denies every run while it is in force."""

    code = serializers.CharField(help_text=f"`{UNREADABLE}`.")
    message = serializers.CharField()


class PolicyOutput(Output):
    """The rules in force."""

    version = serializers.IntegerField(help_text="0: there never was a rule.")
    updated_at = Time(allow_null=True)
    updated_by = serializers.CharField(allow_null=True)
    rules = serializers.ListField(child=serializers.DictField(), help_text=RULES_HELP)
    patterns = serializers.ListField(
        child=serializers.DictField(), help_text=PATTERNS_HELP
    )
    error = PolicyErrorOutput(allow_null=True, help_text=ERROR_HELP)


class SitePolicyOutput(Output):
    """The rules that bind all teams."""

    version = serializers.IntegerField(help_text="0: there never was a rule.")
    updated_at = Time(allow_null=True)
    rules = serializers.ListField(child=serializers.DictField(), help_text=RULES_HELP)
    patterns = serializers.ListField(
        child=serializers.DictField(), help_text=PATTERNS_HELP
    )
    error = PolicyErrorOutput(allow_null=True, help_text=ERROR_HELP)


class PolicyVersionOutput(Output):
    """A version of the policy."""

    version = serializers.IntegerField()
    created_at = Time()
    actor_name = serializers.CharField()


class PolicyView(RestView):
    """The rules in force."""

    tag = TAG
    rights = {"GET": READ_POLICY, "PUT": MANAGE_POLICY}

    @operation(
        "policy_get",
        "Read the policy",
        answer=PolicyOutput,
        parameters=[ETAG],
        example=EXAMPLE,
    )
    def get(self, request: Request) -> Response:
        """Return the rules in force; the `ETag` is what a change must name."""
        return self._answer()

    @operation(
        "policy_replace",
        "Replace the policy",
        body=PolicyInput,
        answer=PolicyOutput,
        parameters=[IF_MATCH, ETAG],
        errors=(412, 428),
        sent={"rules": RULES, "patterns": PATTERNS},
        example=EXAMPLE,
    )
    def put(self, request: Request) -> Response:
        """Put these rules in force for new runs and for the next step of others.

        Equal rules make no new version. Only people may change the policy.
        """
        policy_replace(
            team=self.principal.team,
            values=self.read(PolicyInput),
            actor=self.principal.actor,
            expected_version=expected_version(request),
        )
        return self._answer()

    def _answer(self) -> Response:
        row = policy_newest(self.principal.team_id)
        told = _told(row) if row else NEVER
        response = Response(PolicyOutput(told).data)
        response["ETag"] = etag_of(told["version"])
        return response


class SitePolicyView(RestView):
    """The rules that bind all teams."""

    tag = TAG
    rights = {"GET": READ_POLICY}

    @operation(
        "site_policy_get",
        "Read the site policy",
        answer=SitePolicyOutput,
        example=SITE_EXAMPLE,
    )
    def get(self, request: Request) -> Response:
        """Return the rules that the operator has set for all teams.

        They are checked in addition to the team's own, which cannot lift them.
        """
        row = site_policy_newest()
        told = _version_told("site", row) if row else SITE_NEVER
        return Response(SitePolicyOutput(told).data)


class PolicyVersions(RestView):
    """What the policy was."""

    tag = TAG
    rights = {"GET": READ_POLICY}

    @operation(
        "policy_version_list",
        "List the versions of the policy",
        page_of=PolicyVersionOutput,
    )
    def get(self, request: Request) -> Response:
        """Return the versions, newest first."""
        return self.listed(policy_versions(self.principal.team_id), PolicyVersionOutput)


class OnePolicyVersion(RestView):
    """A version of the policy."""

    tag = TAG
    rights = {"GET": READ_POLICY}

    @operation(
        "policy_version_get",
        "Read a version of the policy",
        answer=PolicyOutput,
        example=EXAMPLE,
    )
    def get(self, request: Request, version: int) -> Response:
        """Return the rules of a version."""
        row = access_policy_version(self.principal.team_id, version)
        return Response(PolicyOutput(_told(row)).data)


def _told(row: PolicyVersion) -> dict[str, Any]:
    return {**_version_told("team", row), "updated_by": row.actor_name}


def _version_told(
    name: PolicyName, row: PolicyVersion | SitePolicyVersion
) -> dict[str, Any]:
    read, error = policy_read(name, row), None
    if not read.is_readable:
        what = "policy" if name == "team" else "site policy"
        message = (
            f"Version {row.version} of the {what} cannot be read, so every run is "
            "denied while it is in force."
        )
        error = {"code": UNREADABLE, "message": message}
    return {
        "version": row.version,
        "updated_at": row.created_at,
        "rules": _objects(row.document, "rules"),
        "patterns": _objects(row.document, "patterns"),
        "error": error,
    }


def _objects(document: Any, name: str) -> list[Any]:
    """Return a list of a stored document; empty where it holds anything else."""
    found = document.get(name) if isinstance(document, dict) else None
    items = found if isinstance(found, list) else []
    return [each for each in items if isinstance(each, dict)]
