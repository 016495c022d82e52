"""The page on which a team chooses what it reviews, and by what it judges."""

from __future__ import annotations

from django.contrib import messages
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods

from apps.accounts.models import Permission
from apps.accounts.selectors import role_allows
from apps.console.forms.reviews import ReviewSettingsForm, review_settings_initial
from apps.console.layout import console_page, posted, require, try_change
from apps.governance.models import ReviewSettings
from apps.governance.reviews.reads import review_settings
from apps.governance.reviews.rules import ReviewDocument
from apps.governance.services import review_settings_replace
from apps.web.team_access import TeamRequest, team_view


@require_http_methods(["GET", "POST"])
@team_view
def review_settings_page(request: TeamRequest) -> HttpResponseBase:
    """Show the rules that feed the review queue, and change them."""
    if request.method == "POST":
        require(request, Permission.MANAGE_POLICY)
    row = review_settings(request.team.id)
    rules = ReviewDocument.model_validate(row.document)
    initial = review_settings_initial(rules, row.version)
    form = ReviewSettingsForm(posted(request), initial=initial)
    if form.is_valid() and _save(request, form):
        messages.success(request, gettext("The rules and the rubric are saved."))
        return redirect("console:review_settings")
    if not role_allows(request.membership.role, Permission.MANAGE_POLICY):
        for field in form.fields.values():
            field.disabled = True
    context = {"form": form, "row": row, "back": reverse("console:review_settings")}
    return console_page(
        request, "console/review_settings.html", context, tab="review_settings"
    )


def _save(request: TeamRequest, form: ReviewSettingsForm) -> ReviewSettings | None:
    return try_change(
        form,
        lambda: review_settings_replace(
            team=request.team,
            values=form.values,
            actor=request.actor,
            expected_version=form.cleaned_data["version"],
        ),
    )
