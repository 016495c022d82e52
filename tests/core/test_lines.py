"""Who of those who wait is next."""

from __future__ import annotations

import pytest

from apps.core.lines import Lines


def lines_of(*names: str) -> Lines[str]:
    """Return lines in which these wait; the first letter is the line."""
    lines: Lines[str] = Lines()
    for name in names:
        lines.add(name[0], name)
    return lines


def popped(lines: Lines[str]) -> list[str]:
    found = []
    while lines:
        assert lines.first() not in found
        expected = lines.first()
        found.append(lines.pop())
        assert found[-1] == expected
    return found


def test_lines_are_served_round_robin_each_in_its_order():
    lines = lines_of("a1", "a2", "a3", "b1", "b2", "c1")
    assert popped(lines) == ["a1", "b1", "c1", "a2", "b2", "a3"]


def test_a_newcomer_goes_before_the_line_that_was_served_last():
    """T2: it waited for one more of the flood."""
    lines = lines_of("a1", "a2", "a3")
    assert lines.pop() == "a1"
    lines.add("b", "b1")
    assert popped(lines) == ["b1", "a2", "a3"]


def test_what_passed_by_counts_as_served():
    """T2: a flood whose first one found nobody waiting."""
    lines: Lines[str] = Lines()
    lines.pass_by("a")
    for name in ("a1", "a2", "b1"):
        lines.add(name[0], name)
    assert popped(lines) == ["b1", "a1", "a2"]


def test_newcomers_without_end_starve_no_line():
    lines = lines_of("a1", "a2")
    lines.pop()
    for name in ("b1", "c1", "d1"):
        lines.add(name[0], name)
    lines.pop()
    lines.add("e", "e1")
    assert popped(lines) == ["c1", "d1", "a2", "e1"]


def test_a_line_is_there_while_one_waits_in_it():
    lines = lines_of("a1", "a2", "b1")
    lines.pop()
    assert "a" in lines
    assert "b" in lines
    lines.pop()
    lines.pop()
    assert "a" not in lines
    assert not lines
    with pytest.raises(IndexError):
        lines.pop()
