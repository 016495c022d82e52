"""The filters of the list of runs; all live in the address.

Those that pages of insights link to are offered when they are in the address.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from uuid import UUID

from django import forms
from django.utils import timezone
from django.utils.text import capfirst
from django.utils.translation import gettext, gettext_lazy
from django.utils.translation import gettext_noop as _

from apps.core.money import MICROS
from apps.insights.types import PLANNER_WORDS, TIER_WORDS
from apps.runs.models import RunState, Source
from apps.runs.selectors import RunFlag, RunSort, labels_named, query_read
from apps.runs.types import ENDED, RunFilters
from apps.web.recorded_words import fault_word
from apps.web.run_addresses import (
    BY_CALLERS,
    NONE,
    DaySpan,
    fault_of,
    id_of,
    named,
    sources_of,
)

PERIODS = {
    "hour": (gettext_lazy("Last hour"), timedelta(hours=1)),
    "day": (gettext_lazy("Last 24 hours"), timedelta(days=1)),
    "week": (gettext_lazy("Last 7 days"), timedelta(days=7)),
    "month": (gettext_lazy("Last 30 days"), timedelta(days=30)),
}
PERIOD_CHOICES = [
    ("", gettext_lazy("Any time")),
    *((key, word) for key, (word, _) in PERIODS.items()),
]
KEY_WORDS = _("Without a key"), _("A deleted key")
MEMBER_WORDS = _("Without a member"), _("A former member")
SORT_WORDS = {
    RunSort.COST: (_("Cost, highest first"), _("Cost, lowest first")),
    RunSort.TOKENS: (_("Tokens, highest first"), _("Tokens, lowest first")),
    RunSort.TIME: (_("Time, highest first"), _("Time, lowest first")),
}
"""Downwards and upwards."""
SEARCHED_FIELDS = (
    "model",
    "source",
    "who",
    "worker",
    "key",
    "member",
    "shape",
    "fault",
    "label",
    "flag",
    "min_cost",
    "min_time",
)
"""What is looked for in the newest runs only."""


@dataclass(frozen=True, slots=True)
class FilterChoices:
    """What the team has to choose from."""

    models: Sequence[str] = ()
    workers: Sequence[str] = ()
    families: Sequence[str] = ()
    presets: Mapping[str, str] = field(default_factory=dict)
    """Names by ids. Those that the member sees."""
    keys: Mapping[str, str] = field(default_factory=dict)
    """Names by hexadecimal ids, like the next ones."""
    members: Mapping[str, str] = field(default_factory=dict)
    turns: tuple[UUID, ...] = ()
    """The runs of the conversation that is chosen."""


@dataclass(frozen=True, slots=True)
class MoreFilter:
    """A filter as a choice in the form."""

    name: str
    label: str
    choices: Sequence[tuple[str, str]]
    value: str


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def _owner(value: str, names: Mapping[str, str], words: tuple[str, str]) -> str:
    """Return the name of a key or member; else one of the words: none, one is gone."""
    found = id_of(value)
    return names.get(found.hex, gettext(words[1])) if found else gettext(words[0])


def _offered_words(words: Iterable[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Return choices whose words are translated when they are shown."""
    return [(value, gettext_lazy(word)) for value, word in words]


class RunFilterForm(forms.Form):
    """Takes the filters from an address; what makes no sense is ignored."""

    is_usual = False
    """Nobody has set a filter: only what the list begins with is left out."""

    q = forms.CharField(required=False, max_length=200)
    state = forms.ChoiceField(
        choices=[
            ("", gettext_lazy("Any state")),
            *_offered_words(RunState.choices),
            (ENDED, gettext_lazy("Ended")),
        ],
        required=False,
    )
    model = forms.CharField(required=False, max_length=200)
    source = forms.ChoiceField(
        choices=[
            ("", gettext_lazy("Any source")),
            (BY_CALLERS, gettext_lazy("People and API clients")),
            *_offered_words(Source.choices),
        ],
        required=False,
    )
    who = forms.CharField(required=False, max_length=200)
    period = forms.ChoiceField(choices=PERIOD_CHOICES, required=False)
    """Days, as `2030-01-31` or `2030-01-01..2030-01-31`, are offered if they are in the
    address."""
    tier = forms.ChoiceField(
        choices=[("", gettext_lazy("Any tier")), *_offered_words(TIER_WORDS.items())],
        required=False,
    )
    planner = forms.CharField(required=False, max_length=40)
    worker = forms.CharField(required=False, max_length=100)
    family = forms.CharField(required=False, max_length=60)
    preset = forms.UUIDField(required=False)
    key = forms.CharField(required=False, max_length=36)
    member = forms.CharField(required=False, max_length=36)
    conversation = forms.UUIDField(required=False)
    shape = forms.CharField(required=False, max_length=16)
    fault = forms.CharField(required=False, max_length=150)
    label = forms.CharField(required=False, max_length=600)
    flag = forms.ChoiceField(
        choices=[("", gettext_lazy("Any")), *_offered_words(RunFlag.choices)],
        required=False,
    )
    min_cost = forms.DecimalField(
        required=False, min_value=0, max_value=1_000_000, decimal_places=6
    )
    """In dollars."""
    min_time = forms.DecimalField(required=False, min_value=0, max_value=1_000_000)
    """In seconds."""
    sort = forms.ChoiceField(
        choices=[
            ("", gettext_lazy("Newest first")),
            *_offered_words((by.value, words[0]) for by, words in SORT_WORDS.items()),
            *_offered_words(
                (f"-{by.value}", words[1]) for by, words in SORT_WORDS.items()
            ),
        ],
        required=False,
    )
    """A figure, the highest first; with `-` before it the lowest."""

    def clean_q(self) -> str:
        """Return what is looked for. Raises: ValidationError if it has no word."""
        text: str = self.cleaned_data["q"]
        if text and not query_read(text).words:
            raise forms.ValidationError(
                gettext("Type letters or digits to search for.")
            )
        return text

    def __init__(self, data: Any, choices: FilterChoices) -> None:
        super().__init__(data)
        self._choices = choices
        self._days = DaySpan.read(data.get("period", ""))
        if self._days is not None:
            period = self.fields["period"]
            assert isinstance(period, forms.ChoiceField)
            period.choices = [*PERIOD_CHOICES, (self._days.text, self._days.label)]

    @property
    def model_options(self) -> list[str]:
        """Return the models to choose from; the chosen one even if it is old."""
        return sorted({*self._choices.models, self._get("model")} - {""})

    @property
    def more_filters(self) -> list[MoreFilter]:
        """Return the filters beside the usual ones."""
        known = self._choices
        planners = [(key or NONE, gettext(w)) for key, w in PLANNER_WORDS.items()]
        tiers = [(key, gettext(word)) for key, word in TIER_WORDS.items()]
        families = [(name, name) for name in known.families]
        families.append((NONE, gettext("No family")))
        offered = [
            ("tier", gettext("Tier"), tiers),
            ("worker", gettext("Worker"), [(name, name) for name in known.workers]),
            ("planner", gettext("Planner"), planners),
            ("family", gettext("Family of tasks"), families),
        ]
        if presets := self._presets:
            offered.append(("preset", gettext("Preset"), presets))
        # Offered to those who come from a page that names one.
        chosen = {
            "key": (
                gettext("API key"),
                _owner(self._get("key"), known.keys, KEY_WORDS),
            ),
            "member": (
                gettext("Member"),
                _owner(self._get("member"), known.members, MEMBER_WORDS),
            ),
            "conversation": (gettext("Conversation"), gettext("One conversation")),
            "shape": (gettext("Graph of the plan"), gettext("One graph")),
            "fault": (gettext("Fault"), _fault_label(self._get("fault"))),
        }
        offered += [
            (name, label, [(self._get(name), word)])
            for name, (label, word) in chosen.items()
            if self._get(name)
        ]
        return [self._offered(*each) for each in offered]

    @property
    def _presets(self) -> list[tuple[str, str]]:
        """Return the presets to choose from; the chosen one even if it is gone."""
        known, chosen = self._choices.presets, self._get("preset")
        gone = {chosen: gettext("A deleted or unshared preset")} if chosen else {}
        return list({**gone, **known}.items())

    def _offered(
        self, name: str, label: str, choices: list[tuple[str, str]]
    ) -> MoreFilter:
        value = self._get(name)
        if value and value not in dict(choices):
            choices = [*choices, (value, value)]
        return MoreFilter(name, label, [("", gettext("Any")), *choices], value)

    @property
    def has_more(self) -> bool:
        """Say whether one of the filters beside the usual ones is set."""
        fields = ("label", "flag", "min_cost", "min_time")
        own = [self._get(name) for name in fields]
        return any([*own, *(each.value for each in self.more_filters)])

    @property
    def names_set(self) -> list[str]:
        """Return the names of the filters that are set."""
        return [n for n, value in self.cleaned_data.items() if value and n != "sort"]

    @property
    def folded_set(self) -> list[str]:
        """Return the filters that somebody set and that a narrow page folds away."""
        if self.is_usual:
            return []
        usual = {"q"}
        if self._get("source") == BY_CALLERS:
            usual.add("source")
        return [name for name in self.names_set if name not in usual]

    @property
    def is_active(self) -> bool:
        """Say whether somebody has set a filter."""
        return bool(self.names_set) and not self.is_usual

    @property
    def has_other_filters(self) -> bool:
        """Say whether any filter is set beside the search."""
        return any(name != "q" for name in self.names_set)

    @property
    def is_search(self) -> bool:
        """Say whether something is looked for in the newest runs only."""
        return any(self._get(name) for name in SEARCHED_FIELDS)

    @property
    def filters(self) -> RunFilters:
        """Return the filters; one that makes no sense is ignored."""
        period = PERIODS.get(self._get("period"))
        days = self._days
        since = _midnight(days.first) if days else None
        key, member = self._get("key"), self._get("member")
        return RunFilters(
            state=self._get("state"),
            model=self._get("model"),
            actor=self._get("who"),
            text=self._get("q"),
            sources=sources_of(self._get("source")),
            since=timezone.now() - period[1] if period else since,
            until=_midnight(days.last) + timedelta(days=1) if days else None,
            tier=self._get("tier"),
            planner=named(self._get("planner")),
            family=named(self._get("family")),
            preset_id=self.cleaned_data.get("preset"),
            run_ids=self._choices.turns if self._get("conversation") else None,
            shape=named(self._get("shape")),
            worker=self._get("worker"),
            api_key_id=id_of(key),
            user_id=id_of(member),
            has_key=False if key == NONE else None,
            has_member=False if member == NONE else None,
            fault=fault_of(self._get("fault")),
            labels=labels_named([self._get("label")]),
            flag=self._get("flag"),
            min_cost_micros=self._scaled("min_cost", MICROS),
            min_latency_ms=self._scaled("min_time", 1000),
        )

    @property
    def sorted_by(self) -> RunSort | None:
        """Return the figure that the list is sorted by; None: newest first."""
        name = self._get("sort").removeprefix("-")
        return RunSort(name) if name else None

    @property
    def is_ascending(self) -> bool:
        """Say whether the lowest figure comes first."""
        return self._get("sort").startswith("-")

    def _scaled(self, name: str, factor: int) -> int | None:
        value = self.cleaned_data.get(name)
        return None if value is None else round(value * factor)

    def _get(self, name: str) -> str:
        return str(self.cleaned_data.get(name) or "")


def _fault_label(text: str) -> str:
    """Return the fault in an address, as people read it."""
    wanted = fault_of(text)
    if wanted is None:
        return text
    label = capfirst(fault_word(wanted.fault))
    return f"{label}, {wanted.worker}" if wanted.worker else label
