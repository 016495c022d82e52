"""Insights as the team's pages show them: rows with links, changes, and words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from django.http import QueryDict
from django.urls import reverse
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_noop as _

from apps.console.insight_charts import (
    DayChart,
    DayScale,
    bar_chart,
    known,
    line_chart,
    trend,
)
from apps.core.plan_layout import MINI, Layout, lay_out
from apps.engine.usage import Cost
from apps.insights.anomalies import Anomaly
from apps.insights.types import (
    TIER_WORDS,
    FaultFigures,
    Group,
    Inquiry,
    QueryFigures,
    QueryReport,
    ShapeFigures,
)
from apps.runs.models import RunState
from apps.runs.types import ENDED, FaultName
from apps.web.formats import count, duration, money
from apps.web.run_addresses import BY_CALLERS, NONE, DaySpan, fault_text

SHOWN = 50
"""Rows of a grouping on a page; the download has all."""
MEASURES = {
    "cost": _("Cost of a run"),
    "failures": _("Failed runs"),
    "latency": _("95th percentile of the latency"),
}
WORD_GROUPS = ("tier", "planner", "source")
"""What stands in these groups are words of the product, not names."""
RESCUES = {
    "retry": _("asked again"),
    "substitute": _("another worker"),
    "replan": _("another plan"),
    "fallback": _("fallback plan"),
    "without": _("answered without it"),
    "none": _("nothing"),
}


@dataclass(frozen=True, slots=True)
class QueryLine:
    """Queries of one day, tier, worker and so on."""

    label: str
    figures: QueryFigures
    runs_url: str
    """Of the list of these runs."""
    failed_url: str
    """Of the list of those that failed; empty: what failed are no runs."""

    @property
    def cost(self) -> Cost:
        """Return the cost, which may be known in part."""
        return Cost(self.figures.cost_micros, self.figures.has_unknown_cost)

    @property
    def failed_percent(self) -> str:
        """Return the share of failed ones for people."""
        return percent(self.figures.failed_share)


@dataclass(frozen=True, slots=True)
class Total:
    """One figure of the period, beside that of the period before."""

    label: str
    text: str
    change: str
    """In per cent; empty: there is nothing to compare with."""
    is_worse: bool


@dataclass(frozen=True, slots=True)
class OddDay:
    """A day that stands out, in words."""

    day: date
    words: str
    runs_url: str


@dataclass(frozen=True, slots=True)
class FaultLine:
    """One fault."""

    figures: FaultFigures
    trend: str
    """Points of a small line of its counts by day."""
    rescues: str
    change: str
    runs_url: str
    """Of the list of the runs that had it."""
    failed_url: str
    """Of the list of those that failed."""


@dataclass(frozen=True, slots=True)
class ShapeLine:
    """Plans of one shape."""

    figures: ShapeFigures
    layout: Layout
    percent: str
    """Share of the runs."""
    success: str
    cost: Cost
    mean_cost_micros: int
    runs_url: str

    @property
    def words(self) -> Sequence[str]:
        """Return what is said of the drawing to those who do not see it."""
        steps = self.figures.steps
        said = ngettext("{graph}, {count} step", "{graph}, {count} steps", steps)
        return [said.format(graph=gettext(self.figures.words), count=steps)]

    @property
    def nodes(self) -> Sequence[tuple[object, str]]:
        """Return the steps of the drawing, which have no state."""
        return [(node, "") for node in self.layout.nodes]


def query_lines(report: QueryReport, asked: Inquiry) -> list[QueryLine]:
    """Return the rows of a report by its group, the dearest SHOWN."""
    return [_query_line(asked, report.group, row) for row in report.rows[:SHOWN]]


def day_lines(report: QueryReport, asked: Inquiry) -> list[QueryLine]:
    """Return the days of a report, the newest first."""
    return [_query_line(asked, "day", row) for row in reversed(report.days)]


def _query_line(asked: Inquiry, group: Group, row: QueryFigures) -> QueryLine:
    # What failed of a worker are its steps, and no list is of steps.
    failed = "" if group == "worker" else runs_url(asked, group, row, state="failed")
    is_word = group in WORD_GROUPS or not row.key
    label = gettext(row.label) if is_word else row.label
    return QueryLine(label, row, runs_url(asked, group, row), failed)


def runs_url(asked: Inquiry, group: Group, row: QueryFigures, **more: str) -> str:
    """Return the address of the list of the runs that a row of a report counts."""
    value = row.key or NONE
    match group:
        case "day":
            return counted_url(asked, period=row.key, **more)
        case "tier" if row.key not in TIER_WORDS:
            return counted_url(asked, model=row.key, **more)
        case _:
            return counted_url(asked, **{group: value}, **more)


def counted_url(asked: Inquiry, **filters: str) -> str:
    """Return the address of the list of runs that an inquiry counts, filtered."""
    usual = {
        "period": DaySpan(asked.first_day, asked.last_day).text,
        "state": ENDED,
        "source": "" if asked.with_tests else BY_CALLERS,
    }
    given = {name: value for name, value in (usual | filters).items() if value}
    return runs_address(**given)


def runs_address(**filters: str) -> str:
    """Return the address of the list of runs with some filters."""
    query = QueryDict(mutable=True)
    query.update(filters)
    return f"{reverse('playground:run_list')}?{query.urlencode()}"


def totals(report: QueryReport) -> list[Total]:
    """Return the figures of the period with their changes."""
    now, before = report.total, report.before
    return [
        _total(gettext("Runs"), count(now.runs), now.runs, before.runs, is_bad=False),
        _total(
            gettext("Failed"),
            percent(now.failed_share),
            now.failed_share,
            before.failed_share,
        ),
        _total(
            gettext("Cost of a run"),
            _money(now.mean_cost_micros),
            now.mean_cost_micros,
            before.mean_cost_micros,
        ),
        _total(
            gettext("Tokens of a run"),
            "–" if now.tokens_each is None else count(now.tokens_each),
            now.tokens_each,
            before.tokens_each,
        ),
        *(
            _total(label, duration(value), value, old)
            for label, value, old in (
                (
                    gettext("Latency, median"),
                    *_pair(now, before, "latency_ms", "median"),
                ),
                (
                    gettext("Latency, 95th percentile"),
                    *_pair(now, before, "latency_ms", "p95"),
                ),
                (
                    gettext("First token, median"),
                    *_pair(now, before, "first_token_ms", "median"),
                ),
            )
        ),
    ]


def query_charts(
    asked: Inquiry, days: Sequence[QueryFigures], anomalies: Sequence[Anomaly]
) -> list[DayChart]:
    """Return the charts of the days of a period."""
    rows = {date.fromisoformat(row.key): row for row in days}
    odd = {
        name: {each.day for each in anomalies if each.measure == name}
        for name in MEASURES
    }
    first, last = asked.first_day, asked.last_day
    return [
        bar_chart(
            "cost",
            gettext("Cost of a run"),
            gettext("mean of the known costs"),
            DayScale(first, last, money),
            {day: row.mean_cost_micros for day, row in rows.items()},
            odd["cost"],
        ),
        line_chart(
            "latency",
            gettext("Latency"),
            gettext("median and 95th percentile of answered runs"),
            DayScale(first, last, duration),
            {
                gettext("Median"): known(
                    (d, r.latency_ms.median if r.latency_ms else None)
                    for d, r in rows.items()
                ),
                gettext("95th percentile"): known(
                    (d, r.latency_ms.p95 if r.latency_ms else None)
                    for d, r in rows.items()
                ),
            },
            odd["latency"],
        ),
        bar_chart(
            "tokens",
            gettext("Tokens of a run"),
            gettext("mean of input and output"),
            DayScale(first, last, count),
            {day: row.tokens_each for day, row in rows.items()},
        ),
        bar_chart(
            "failures",
            gettext("Failed runs"),
            gettext("per cent of the runs"),
            DayScale(first, last, "{} %".format),
            {day: round(100 * (r.failed_share or 0)) for day, r in rows.items()},
            odd["failures"],
        ),
    ]


def odd_days(asked: Inquiry, anomalies: Sequence[Anomaly]) -> list[OddDay]:
    """Return the days that stand out, the newest first, with the words why."""
    return [
        OddDay(each.day, _why(each), counted_url(asked, period=each.day.isoformat()))
        for each in reversed(anomalies)
    ]


def fault_line(asked: Inquiry, figures: FaultFigures) -> FaultLine:
    """Return one fault or loop of a period."""
    fault = fault_text(FaultName(figures.stage, figures.fault, figures.worker))
    return FaultLine(
        figures,
        trend(figures.by_day, asked.first_day, asked.last_day),
        rescue_words(figures),
        change_words(figures.count, figures.before),
        counted_url(asked, fault=fault),
        counted_url(asked, fault=fault, state=RunState.FAILED),
    )


def rescue_words(figures: FaultFigures) -> str:
    """Return what rescued runs from a fault, the most frequent first."""
    parts = [
        f"{gettext(RESCUES.get(name, name))} {number:,}"
        for name, number in figures.rescues.items()
    ]
    return ", ".join(parts)


def shape_line(asked: Inquiry, figures: ShapeFigures, runs: int) -> ShapeLine:
    """Return plans of one shape, of so many runs in all."""
    return ShapeLine(
        figures,
        lay_out(figures.access, MINI),
        percent(figures.runs / runs if runs else None),
        percent(figures.completed / figures.runs if figures.runs else None),
        Cost(figures.cost_micros, figures.has_unknown_cost),
        round(figures.cost_micros / figures.runs) if figures.runs else 0,
        counted_url(asked, shape=figures.shape or NONE),
    )


def percent(share: float | None) -> str:
    """Return a share in per cent; a dash if there is none."""
    if share is None:
        return "–"
    digits = 0 if share in (0, 1) or 0.1 <= share <= 0.9 else 1
    return f"{100 * share:.{digits}f} %"


def change_words(now: float | None, before: float | None) -> str:
    """Return how a figure has changed; empty: there is nothing to compare with."""
    if now is None or not before:
        return ""
    change = round(100 * (now - before) / before)
    return f"{change:+d} %" if change else "±0 %"


def _total(
    label: str,
    text: str,
    now: float | None,
    before: float | None,
    *,
    is_bad: bool = True,
) -> Total:
    """`is_bad`: more is worse."""
    is_worse = is_bad and now is not None and bool(before) and now > (before or 0) * 1.1
    return Total(label, text, change_words(now, before), is_worse)


def _pair(
    now: QueryFigures, before: QueryFigures, what: str, part: str
) -> tuple[int | None, int | None]:
    return tuple(
        None if getattr(each, what) is None else getattr(getattr(each, what), part)
        for each in (now, before)
    )  # type: ignore[return-value]


def _money(micros: int | None) -> str:
    return "–" if micros is None else money(micros)


def _why(each: Anomaly) -> str:
    match each.measure:
        case "cost":
            value, usual = money(round(each.value)), money(round(each.usual))
        case "failures":
            value, usual = percent(each.value), percent(each.usual)
        case _:
            value, usual = duration(round(each.value)), duration(round(each.usual))
    return gettext(
        "{measure}: {value}, usually {usual} (the median of {days} days before; "
        "{score} robust standard deviations above)."
    ).format(
        measure=gettext(MEASURES[each.measure]),
        value=value,
        usual=usual,
        days=each.days,
        score=f"{each.score:.1f}",
    )
