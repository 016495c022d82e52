"""Making an API key together with the budget that caps it: both, or neither."""

from __future__ import annotations

from django.db import transaction

from apps.accounts.models import ApiKey
from apps.accounts.services import api_key_issue
from apps.budgets.services import budget_create
from apps.console.forms.keys import NewKeyForm
from apps.web.team_access import TeamRequest


@transaction.atomic
def key_make(request: TeamRequest, form: NewKeyForm) -> tuple[ApiKey, str]:
    """Issue the key a valid form asks for; return its row and the key itself.

    Raises: InvalidInput, with nothing saved.
    """
    api_key, secret = api_key_issue(
        team=request.team,
        actor=request.actor,
        created_by=request.user,
        lifetime=form.lifetime,
        **form.settings,
    )
    limit = form.cleaned_data["budget_usd"]
    if limit is not None:
        values = {
            "kind": "key",
            "api_key_id": str(api_key.id),
            "period": form.cleaned_data["budget_period"] or "day",
            "limit_usd": format(limit, "f"),
        }
        budget_create(team=request.team, values=values, actor=request.actor)
    return api_key, secret
