"""What a form asks several candidates: a new prompt, or that of a recorded run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext, ngettext

from apps.comparisons.models import FEWEST_ANSWERS, MOST_ANSWERS
from apps.conversations.services import prepared_order
from apps.core.errors import InvalidInput
from apps.playground.choices import PoolChoice
from apps.playground.comparing.candidates import Estimating, candidate_models
from apps.playground.composing.asked import id_in, prompt_asked, text_asked
from apps.playground.composing.presets import preset_sent
from apps.playground.forms import RunForm, first_fault
from apps.runs.admission import ordered_by, run_admit
from apps.runs.forks import order_again, with_model
from apps.runs.models import Run, Source
from apps.runs.selectors import access_run, run_estimate, run_record
from apps.runs.types import RunOrder
from apps.web.preset_fields import VARIABLE
from apps.web.team_access import TeamRequest

CARRIED = (
    *("conversation", "run", "replaces", "system", "temperature", "max_steps"),
    *("max_cost", "max_time_s", "data_class", "preset", "preset_version"),
)
"""Fields of the composer that a comparison takes over."""


class CandidatesForm(forms.Form):
    """Who answers, and how the answers are shown."""

    candidate = forms.MultipleChoiceField(required=False)
    is_blind = forms.BooleanField(required=False)
    keep = forms.BooleanField(required=False)

    def __init__(self, data: Any, pools: Sequence[PoolChoice]) -> None:
        super().__init__(data)
        self.fields["candidate"] = forms.MultipleChoiceField(
            choices=[(model, model) for model in candidate_models(pools)],
            required=False,
            error_messages={
                "invalid_choice": gettext("No pool has the candidate “%(value)s”.")
            },
        )

    def clean(self) -> dict[str, Any]:
        """Require as many answers as a comparison has. Raises: ValidationError."""
        given = self.cleaned_data
        count = len(given.get("candidate", ())) + bool(given.get("keep"))
        if "candidate" not in self.errors:
            if not FEWEST_ANSWERS <= count <= MOST_ANSWERS:
                raise forms.ValidationError(
                    ngettext(
                        "Choose {least} to {most} answers to compare; "
                        "{number} is chosen.",
                        "Choose {least} to {most} answers to compare; "
                        "{number} are chosen.",
                        count,
                    ).format(least=FEWEST_ANSWERS, most=MOST_ANSWERS, number=count)
                )
            if given.get("keep") and given.get("is_blind"):
                raise forms.ValidationError(
                    gettext(
                        "You have seen the answer of this run, so a blind comparison "
                        "can’t hold it. Ask all candidates anew, or compare openly."
                    )
                )
        return given


@dataclass(frozen=True, slots=True)
class ComparedRequest:
    """What all candidates are asked."""

    run: Run | None
    """The recorded run whose request it is. None: a new prompt."""
    carried: tuple[tuple[str, str], ...]
    """Names and values of what came with a new prompt, for the next form."""
    prompt: str


def compared_request(request: TeamRequest) -> ComparedRequest:
    """Return what a request wants to compare. Raises: NotFound, InvalidInput."""
    sent = request.POST if request.method == "POST" else request.GET
    if run_id := id_in(sent.get("of", "")):
        run = access_run(team_id=request.team.id, run_id=run_id)
        prompt = run_record(request.team.id, run.id).prompt
        if not prompt:
            raise InvalidInput("the prompt of this run has been erased", param="prompt")
        return ComparedRequest(run, (), prompt)
    values = cast(QueryDict, sent)
    carried = [(name, str(values[name])) for name in CARRIED if values.get(name)]
    carried += [
        (name, str(value))
        for name, value in values.items()
        if name.startswith(VARIABLE)
    ]
    carried += [("attachment", str(each)) for each in values.getlist("attachment")]
    return ComparedRequest(None, tuple(carried), values.get("prompt", ""))


def orders_of(
    request: TeamRequest,
    asked: ComparedRequest,
    models: Sequence[str],
    pools: Sequence[PoolChoice],
) -> list[RunOrder]:
    """Return the order of each candidate, each of them admitted.

    Raises: InvalidInput, Conflict, NotAllowed, RateLimited.
    """
    if asked.run is not None:
        return [_again(request, asked.run, asked.prompt, each) for each in models]
    form = _prompt_form(request, pools)
    text, preset = preset_sent(request, form.cleaned_data["prompt"])
    following = text_asked(request, form, text)
    orders = []
    for model in models:
        admission = run_admit(request.principal, model, following.prompt)
        admission.require()
        order = RunOrder(
            **ordered_by(request.principal, admission),
            prompt=following.prompt,
            model=model,
            source=Source.PLAYGROUND.value,
            params=form.params,
            preset=preset,
            restrictions=form.restrictions,
        )
        orders.append(prepared_order(following, order))
    return orders


def prompt_shown(request: TeamRequest, asked: ComparedRequest) -> str:
    """Return the prompt to show: what a preset makes of it, once it can.

    Raises: NotFound, Conflict, InvalidInput for missing variables.
    """
    if asked.run is not None or request.method != "POST":
        return asked.prompt
    return preset_sent(request, asked.prompt)[0]


def estimating(
    request: TeamRequest, asked: ComparedRequest, pools: Sequence[PoolChoice]
) -> Estimating:
    """Return what estimates a run of a candidate. Raises: InvalidInput, Conflict."""
    team_id = request.team.id
    if asked.run is not None:
        prompt, messages = asked.prompt, run_record(team_id, asked.run.id).messages
        return lambda model: run_estimate(team_id, model, prompt, messages=messages)
    form = _prompt_form(request, pools)
    following = prompt_asked(request, form)
    return lambda model: run_estimate(
        team_id,
        model,
        following.prompt,
        messages=following.messages,
        restrictions=form.restrictions,
    )


def _again(request: TeamRequest, run: Run, prompt: str, model: str) -> RunOrder:
    admission = run_admit(request.principal, model, prompt)
    admission.require()
    order = order_again(run, request.principal, admission, Source.PLAYGROUND.value)
    return with_model(order, model)


def _prompt_form(request: TeamRequest, pools: Sequence[PoolChoice]) -> RunForm:
    form = RunForm(request.POST, pools)
    if not form.is_valid():
        field, reason = first_fault(form)
        raise InvalidInput(reason, param=field)
    return form
