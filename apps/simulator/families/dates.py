"""Calendar questions: days between two dates, weekdays, adding days, leap years."""

from __future__ import annotations

import calendar
import re
from datetime import date, timedelta

from apps.simulator.families.solution import Claim, Family, Solution, solution

MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_name)}
MONTHS |= {name.lower(): number for number, name in enumerate(calendar.month_abbr)}
MONTHS.pop("")
_MONTH = "|".join(sorted(MONTHS, key=len, reverse=True))
ISO = r"(?P<y1>\d{4})-(?P<m1>\d{1,2})-(?P<d1>\d{1,2})"
DAY_FIRST = (
    r"(?P<d2>\d{1,2})(?:st|nd|rd|th)?\s+(?:of\s+)?"
    rf"(?P<m2>{_MONTH})\.?,?\s+(?P<y2>\d{{4}})"
)
MONTH_FIRST = (
    rf"(?P<m3>{_MONTH})\.?\s+(?P<d3>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<y3>\d{{4}})"
)
DATE = re.compile(rf"\b(?:{ISO}|{DAY_FIRST}|{MONTH_FIRST})\b", re.IGNORECASE)
WEEKDAY = re.compile(
    r"\bweekday\b|\bday of the week\b|\b(?:what|which) day\b", re.IGNORECASE
)
SPAN = re.compile(
    r"(?P<count>\d{1,6})\s+(?P<unit>days?|weeks?)(?:\s+(?P<way>before|earlier|ago))?",
    re.IGNORECASE,
)
BACKWARDS = re.compile(r"\b(?:minus|subtract|before|earlier)\b", re.IGNORECASE)
LEAP = re.compile(r"\b(?P<year>[1-9]\d{3})\b.*\bleap year\b", re.IGNORECASE | re.DOTALL)
NAMES = tuple(calendar.day_name)


def solve(text: str) -> Solution | None:
    """Return the solution of the calendar question in `text`, if it holds one."""
    dates = find_dates(text)
    if len(dates) >= 2 and re.search(r"\b(?:days?|weeks?|long)\b", text, re.IGNORECASE):
        return _between(dates[0], dates[1])
    if len(dates) == 1:
        return _of_one_date(text, dates[0])
    if leap := LEAP.search(text):
        return _leap_year(int(leap["year"]))
    return None


def find_dates(text: str) -> list[date]:
    """Return all real dates in `text`, in order."""
    found = (_read(match) for match in DATE.finditer(text))
    return [day for day in found if day is not None]


def _read(match: re.Match[str]) -> date | None:
    year, month, day = (
        next(value for key in "123" if (value := match[part + key])) for part in "ymd"
    )
    number = int(month) if month.isdigit() else MONTHS[month.lower()]
    try:
        return date(int(year), number, int(day))
    except ValueError:
        return None


def _of_one_date(text: str, day: date) -> Solution | None:
    rest = DATE.sub(" ", text)
    if span := SPAN.search(rest):
        days = int(span["count"]) * (7 if span["unit"].lower().startswith("w") else 1)
        sign = -1 if BACKWARDS.search(rest) else 1
        return _shifted(day, sign * days)
    return _weekday(day) if WEEKDAY.search(rest) else None


def _between(first: date, second: date) -> Solution:
    days = abs((second - first).days)

    def claim(count: int) -> Claim:
        weeks, rest = divmod(count, 7)
        unit = "day" if count == 1 else "days"
        table = (
            "| From | To | Days | Weeks and days |\n|---|---|---|---|\n"
            f"| {first} | {second} | {count} | {weeks} w {rest} d |"
        )
        return Claim(
            f"{count} {unit}", f"{table}\n\nThe last day counts, the first not."
        )

    near = (days + 1, max(days - 1, 0), days + 3)
    return solution(Family.DATES, claim(days), tuple(claim(n) for n in near))


def _weekday(day: date) -> Solution:
    index = day.weekday()

    def claim(name: str) -> Claim:
        long_form = f"{day.day} {calendar.month_name[day.month]} {day.year}"
        return Claim(name, f"{long_form} is day {day.timetuple().tm_yday} of its year.")

    near = (NAMES[(index + 1) % 7], NAMES[index - 1])
    return solution(Family.DATES, claim(NAMES[index]), tuple(map(claim, near)))


def _shifted(day: date, days: int) -> Solution | None:
    def claim(count: int) -> Claim:
        end = day + timedelta(days=count)
        word = "after" if days >= 0 else "before"
        return Claim(
            end.isoformat(),
            f"{abs(days)} days {word} {day} is a {NAMES[end.weekday()]}.",
        )

    try:
        slips = tuple(claim(days + off) for off in (1, -1, 2))
        return solution(Family.DATES, claim(days), slips)
    except OverflowError:
        return None


def _leap_year(year: int) -> Solution:
    is_leap = calendar.isleap(year)
    rule = "divisible by 4, and by 400 if it ends a century"
    right = Claim("Yes" if is_leap else "No", f"A leap year is {rule}.")
    wrong = Claim("No" if is_leap else "Yes", f"A leap year is {rule}.")
    return Solution(Family.DATES, right, (wrong,))
