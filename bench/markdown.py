"""Tables and sections of bench/RESULTS.md."""

from __future__ import annotations

from typing import Any


def target(
    what: str, value: float, wanted: float, *, at_most: bool = False
) -> tuple[str, str, str, str]:
    """Return a row that compares a figure with its target."""
    is_met = value <= wanted if at_most else value >= wanted
    sign = "≤" if at_most else "≥"
    return what, f"{value:,.2f}", f"{sign} {wanted:,g}", "yes" if is_met else "**no**"


def section(
    title: str,
    about: str,
    rows: list[list[str]],
    targets: list[tuple[str, str, str, str]],
    found: dict[str, Any],
) -> str:
    """Return a section: what was measured, the figures, the targets."""
    when = (
        f"Measured on {found['measured_on']} ({found['machine']}), "
        f"{found['rounds']} rounds, load average before it {found['load_before']:.1f}."
    )
    missing = "".join(
        f"\n\nNot measured: {name}: {' '.join(why.split())}"
        for name, why in found.get("missing", {}).items()
    )
    goals = ""
    if targets:
        head = ["Target", "measured", "wanted", "met"]
        goals = "\n" + table([head, *map(list, targets)])
    return f"## {title}\n\n{about}{when}{missing}\n\n{table(rows)}{goals}"


def table(rows: list[list[str]]) -> str:
    """Return rows as a table, the first one as its head."""
    head, *body = rows
    lines = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"
