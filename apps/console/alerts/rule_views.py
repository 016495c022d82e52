"""Alert rules: shown, changed, tested; and which alerts one gets by mail."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext
from django.views.decorators.http import (
    require_GET,
    require_http_methods,
    require_POST,
)

from apps.accounts.models import Permission
from apps.accounts.selectors import mail_is_set_up, member_list
from apps.alerts.models import AlertRule
from apps.alerts.selectors import (
    access_rule,
    alert_rules,
    chosen_members,
    mail_choice,
    rule_words,
)
from apps.alerts.services import alert_rule_update, alert_test, mail_choice_set
from apps.alerts.types import AlertAudience, AlertChannel, AlertKind
from apps.console.alerts.forms import AlertRuleForm, MailChoiceForm
from apps.console.layout import console_page, posted, require, try_change
from apps.core.errors import Conflict, InvalidInput
from apps.web.team_access import TeamRequest, refusal_show, team_view
from apps.webhooks.selectors import webhooks_subscribed

TAB = "alerts"
TESTS = {
    AlertChannel.BELL.value: gettext_noop("Test bell"),
    AlertChannel.MAIL.value: gettext_noop("Test email"),
    AlertChannel.WEBHOOK.value: gettext_noop("Test webhook"),
}
"""What the buttons say that send a test."""
AUDIENCES = {
    AlertAudience.OWNERS.value: gettext_noop("for owners"),
    AlertAudience.ADMINS.value: gettext_noop("for owners and admins"),
}
"""Whom alerts are for, within a sentence."""


@require_GET
@team_view
def alert_rules_page(request: TeamRequest) -> HttpResponseBase:
    """Show the rule of each kind, and whether each channel works."""
    require(request, Permission.READ_TEAM)
    rules = alert_rules(request.team.id)
    chosen = chosen_members(request.team.id, rules)
    context = {
        "rows": [_row(rule, chosen) for rule in rules],
        "has_mail": mail_is_set_up(),
        "has_webhook": bool(webhooks_subscribed(request.team.id, "alert.opened")),
        "channels": [(channel, _(test)) for channel, test in TESTS.items()],
    }
    return console_page(request, "console/alert_rules.html", context, tab=TAB)


@require_http_methods(["GET", "POST"])
@team_view
def alert_rule_edit(request: TeamRequest, alert_kind: str) -> HttpResponseBase:
    """Change a rule."""
    require(request, Permission.MANAGE_ALERTS)
    team = request.team
    rule = access_rule(team.id, alert_kind)
    form = AlertRuleForm(posted(request), rule=rule, members=member_list(team.id))
    if form.is_bound and form.is_valid():
        saved = try_change(
            form,
            lambda: alert_rule_update(
                team=team,
                kind=AlertKind(rule.kind),
                values=form.values,
                actor=request.actor,
            ),
        )
        if saved is not None:
            messages.success(request, _("The rule is saved."))
            return redirect("console:alert_rules")
    context = {
        "form": form,
        "rule": rule,
        "is_stranded": _is_stranded(rule, chosen_members(team.id, [rule])),
        "has_mail": mail_is_set_up(),
        "back": reverse("console:alert_rules"),
    }
    status = 422 if form.is_bound else 200
    return console_page(
        request, "console/alert_rule.html", context, tab=TAB, status=status
    )


@require_POST
@team_view
def alert_test_view(request: TeamRequest) -> HttpResponseBase:
    """Send a test alert by one channel and say what came of it."""
    require(request, Permission.MANAGE_ALERTS)
    try:
        channel = AlertChannel(request.POST.get("channel", ""))
        done = alert_test(
            team=request.team, user=request.user, channel=channel, actor=request.actor
        )
    except ValueError:
        messages.error(request, _("Choose bell, email or webhook."))
    except (Conflict, InvalidInput) as error:
        refusal_show(request, error)
    else:
        messages.success(request, done)
    return redirect("console:alert_rules")


@require_http_methods(["GET", "POST"])
@team_view
def alert_mails_page(request: TeamRequest) -> HttpResponseBase:
    """Choose of which alerts of this team one gets mails."""
    require(request, Permission.READ_TEAM)
    off = mail_choice(request.team.id, request.user.id)
    form = MailChoiceForm(posted(request), kinds_off=off)
    if form.is_bound and form.is_valid():
        mail_choice_set(team=request.team, user=request.user, values=form.values)
        messages.success(request, _("Your choice of emails is saved."))
        return redirect("console:alert_list")
    context = {
        "form": form,
        "has_mail": mail_is_set_up(),
        "back": reverse("console:alert_list"),
    }
    return console_page(request, "console/alert_mails.html", context, tab=TAB)


def _row(rule: AlertRule, chosen: Mapping[str, frozenset[str]]) -> dict[str, Any]:
    named = [each for each in AlertChannel if each.value in rule.channels]
    return {
        "rule": rule,
        "words": rule_words(rule),
        "channels": ", ".join(_(str(each.label)) for each in named)
        or _("Only in the list"),
        "audience": _audience(rule, chosen),
    }


def _audience(rule: AlertRule, chosen: Mapping[str, frozenset[str]]) -> str:
    if _is_stranded(rule, chosen):
        return _("for owners, as all chosen members have left")
    if rule.kind not in chosen:
        return _(AUDIENCES[rule.audience])
    number = len(chosen[rule.kind])
    words = ngettext(
        "for %(number)s chosen member", "for %(number)s chosen members", number
    )
    return words % {"number": number}


def _is_stranded(rule: AlertRule, chosen: Mapping[str, frozenset[str]]) -> bool:
    """Say whether all chosen members have left, so that the alerts are for owners."""
    return rule.kind in chosen and not chosen[rule.kind]
