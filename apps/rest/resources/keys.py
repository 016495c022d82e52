"""API keys. A key's secret is in the answer that makes it, and in no other."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any

from django.urls import reverse
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.models import (
    DEFAULT_SCOPES,
    MAX_REQUESTS_PER_MINUTE,
    MAX_TOKENS_PER_MINUTE,
    OFFERED_SCOPES,
    TIERS,
    ApiKey,
    Delivery,
    ProgressForm,
    Scope,
    User,
)
from apps.accounts.principal import Principal
from apps.accounts.rights import MANAGE_KEYS, READ_KEYS
from apps.accounts.selectors import access_api_key, api_key_list
from apps.accounts.services import (
    KEY_LIFETIME,
    MAX_KEY_LIFETIME,
    ROTATION_OVERLAP,
    api_key_issue,
    api_key_revoke,
    api_key_rotate,
    api_key_update,
)
from apps.budgets.selectors import budget_list, standings_forget
from apps.core.data_classes import DATA_CLASSES
from apps.core.errors import NotAllowed
from apps.rest.fields import Flag, Input, Output, TextField, Time, Whole, Word
from apps.rest.schema import HIDDEN, operation
from apps.rest.views import RestView

TAG = "API keys"
MAX_NAMES = 200
"""Workers one key can be held to."""
MAX_OVERLAP_S = 30 * 24 * 3600
EXAMPLE: dict[str, Any] = {
    "id": "0199c0de-0000-7000-8000-000000000002",
    "name": "Build server",
    "prefix": "cdk_8fK2mQ4x",
    "last_four": "9aZ1",
    "scopes": ["runs:create", "runs:read"],
    "allowed_tiers": ["mini"],
    "allowed_workers": [],
    "requests_per_minute": 60,
    "tokens_per_minute": None,
    "always_include_usage": False,
    "delivery": None,
    "progress": None,
    "data_class": None,
    "state": "live",
    "created_by": "Alice",
    "created_at": "2026-11-21T15:53:16.000000Z",
    "expires_at": "2027-02-19T15:53:16.000000Z",
    "revoked_at": None,
    "last_used_at": None,
    "replaced_by": None,
}
SENT = {"name": "Build server", "scopes": ["runs:create", "runs:read"]}


class KeySettingsInput(Input):
    """What can be changed about a key."""

    name = TextField(max_length=100)
    scopes = serializers.ListField(
        child=Word(choices=[(each.value, each.label) for each in OFFERED_SCOPES]),
        allow_empty=False,
        max_length=len(Scope.values),
        default=[str(scope) for scope in DEFAULT_SCOPES],
    )
    allowed_tiers = serializers.ListField(
        child=Word(choices=TIERS),
        max_length=len(TIERS),
        default=[],
        help_text="Empty: all.",
    )
    allowed_workers = serializers.ListField(
        child=TextField(max_length=64),
        max_length=MAX_NAMES,
        default=[],
        help_text="Names. Empty: all.",
    )
    requests_per_minute = Whole(
        min_value=1,
        max_value=MAX_REQUESTS_PER_MINUTE,
        allow_null=True,
        default=None,
        help_text="Null: no limit but the team's.",
    )
    tokens_per_minute = Whole(
        min_value=1,
        max_value=MAX_TOKENS_PER_MINUTE,
        allow_null=True,
        default=None,
        help_text="Null: no limit but the team's.",
    )
    always_include_usage = Flag(
        default=False, help_text="Streams end with usage even if not asked for it."
    )
    delivery = Word(
        choices=Delivery.choices,
        allow_null=True,
        default=None,
        help_text="How streamed answers go out unless the request says: word by word, "
        "or once they are complete. Null: as the tier says.",
    )
    progress = Word(
        choices=ProgressForm.choices,
        allow_null=True,
        default=None,
        help_text="How streams tell what a run is doing unless the request says. Null: "
        "as reasoning, before the answer begins.",
    )
    data_class = Word(
        choices=DATA_CLASSES,
        allow_null=True,
        default=None,
        help_text="Of its prompts, at least; rules of the policy depend on it. Null: "
        "nothing is said.",
    )


class KeyInput(KeySettingsInput):
    """A key to make."""

    lifetime_days = Whole(
        min_value=1,
        max_value=MAX_KEY_LIFETIME.days,
        required=False,
        help_text=f"Default: {KEY_LIFETIME.days}, or as long as the key lives that "
        "makes it, if that is less.",
    )


class KeyRotateInput(Input):
    """How long the old key goes on."""

    overlap_s = Whole(
        max_value=MAX_OVERLAP_S,
        default=int(ROTATION_OVERLAP.total_seconds()),
        help_text="Seconds for which both keys work.",
    )


class OwnWordOutput(serializers.ChoiceField):
    """A word of the key's own, or null for none."""

    def to_representation(self, value: Any) -> Any:
        """Return the word or nothing."""
        return super().to_representation(value) or None


class KeyOutput(Output):
    """A key, without its secret."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    prefix = serializers.SerializerMethodField(help_text="How the key begins.")
    last_four = serializers.CharField()
    scopes = serializers.ListField(child=serializers.CharField())
    allowed_tiers = serializers.ListField(child=serializers.CharField())
    allowed_workers = serializers.ListField(child=serializers.CharField())
    requests_per_minute = serializers.IntegerField(allow_null=True)
    tokens_per_minute = serializers.IntegerField(allow_null=True)
    always_include_usage = serializers.BooleanField()
    delivery = OwnWordOutput(
        choices=Delivery.choices, allow_null=True, help_text="Null: as the tier says."
    )
    progress = OwnWordOutput(
        choices=ProgressForm.choices, allow_null=True, help_text="Null: as reasoning."
    )
    data_class = OwnWordOutput(
        choices=DATA_CLASSES, allow_null=True, help_text="Null: nothing is said."
    )
    state = serializers.SerializerMethodField()
    created_by = serializers.SerializerMethodField(
        help_text="Null: made by a command, or by a person whose account was deleted."
    )
    created_at = Time()
    expires_at = Time()
    revoked_at = Time(allow_null=True)
    last_used_at = Time(allow_null=True, help_text="To the minute.")
    replaced_by = serializers.UUIDField(source="replaced_by_id", allow_null=True)

    def get_prefix(self, api_key: ApiKey) -> str:
        """Return the public beginning of the key."""
        return f"cdk_{api_key.prefix}"

    def get_state(self, api_key: ApiKey) -> str:
        """Return one of live, expired and revoked."""
        if api_key.revoked_at is not None:
            return "revoked"
        return "live" if api_key.is_live(timezone.now()) else "expired"

    def get_created_by(self, api_key: ApiKey) -> str | None:
        """Return who made the key."""
        return api_key.created_by.get_full_name() if api_key.created_by else None


class IssuedKeyOutput(KeyOutput):
    """A new key with its secret, which cannot be read again."""

    secret = serializers.CharField(help_text="Shown this once.")


class Keys(RestView):
    """The keys of the team."""

    tag = TAG
    rights = {"GET": READ_KEYS, "POST": MANAGE_KEYS}

    @operation("key_list", "List API keys", page_of=KeyOutput, example=EXAMPLE)
    def get(self, request: Request) -> Response:
        """Return all keys, dead ones too, newest first."""
        return self.listed(api_key_list(self.principal.team_id), KeyOutput)

    @operation(
        "key_issue",
        "Make an API key",
        body=KeyInput,
        answer=IssuedKeyOutput,
        status=201,
        sent=SENT,
        example={**EXAMPLE, "secret": f"cdk_8fK2mQ4x{HIDDEN}9aZ1"},
    )
    def post(self, request: Request) -> Response:
        """Create a key. Its secret is in this response only.

        A key can pass on only scopes that it has, and its keys do not outlive it.
        """
        values = self.read(KeyInput)
        _keep_capped(self.principal)
        days = values.pop("lifetime_days", None)
        api_key, secret = api_key_issue(
            team=self.principal.team,
            actor=self.principal.actor,
            created_by=_maker(self.principal),
            lifetime=None if days is None else timedelta(days=days),
            within=self.principal.key,
            **values,
        )
        return _issued(self, api_key, secret)


class OneKey(RestView):
    """One key."""

    tag = TAG
    rights = {"GET": READ_KEYS, "PATCH": MANAGE_KEYS}

    @operation("key_get", "Read an API key", answer=KeyOutput, example=EXAMPLE)
    def get(self, request: Request, key_id: uuid.UUID) -> Response:
        """Return a key, dead or alive, without its secret."""
        return Response(KeyOutput(access_api_key(self.principal.team_id, key_id)).data)

    @operation(
        "key_update",
        "Change an API key",
        body=KeySettingsInput,
        is_partial=True,
        answer=KeyOutput,
        errors=(409,),
        sent={"requests_per_minute": 60},
        example=EXAMPLE,
    )
    def patch(self, request: Request, key_id: uuid.UUID) -> Response:
        """Change a living key's name, scopes or limits."""
        changed = api_key_update(
            api_key=access_api_key(self.principal.team_id, key_id),
            actor=self.principal.actor,
            within=self.principal.key,
            **self.read(KeySettingsInput, is_partial=True),
        )
        return Response(KeyOutput(changed).data)


class KeyRotate(RestView):
    """Replacing a key."""

    tag = TAG
    rights = {"POST": MANAGE_KEYS}

    @operation(
        "key_rotate",
        "Replace an API key",
        body=KeyRotateInput,
        answer=IssuedKeyOutput,
        status=201,
        errors=(409,),
        sent={"overlap_s": 86400},
        example={**EXAMPLE, "secret": f"cdk_8fK2mQ4x{HIDDEN}9aZ1"},
    )
    def post(self, request: Request, key_id: uuid.UUID) -> Response:
        """Make a new key like an old one, which ends after an overlap.

        A key that rotates itself or another gets one that ends no later than itself.
        """
        values = self.read(KeyRotateInput)
        _keep_capped(self.principal, key_id)
        api_key, secret = api_key_rotate(
            api_key=access_api_key(self.principal.team_id, key_id),
            actor=self.principal.actor,
            created_by=_maker(self.principal),
            overlap=timedelta(seconds=values["overlap_s"]),
            within=self.principal.key,
        )
        standings_forget(self.principal.team_id)  # its budgets bind the new key as well
        return _issued(self, api_key, secret)


class KeyRevoke(RestView):
    """Ending a key."""

    tag = TAG
    rights = {"POST": MANAGE_KEYS}

    @operation(
        "key_revoke",
        "Revoke an API key",
        answer=KeyOutput,
        example={**EXAMPLE, "state": "revoked"},
    )
    def post(self, request: Request, key_id: uuid.UUID) -> Response:
        """End a key at once and for good."""
        api_key = access_api_key(self.principal.team_id, key_id)
        return Response(
            KeyOutput(api_key_revoke(api_key=api_key, actor=self.principal.actor)).data
        )


def _keep_capped(principal: Principal, key_id: uuid.UUID | None = None) -> None:
    """Refuse a key under a budget a key without one.

    `key_id` is the key to be rotated; None: a new one. Raises: NotAllowed.
    """
    if principal.key_id is None:
        return
    for status in budget_list(principal.team_id):
        if principal.key_id in status.key_ids and key_id not in status.key_ids:
            raise NotAllowed(
                "the key that asks has a budget of its own, which another would lack"
            )


def _maker(principal: Principal) -> User | None:
    """Return the person behind a new key: it ends with their membership."""
    if principal.key is None:
        return principal.user
    return access_api_key(principal.team_id, principal.key.key_id).created_by


def _issued(view: RestView, api_key: ApiKey, secret: str) -> Response:
    """Answer with a new key and, this once, its secret."""
    data = {**KeyOutput(api_key).data, "secret": secret}
    return view.created(data, reverse("rest:key", args=[api_key.id]))
