"""Pages of the policy: its rules in words, one rule, its versions."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import (
    require_GET,
    require_http_methods,
    require_POST,
)

from apps.accounts.models import Permission
from apps.accounts.selectors import api_key_list, member_list
from apps.console.forms.policy import RuleForm, rule_initial
from apps.console.forms.policy_trials import TrialForm
from apps.console.layout import (
    change_and_tell,
    console_page,
    posted,
    require,
    try_change,
)
from apps.console.trial_rows import trial_context
from apps.core.errors import Conflict, NotFound
from apps.governance.models import PolicyTrial, PolicyVersion
from apps.governance.policies.examples import EXAMPLES
from apps.governance.policies.rules import PolicyDocument, Rule
from apps.governance.policies.sentences import sentence
from apps.governance.policies.worker_tags import has_one, not_stated
from apps.governance.selectors import (
    access_policy_trial,
    access_policy_version,
    policy_newest,
    policy_read,
    policy_versions,
    site_policy_newest,
)
from apps.governance.sensitive_data.own_patterns import OwnPattern
from apps.governance.services import (
    policy_replace,
    policy_trial_cancel,
    policy_trial_start,
)
from apps.governance.types import PolicyInForce
from apps.pools.models import Worker
from apps.pools.selectors import policy_tags, worker_list
from apps.web.team_access import TeamRequest, team_view

TAB = "policy"
VERSIONS_SHOWN = 50
"""The REST API has them all."""


@dataclass(frozen=True, slots=True)
class RuleRow:
    """A rule as the page lists it."""

    place: int
    rule: Rule
    sentence: str
    matching: int | None
    """How many workers have one of its tags. None: it names no tags."""
    unstated: int = 0
    """How many more it excludes, as they state no tag of a kind that it names."""


@dataclass(frozen=True, slots=True)
class VersionRow:
    """A version of the policy as its history lists it."""

    row: PolicyVersion
    sentences: tuple[tuple[Rule, str], ...]
    """Each rule and its sentence."""
    patterns: tuple[OwnPattern, ...]
    is_readable: bool


@require_GET
@team_view
def policy_page(request: TeamRequest) -> HttpResponseBase:
    """Show the rules that every run of the team must pass."""
    newest = policy_newest(request.team.id)
    policy = policy_read("team", newest)
    rules = policy.document.rules
    workers = list(worker_list(request.team.id))
    site_newest = site_policy_newest()
    site_policy = policy_read("site", site_newest)
    site_rules = site_policy.document.rules
    context = {
        "rows": _rows(request, rules, [_tags(each) for each in workers]),
        "newest": newest,
        "patterns": policy.document.patterns,
        "has_more_examples": bool(_more_examples(rules)),
        "version": policy.version,
        "unreadable": unreadable_version(policy),
        "worker_count": len(workers),
        "site_policy": site_newest,
        "site_rules": [(rule, sentence(rule, {}, gettext)) for rule in site_rules],
        "site_unreadable": unreadable_version(site_policy),
    }
    return console_page(request, "console/policy.html", context, tab=TAB)


@require_http_methods(["GET", "POST"])
@team_view
def policy_rule_new(request: TeamRequest) -> HttpResponseBase:
    """Add a rule below the others."""
    return _rule_page(request, None)


@require_http_methods(["GET", "POST"])
@team_view
def policy_rule_edit(request: TeamRequest, place: int) -> HttpResponseBase:
    """Change a rule."""
    return _rule_page(request, place)


@require_POST
@team_view
def policy_rule_move(request: TeamRequest, place: int) -> HttpResponseBase:
    """Move a rule up by one place, or down with `down` in the body."""
    rules = _rules_to_change(request, place)
    other = place + (1 if "down" in request.POST else -1)
    if 0 <= other < len(rules):
        rules[place], rules[other] = rules[other], rules[place]
    return _change(request, rules, gettext("The order is saved."))


@require_POST
@team_view
def policy_rule_delete(request: TeamRequest, place: int) -> HttpResponseBase:
    """Delete a rule; the history can bring it back."""
    rules = _rules_to_change(request, place)
    name = rules.pop(place).name
    done = gettext("Rule “{name}” is deleted. The history can restore it.")
    return _change(request, rules, done.format(name=name))


@require_POST
@team_view
def policy_examples(request: TeamRequest) -> HttpResponseBase:
    """Add the example rules that the policy does not have; all are off."""
    require(request, Permission.MANAGE_POLICY)
    newest = policy_newest(request.team.id)
    require_readable(newest)
    rules = _rules(newest)
    more = _more_examples(rules)
    if not more:
        raise Conflict("the policy has all example rules already")
    values = policy_values(newest)
    return change_and_tell(
        request,
        lambda: policy_replace(
            team=request.team,
            values={**values, "rules": [*values["rules"], *more]},
            actor=request.actor,
            expected_version=newest.version if newest else 0,
        ),
        gettext("Example rules are added. They are off: edit a rule to switch it on."),
        "console:policy",
    )


def _more_examples(rules: Sequence[Rule]) -> list[dict[str, Any]]:
    """Return the examples whose names no rule has."""
    names = {rule.name.casefold() for rule in rules}
    return [each for each in EXAMPLES if each["name"].casefold() not in names]


@require_GET
@team_view
def policy_history(request: TeamRequest) -> HttpResponseBase:
    """Show the rules of each version, who made it and when."""
    names = rule_names(request)
    rows = policy_versions(request.team.id)[:VERSIONS_SHOWN]
    versions = [_version_row(row, names) for row in rows]
    context = {"versions": versions}
    return console_page(request, "console/policy_history.html", context, tab=TAB)


def _version_row(row: PolicyVersion, names: Mapping[uuid.UUID, str]) -> VersionRow:
    policy = policy_read("team", row)
    document = policy.document
    sentences = tuple((rule, sentence(rule, names, gettext)) for rule in document.rules)
    return VersionRow(row, sentences, document.patterns, policy.is_readable)


@require_POST
@team_view
def policy_restore(request: TeamRequest, version: int) -> HttpResponseBase:
    """Put the rules of an earlier version in force, as a new version."""
    require(request, Permission.MANAGE_POLICY)
    row = access_policy_version(request.team.id, version)
    done = gettext("The rules of version {number} are in force.")
    return change_and_tell(
        request,
        lambda: policy_replace(
            team=request.team,
            values=row.document or {"rules": []},
            actor=request.actor,
        ),
        done.format(number=version),
        "console:policy",
    )


def _rule_page(request: TeamRequest, place: int | None) -> HttpResponseBase:
    require(request, Permission.MANAGE_POLICY)
    newest = policy_newest(request.team.id)
    policy = policy_read("team", newest)
    rules = policy.document.rules
    initial: dict[str, Any] = {"version": newest.version if newest else 0}
    if place is not None:
        initial |= rule_initial(_at(rules, place))
    form = _form(request, initial, policy.document)
    tries = TrialForm(posted(request))
    trial = None
    if "cancel" in request.POST:
        trial = _cancelled(request)
    elif "try" in request.POST:
        trial = _started(request, form, tries, newest, place)
    elif form.is_valid() and _save(request, form, newest, place):
        done = gettext("Rule “{name}” is saved.")
        messages.success(request, done.format(name=form.cleaned_data["name"]))
        return redirect("console:policy")
    context = {
        "title": _title(None if place is None else rules[place]),
        "form": form,
        "tries": tries,
        "unreadable": unreadable_version(policy),
        **(trial_context(trial, in_form=True) if trial else {}),
        "back": reverse("console:policy"),
    }
    return console_page(request, "console/policy_rule.html", context, tab=TAB)


def _title(rule: Rule | None) -> str:
    if rule is None:
        return gettext("Add a rule")
    return gettext("Rule “{name}”").format(name=rule.name)


def _started(
    request: TeamRequest,
    form: RuleForm,
    tries: TrialForm,
    newest: PolicyVersion | None,
    place: int | None,
) -> PolicyTrial | None:
    """Start a trial of the policy with the rule in the form; None if it is refused."""
    if not (form.is_valid() and tries.is_valid()):
        return None
    values = _with_rule(newest, place, form.values)
    return try_change(
        form,
        lambda: policy_trial_start(
            team=request.team,
            values=values,
            runs=tries.cleaned_data["runs"],
            actor=request.actor,
        ),
    )


def _cancelled(request: TeamRequest) -> PolicyTrial:
    """Cancel the trial that the form names, and return it. Raises: NotFound."""
    try:
        trial_id = uuid.UUID(request.POST["cancel"])
    except ValueError as exc:
        raise NotFound("there is no such trial in this team") from exc
    policy_trial_cancel(trial=access_policy_trial(request.team.id, trial_id))
    return access_policy_trial(request.team.id, trial_id)


def _save(
    request: TeamRequest,
    form: RuleForm,
    newest: PolicyVersion | None,
    place: int | None,
) -> PolicyVersion | None:
    values = _with_rule(newest, place, form.values)
    return try_change(
        form,
        lambda: policy_replace(
            team=request.team,
            values=values,
            actor=request.actor,
            expected_version=form.cleaned_data["version"],
        ),
    )


def _with_rule(
    newest: PolicyVersion | None, place: int | None, rule: dict[str, Any]
) -> dict[str, Any]:
    """Return the policy's values with one more rule, or another one at `place`."""
    values = policy_values(newest)
    rules = values["rules"]
    at = len(rules) if place is None else place
    rules[at : at + 1] = [rule]
    return values


def policy_values(row: PolicyVersion | None) -> dict[str, Any]:
    """Return the JSON values of a policy, with all that is not given.

    Without rules if there is none, or if it cannot be read.
    """
    return policy_read("team", row).document.model_dump(mode="json")


def require_readable(row: PolicyVersion | None) -> None:
    """Raise Conflict if a version cannot be read: a change would drop its rules."""
    version = unreadable_version(policy_read("team", row))
    if version is not None:
        raise Conflict(
            f"version {version} of the policy cannot be read, so it cannot be changed; "
            "restore an earlier version first"
        )


def unreadable_version(policy: PolicyInForce) -> int | None:
    """Return the version of a policy that cannot be read; None: it can."""
    return None if policy.is_readable else policy.version


def _form(
    request: TeamRequest, initial: dict[str, Any], document: PolicyDocument
) -> RuleForm:
    team_id = request.team.id
    tags = {tag for worker in worker_list(team_id) for tag in _tags(worker)}
    members, keys = _people(request), _keys(request)
    return RuleForm(
        posted(request),
        members=members.items(),
        keys=keys.items(),
        own_kinds=[each.name for each in document.patterns],
        known_tags=sorted(tags),
        initial=initial,
    )


def _rules_to_change(request: TeamRequest, place: int) -> list[Rule]:
    """Return the rules, if the member may change the one at `place`."""
    require(request, Permission.MANAGE_POLICY)
    rules = _rules(policy_newest(request.team.id))
    _at(rules, place)
    return rules


def _change(request: TeamRequest, rules: Sequence[Rule], done: str) -> HttpResponseBase:
    version = request.POST.get("version", "")
    values = policy_values(policy_newest(request.team.id))
    values["rules"] = [rule.model_dump(mode="json") for rule in rules]
    return change_and_tell(
        request,
        lambda: policy_replace(
            team=request.team,
            values=values,
            actor=request.actor,
            expected_version=int(version) if version.isdecimal() else -1,
        ),
        done,
        "console:policy",
    )


def _rules(row: PolicyVersion | None) -> list[Rule]:
    return list(policy_read("team", row).document.rules)


def _at(rules: Sequence[Rule], place: int) -> Rule:
    if place >= len(rules):
        raise NotFound(f"the policy has no rule at place {place}")
    return rules[place]


def _rows(
    request: TeamRequest, rules: Sequence[Rule], tags: Sequence[Collection[str]]
) -> list[RuleRow]:
    names = rule_names(request)
    return [
        RuleRow(place, rule, sentence(rule, names, gettext), *_matching(rule, tags))
        for place, rule in enumerate(rules)
    ]


def _tags(worker: Worker) -> Collection[str]:
    return policy_tags(worker.tags, worker.base_url)


def _matching(rule: Rule, tags: Sequence[Collection[str]]) -> tuple[int | None, int]:
    """Return how many workers have a tag of the rule, and how many state no such."""
    if rule.effect.kind not in ("only_workers", "no_workers"):
        return None, 0
    wanted = rule.effect.tags
    without = [own for own in tags if not has_one(own, wanted)]
    is_doubt = rule.effect.kind == "no_workers"
    unstated = sum(is_doubt and bool(not_stated(own, wanted)) for own in without)
    return len(tags) - len(without), unstated


def rule_names(request: TeamRequest) -> dict[uuid.UUID, str]:
    """Return the names of the members and keys that rules may name, by their ids."""
    return {**_people(request), **_keys(request)}


def _people(request: TeamRequest) -> dict[uuid.UUID, str]:
    members = member_list(request.team.id)
    return {member.user_id: member.user.get_full_name() for member in members}


def _keys(request: TeamRequest) -> dict[uuid.UUID, str]:
    return {
        key.id: f"{key.name} (…{key.last_four})"
        for key in api_key_list(request.team.id)
    }
