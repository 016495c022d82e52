"""The operator's page of the site policy: the rules that bind all teams."""

from __future__ import annotations

import json
from typing import cast

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from apps.accounts.models import User
from apps.accounts.principal import user_actor
from apps.core.errors import ConductorError
from apps.governance.models import SitePolicyVersion
from apps.governance.policies.rules import rules_parse
from apps.governance.policies.sentences import sentence
from apps.governance.selectors import policy_read, site_policy_versions
from apps.governance.services import site_policy_replace
from apps.web.request_context import context_of
from apps.web.team_access import refusal_show

VERSIONS_SHOWN = 20


@require_http_methods(["GET", "POST"])
def site_policy(request: HttpRequest) -> HttpResponse:
    """Show the rules in words and as JSON; put others in force."""
    if not request.user.is_superuser:
        raise PermissionDenied
    if request.method == "POST":
        text, version = request.POST.get("policy", ""), request.POST.get("version", "")
        try:
            _change(request, text, version)
        except ConductorError as error:
            refusal_show(request, error)
            return _page(request, text, version, error.http_status)
        messages.success(request, "The site policy is saved.")
        return redirect("site_policy")
    return _page(request)


def _change(request: HttpRequest, text: str, version: str) -> None:
    """Put the rules of a form in force. Raises: ConductorError."""
    site_policy_replace(
        values=rules_parse(text),
        actor=user_actor(cast(User, request.user), context_of(request)),
        expected_version=int(version) if version.isdecimal() else -1,
    )


def _page(
    request: HttpRequest, text: str = "", version: str = "", status: int = 200
) -> HttpResponse:
    """Render the page; with `text`, what was sent and is refused stays in the form."""
    rows = list(site_policy_versions()[:VERSIONS_SHOWN])
    newest = rows[0] if rows else None
    newest_version = newest.version if newest else 0
    sentences = _sentences(newest)
    context = {
        "tab": "site_policy",
        "title": "Site policy",
        "newest": newest,
        "sentences": sentences,
        "is_unreadable": sentences is None,
        "earlier": [(row, _sentences(row), _as_json(row)) for row in rows[1:]],
        "text": text or _as_json(newest),
        "version": version or newest_version,
        "newest_version": newest_version,
    }
    return render(request, "site/policy.html", context, status=status)


def _as_json(row: SitePolicyVersion | None) -> str:
    values = row.document if row else {}
    if isinstance(values, dict):
        values = {"rules": [], **values}
    return json.dumps(values, ensure_ascii=False, indent=2)


def _sentences(row: SitePolicyVersion | None) -> list[tuple[str, str, str]] | None:
    """Return the name, mode and sentence of each rule; None: it cannot be read."""
    policy = policy_read("site", row)
    if not policy.is_readable:
        return None
    rules = policy.document.rules
    return [(rule.name, rule.mode, sentence(rule, {})) for rule in rules]
