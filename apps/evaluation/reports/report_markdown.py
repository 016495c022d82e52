"""Writes reports as Markdown, for people."""

from __future__ import annotations

from collections.abc import Iterator

from apps.core.money import usd_text
from apps.evaluation.reports.report import Report
from apps.evaluation.reports.statistics import Interval
from apps.evaluation.reports.system_report import Figures, SystemReport

BIAS = (
    "A grade by a model is an opinion, and models tend to prefer answers like their "
    "own."
)
SIMULATED = (
    "**Simulated**: tasks or workers are simulated; nothing here is said of real "
    "models."
)


def report_markdown(report: Report) -> str:
    """Return a report as Markdown tables."""
    version = report.evaluation.version
    lines = [f"# {version.suite.name}, version {version.number}", ""]
    if report.evaluation.is_simulated:
        lines += [SIMULATED, ""]
    lines += [
        f"{report.tasks} tasks, pool `{report.settings.pool}`, seed "
        f"{report.settings.seed}. Intervals are of 95 %.",
        "",
        *_main_table(report),
        "",
    ]
    if report.oracle is not None:
        lines.append(f"Oracle (any of these systems is right): {_text(report.oracle)}")
    if report.best_single is not None:
        lines.append(f"Best single worker, in hindsight: {report.best_single.label}")
    if report.settings.grader is not None:
        cost = sum(system.grading_cost_micros for system in report.systems)
        lines.append(
            f"Answers to tasks with a rubric were judged by {report.settings.grader}, "
            f"for ${usd_text(cost)} apart from the costs above. {BIAS}"
        )
    return "\n".join([*lines, "", *_family_table(report), *_counts(report)])


def _main_table(report: Report) -> Iterator[str]:
    yield (
        "| system | tasks | accuracy | to the best single worker | to the oracle | "
        "cost a task | tokens a task | steps | p50, p95 | failed | without plan | "
        "rejected plans |"
    )
    yield f"|{'---|' * 12}"
    for system in report.systems:
        yield _row(
            system.label,
            str(system.ended),
            _text(system.accuracy),
            _text(system.difference, signed=True),
            _text(system.oracle_difference, signed=True),
            *_means(system),
            f"{system.latency_ms(50) or 0:,} ms, {system.latency_ms(95) or 0:,} ms",
            str(system.failed),
            str(system.unplanned),
            str(system.rejected_plans),
        )


def _means(figures: Figures) -> tuple[str, str, str]:
    """Return cost, tokens and steps of a task."""
    ended = max(figures.ended, 1)
    cost = f"${usd_text(round(figures.cost_micros / ended))}"
    return (
        f"at least {cost}" if figures.has_unknown_cost else cost,
        f"{figures.tokens / ended:,.0f}",
        f"{figures.steps / ended:.1f}",
    )


def _family_table(report: Report) -> Iterator[str]:
    names = report.families
    if len(names) < 2:
        return
    yield _row("system", *names)
    yield f"|---|{'---|' * len(names)}"
    for system in report.systems:
        counts = [system.families.get(name, Figures()) for name in names]
        shares = [
            f"{n.right / n.ended:.2f} ({n.ended})" if n.ended else "–" for n in counts
        ]
        yield _row(system.label, *shares)
    yield ""
    for system in report.systems:
        yield from _families_of(system)


def _families_of(system: SystemReport) -> Iterator[str]:
    """Yield what one system took for each family, and who worked."""
    yield f"{_cell(system.label)}, by family:"
    yield ""
    yield (
        "| family | to the best single worker | cost a task | tokens a task | steps | "
        "p50 | workers |"
    )
    yield f"|{'---|' * 7}"
    for name, figures in sorted(system.families.items()):
        shares = sorted(figures.shares.items(), key=lambda item: (-item[1], item[0]))
        yield _row(
            name,
            _text(figures.difference, signed=True),
            *_means(figures),
            f"{figures.latency_ms(50) or 0:,} ms",
            ", ".join(f"{worker} {part:.0%}" for worker, part in shares) or "–",
        )
    yield ""


def _counts(report: Report) -> Iterator[str]:
    """Yield why runs have no answer, and why calls led to no plan."""
    causes = [
        (s.label, *each) for s in report.systems for each in s.causes.most_common()
    ]
    faults = [
        (s.label, fault.replace("_", " "), count)
        for s in report.systems
        for fault, count in s.plan_faults.most_common()
    ]
    for title, found in (
        ("Runs without an answer:", causes),
        ("Rejected plans, by cause:", faults),
    ):
        if found:
            lines = [f"- {_cell(a)}: {_cell(why)} × {count}" for a, why, count in found]
            yield from (title, "", *lines, "")


def _text(found: Interval | None, *, signed: bool = False) -> str:
    if found is None:
        return "–"
    sign = "+" if signed else ""
    return f"{found.value:{sign}.3f} ({found.low:{sign}.3f} to {found.high:{sign}.3f})"


def _cell(text: str) -> str:
    """Return a text that cannot leave its cell."""
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")


def _row(*cells: str) -> str:
    return f"| {' | '.join(map(_cell, cells))} |"
