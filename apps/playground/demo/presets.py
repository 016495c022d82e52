"""The presets of the demo's team: shared, with variables of every kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apps.accounts.models import Role, Team, User
from apps.accounts.principal import member_principal
from apps.presets.selectors import preset_list
from apps.presets.services import preset_create

PRESETS: Sequence[Mapping[str, Any]] = (
    {
        "name": "Reply to a customer",
        "description": "A first answer to a support ticket, ready to be checked.",
        "system": "You write for the support team of a software company. Answer only "
        "what the ticket asks, promise nothing, and name the next step.",
        "prompt": "Write a reply to this ticket in {{language|English}}, in a "
        "{{tone|friendly}} tone and with at most {{words|120}} words.\n\n"
        "Ticket:\n{{ticket}}",
        "settings": {"model": "conductor-ultra", "temperature": 0.4, "max_time_s": 120},
    },
    {
        "name": "Check a calculation",
        "description": "Works a calculation out twice, in different ways.",
        "prompt": "What is {{calculation}}? Work it out in two different ways, and say "
        "whether both results are the same.",
        "settings": {
            "model": "conductor-ultra",
            "temperature": 0.0,
            "max_steps": 4,
            "max_cost_micros": 50_000,
        },
    },
    {
        "name": "Sum up a meeting",
        "description": "Decisions, open questions and tasks from notes.",
        "prompt": "Sum up these notes for {{readers|people who were not there}}: first "
        "the decisions, then the open questions, then who does what until when. Leave "
        "out what is not in the notes.\n\n{{notes}}",
        "settings": {"model": "conductor-mini", "data_class": "internal"},
    },
)


def presets_make(team: Team, owner: User) -> None:
    """Make the presets, unless the team has some."""
    principal = member_principal(owner, team, Role.OWNER, {})
    if not preset_list(principal, is_archived=None).exists():
        for values in PRESETS:
            preset_create(principal=principal, values={**values, "is_shared": True})
