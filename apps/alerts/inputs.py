"""What people and programs send about alert rules, in its shape."""

from __future__ import annotations

import uuid
from typing import Annotated

from pydantic import AfterValidator, Field

from apps.alerts.types import (
    LONGEST_WINDOW,
    MOST_LEAST,
    MUTE_MINUTES,
    AlertAudience,
    AlertChannel,
    AlertKind,
)
from apps.core.input_parts import InputPart

MOST_MEMBERS = 100


def _in_order(value: list[AlertChannel]) -> list[AlertChannel]:
    return [each for each in AlertChannel if each in value]


def _once(value: list[uuid.UUID]) -> list[uuid.UUID]:
    return sorted(set(value))


def _kinds(value: list[AlertKind]) -> list[AlertKind]:
    return [each for each in AlertKind if each in value]


class AlertRuleChange(InputPart):
    """What can be changed of a rule; None: it stays."""

    is_enabled: bool | None = None
    threshold: Annotated[int, Field(ge=1)] | None = None
    window_minutes: Annotated[int, Field(ge=5, le=LONGEST_WINDOW)] | None = None
    least: Annotated[int, Field(ge=1, le=MOST_LEAST)] | None = None
    channels: Annotated[list[AlertChannel], AfterValidator(_in_order)] | None = None
    audience: AlertAudience | None = None
    member_ids: (
        Annotated[
            list[uuid.UUID], Field(max_length=MOST_MEMBERS), AfterValidator(_once)
        ]
        | None
    ) = None
    mails_when_closed: bool | None = None


class MailChoiceInput(InputPart):
    """The kinds of alerts of which a person wants no mail."""

    kinds_off: Annotated[list[AlertKind], AfterValidator(_kinds)]


class MuteInput(InputPart):
    """For how long an alert is muted; 0: not any more."""

    minutes: Annotated[int, Field(ge=0, le=MUTE_MINUTES)]
