"""Makes a trial that has ended, for tests about other things."""

from __future__ import annotations

import uuid

from apps.accounts.models import Team
from apps.governance.services import policy_trial_start
from apps.governance.trials.jobs import policy_trial_take
from tests.factories import ACTOR


def make_trial(team: Team, name: str = "No Falcon") -> uuid.UUID:
    """Have a draft with one rule tried; return the id of the trial."""
    rule = {"name": name, "effect": {"kind": "deny"}}
    trial = policy_trial_start(
        team=team, values={"rules": [rule]}, runs=10, actor=ACTOR
    )
    for _ in policy_trial_take() or ():
        pass
    return trial.id
