"""The playground: a prompt and its settings, and the conversations of a member."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.contrib import messages
from django.http import JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.http import require_POST, require_safe

from apps.accounts.models import Role
from apps.accounts.rights import RUN
from apps.budgets.rate_limits import Admission
from apps.conversations.models import Conversation, Turn
from apps.conversations.selectors import (
    UNNAMED,
    ShownTurn,
    conversation_lines,
    conversation_search,
    conversations_of_run,
    folder_list,
    shown_turns,
    titles_of,
    turn_texts,
)
from apps.conversations.services import (
    conversation_change,
    conversation_create,
    conversation_delete,
    conversation_of_run,
    conversation_show,
    run_of,
    turn_of,
    turn_prepare,
    turn_repeat,
    turn_start,
)
from apps.core.data_classes import DATA_CLASSES
from apps.core.errors import Conflict, InvalidFields, InvalidInput
from apps.governance.selectors import policies_in_force
from apps.playground.choices import (
    PoolChoice,
    direct_models,
    pool_choices,
)
from apps.playground.composing.asked import (
    conversation_own,
    id_in,
    prompt_asked,
    prompt_of_form,
)
from apps.playground.composing.estimate_text import estimate_text
from apps.playground.composing.presets import (
    preset_asked,
    preset_sent,
    settings_with,
)
from apps.playground.composing.settings import settings_in
from apps.playground.forms import RunForm
from apps.playground.run_page import (
    RunBody,
    compose,
    failed_worker,
    pace_of,
    with_approvers,
)
from apps.playground.samples import Sample, samples_shown
from apps.playground.sharing.views import may_share
from apps.pools.models import TierName
from apps.runs.admission import ordered_by, run_admit
from apps.runs.records.run_view import RunView
from apps.runs.selectors import (
    access_run,
    run_estimate,
    run_events,
    run_record,
    suspension_of,
)
from apps.runs.types import RunOrder
from apps.web.middleware import wants_json
from apps.web.setup_checklist import setup_checklist
from apps.web.team_access import TeamRequest, page, team_view

if TYPE_CHECKING:
    from apps.evaluation.reports.headline import Headline

EARLIER_SHOWN = 20
"""Turns before the last one; a link shows those before them."""
LISTED, MOST_LISTED = 100, 1_000
"""Conversations in the list at the side: at first, and when all are asked for. The
search finds the others."""
TIERS = frozenset(TierName.values)
"""What is shown to a team without a pool."""


@require_safe
@team_view
def index(request: TeamRequest) -> HttpResponseBase:
    """Show an empty playground, or a run from elsewhere that can be continued here.

    Reviewers start no runs: what they are here for is the queue.
    """
    if request.membership.role == Role.REVIEWER and not request.GET:
        return redirect("playground:review_list")
    run_id = _run_in_query(request, "run")
    if run_id and (
        known := conversations_of_run(request.team.id, request.actor, run_id)
    ):
        return redirect(_address(known[0]))
    body = _body(request, run_id)
    source = body or _body(request, _run_in_query(request, "from"))
    asked = source.story.prompt if source and not body else ""
    return _page(request, body=body, source=source, prompt=asked)


@require_safe
@team_view
def conversation_page(
    request: TeamRequest, conversation_id: uuid.UUID
) -> HttpResponseBase:
    """Show the turns of a conversation, the last one as it happens."""
    conversation = conversation_own(request, conversation_id)
    turns = shown_turns(conversation)
    replaced = _edited(request, turns)
    edited = turn_texts(replaced) if replaced else None
    if replaced:
        turns = turns[: turns.index(replaced)]
    earlier, last = turns[:-1], turns[-1] if turns else None
    first = 0 if "all" in request.GET else max(0, len(earlier) - EARLIER_SHOWN)
    body = _body(request, last.run.id) if last else None
    return _page(
        request,
        conversation=conversation,
        earlier=[turn_texts(turn) for turn in earlier[first:]],
        hidden_turns=first,
        last=turn_texts(last) if last else None,
        replaced=replaced,
        body=body,
        source=body,
        prompt=edited.prompt if edited else "",
        attached=edited.attachments if edited else (),
        model=last.run.model if last else "",
        pace=pace_of(last.run) if last else None,
    )


@require_POST
@team_view
def run_create(request: TeamRequest) -> HttpResponseBase:
    """Start the run of a turn: JSON for the page's script, a redirect for a form."""
    request.principal.require(RUN)
    form = _checked(request)
    conversation, is_new = _continued(request)
    try:
        turn = _turn_start(request, conversation, form)
    except Exception:
        if is_new:
            conversation_delete(conversation)
        raise
    url = _address(conversation)
    if wants_json(request):
        return JsonResponse({"id": str(turn.run_id), "url": url}, status=201)
    return redirect(url)


@require_POST
@team_view
def estimate(request: TeamRequest) -> HttpResponseBase:
    """Say what a run may cost before it begins, with all that was said before it."""
    request.principal.require(RUN)
    form = _checked(request)
    response = JsonResponse({"text": _estimate_text(request, form)})
    response["Cache-Control"] = "no-store"
    return response


@require_POST
@team_view
def conversation_edit(
    request: TeamRequest, conversation_id: uuid.UUID
) -> HttpResponseBase:
    """Change the name, the folder and whether it is pinned."""
    request.principal.require(RUN)
    conversation = conversation_own(request, conversation_id)
    values = {
        "name": request.POST.get("name", ""),
        "folder": request.POST.get("folder", ""),
        "is_pinned": "is_pinned" in request.POST,
    }
    try:
        conversation_change(conversation, values)
    except InvalidFields as exc:
        messages.error(
            request, gettext("Not saved. {reason}.").format(reason=exc.message)
        )
    return redirect(_address(conversation))


@require_POST
@team_view
def conversation_remove(
    request: TeamRequest, conversation_id: uuid.UUID
) -> HttpResponseBase:
    """Delete a conversation; its runs stay."""
    request.principal.require(RUN)
    conversation_delete(conversation_own(request, conversation_id), request.actor)
    messages.success(request, gettext("Conversation deleted. Its runs stay on record."))
    return redirect("playground:index")


@require_POST
@team_view
def variant_show(request: TeamRequest, conversation_id: uuid.UUID) -> HttpResponseBase:
    """Show another variant of a turn, and what followed it."""
    request.principal.require(RUN)
    conversation = conversation_own(request, conversation_id)
    turn_id = id_in(request.POST.get("turn", ""))
    if turn_id is None:
        raise InvalidInput("expected the id of a turn", param="turn")
    conversation_show(conversation, turn_id)
    return redirect(_address(conversation))


@require_POST
@team_view
def turn_again(
    request: TeamRequest, conversation_id: uuid.UUID, turn_id: uuid.UUID
) -> HttpResponseBase:
    """Ask the same again, as another variant of a turn."""
    request.principal.require(RUN)
    conversation = conversation_own(request, conversation_id)
    turn = turn_of(conversation, turn_id)
    run = run_of(conversation, turn)
    prompt = run_record(request.team.id, run.id).prompt
    admission = _admit(request, run.model, prompt)
    turn_repeat(conversation, turn, request.principal, admission, source="playground")
    return redirect(_address(conversation))


def _page(
    request: TeamRequest,
    *,
    body: RunBody | None = None,
    source: RunBody | None = None,
    prompt: str = "",
    model: str = "",
    conversation: Conversation | None = None,
    **more: Any,
) -> HttpResponseBase:
    pools = pool_choices(request.team.id)
    chosen = _settings_of(source.story if source else RunView(), pools, model)
    if used := preset_asked(request, pools):
        chosen = settings_with(chosen, used, pools)
        prompt = used.opened.content.prompt
    is_simulated = _is_simulated(pools)
    found = None if body or conversation else _headline(request.team.id)
    samples = samples_shown(is_simulated=is_simulated, found=found)
    query = request.GET.get("query", "")[:200]
    search = conversation_search(request.team.id, request.actor, query=query)
    most = MOST_LISTED if "chats" in request.GET else LISTED
    listed = list(search.found[: most + 1])
    lines = conversation_lines(search, listed[:most], query)
    titles = titles_of([*listed, *([conversation] if conversation else [])])
    titles = {i: gettext(t) if t == UNNAMED else t for i, t in titles.items()}
    context = {
        "section": "playground",
        "pools": pools,
        "max_prompt_bytes": settings.MAX_PROMPT_BYTES,
        "max_attachments": settings.MAX_ATTACHMENTS,
        "max_attachment_bytes": settings.MAX_ATTACHMENT_BYTES,
        "suspension": suspension_of(request.team.id),
        "checklist": setup_checklist(request),
        "data_classes": _data_classes(request),
        "chosen": chosen,
        "used": used,
        "samples": samples,
        "found": found,
        "is_simulated": is_simulated,
        "languages": ("curl", "python", "javascript"),
        "prompt": prompt or ("" if source else _sample(request, samples)),
        "body": body,
        "entries": None,
        "failed_worker": failed_worker(request.team.id, body),
        "conversation": conversation,
        "may_share": conversation is not None and may_share(request),
        "title": titles[conversation.id] if conversation else "",
        "listed": [
            (each, titles[each.id], lines.get(each.id)) for each in listed[:most]
        ],
        "has_more_chats": len(listed) > most,
        "most_listed": MOST_LISTED if "chats" in request.GET else None,
        "chat_gaps": search.runs.sentences if search.runs else [],
        "folders": folder_list(request.team.id, request.actor),
        "query": query,
        **more,
    }
    return page(request, "playground/index.html", context)


def _headline(team_id: uuid.UUID) -> Headline | None:
    # Brings all kinds of systems with it, which few requests need.
    from apps.evaluation.reports.headline import headline

    return headline(team_id)


def _checked(request: TeamRequest) -> RunForm:
    form = RunForm(request.POST, pool_choices(request.team.id))
    if not form.is_valid():
        field, reason = form.fault
        raise InvalidInput(reason, param=field)
    return form


def _continued(request: TeamRequest) -> tuple[Conversation, bool]:
    """Return the conversation that a prompt belongs to, and whether it is new."""
    if conversation_id := id_in(request.POST.get("conversation", "")):
        return conversation_own(request, conversation_id), False
    if run_id := id_in(request.POST.get("run", "")):
        run = access_run(team_id=request.team.id, run_id=run_id)
        return conversation_of_run(run, request.actor), True
    return conversation_create(team_id=request.team.id, owner=request.actor), True


def _estimate_text(request: TeamRequest, form: RunForm) -> str:
    """Return the estimate in words; empty where nothing can be asked yet."""
    try:
        asked = prompt_asked(request, form)
    except Conflict:  # the turn before it is in progress
        return ""
    found = run_estimate(
        request.team.id,
        form.model,
        asked.prompt,
        messages=asked.messages,
        restrictions=form.restrictions,
    )
    return estimate_text(found)


def _turn_start(
    request: TeamRequest, conversation: Conversation, form: RunForm
) -> Turn:
    replaces = form.cleaned_data["replaces"]
    text, preset = preset_sent(request, form.cleaned_data["prompt"])
    prompt = prompt_of_form(request, form, text)
    asked = turn_prepare(conversation, prompt, replaces=replaces)
    admission = _admit(request, form.model, asked.prompt)
    order = RunOrder(
        **ordered_by(request.principal, admission),
        prompt=asked.prompt,
        model=form.model,
        source="playground",
        params=form.params,
        preset=preset,
        restrictions=form.restrictions,
    )
    return turn_start(conversation, asked, order)


def _address(conversation: Conversation) -> str:
    """Return where a conversation is shown, from its last turn on."""
    return f"{reverse('playground:conversation', args=[conversation.id])}#now"


def _edited(request: TeamRequest, turns: Sequence[ShownTurn]) -> ShownTurn | None:
    """Return the turn whose prompt is being changed, if the address names one."""
    wanted = id_in(request.GET.get("edit", ""))
    return next((each for each in turns if each.turn.id == wanted), None)


def _admit(request: TeamRequest, model: str, prompt: str) -> Admission:
    """Admit a run of the member. Raises: NotAllowed, RateLimited."""
    admission = run_admit(request.principal, model, prompt)
    admission.require()
    return admission


def _run_in_query(request: TeamRequest, name: str) -> uuid.UUID | None:
    return id_in(request.GET.get(name, ""))


def _sample(request: TeamRequest, samples: Sequence[Sample]) -> str:
    """Return the prompt of the sample whose number is in the address, if any."""
    wanted = request.GET.get("sample", "")
    numbered = enumerate(samples, start=1)
    return next((each.prompt for i, each in numbered if str(i) == wanted), "")


def _body(request: TeamRequest, run_id: uuid.UUID | None) -> RunBody | None:
    if run_id is None:
        return None
    run = access_run(team_id=request.team.id, run_id=run_id)
    composed = compose(run.id, run_events(run), timezone.now())
    return with_approvers(request.team.id, composed)


def _data_classes(request: TeamRequest) -> tuple[str, ...]:
    """Return the data classes to choose from; none if no rule depends on them."""
    policies = policies_in_force(request.team.id)
    has_use = any(policy.needs_classes for policy in policies)
    return DATA_CLASSES if has_use else ()


def _is_simulated(pools: list[PoolChoice]) -> bool:
    return bool(pools) and pools[0].is_simulated


def _settings_of(story: RunView, pools: list[PoolChoice], model: str) -> dict[str, Any]:
    names = [pool.name for pool in pools]
    pool = story.pool if story.pool in names else next(iter(names), "")
    tiers = next((each.tier_names for each in pools if each.name == pool), TIERS)
    ultra = TierName.ULTRA.value
    tier = ultra if ultra in tiers else TierName.MINI.value
    return {
        "settings": settings_in(story.params),
        "worker": model if model in direct_models(pools) else "",
        "tier": story.tier if story.tier in tiers else tier,
        "tiers": tiers,
        "pool": pool,
    }
