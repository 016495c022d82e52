"""Calculations told as a story: so many of so many, and some that go or come."""

from __future__ import annotations

import re

from apps.simulator.families.solution import Claim, Family, Solution, solution

NUMBER = r"\d{1,9}"
PRODUCTS = tuple(
    re.compile(rf"\b(?P<many>{NUMBER}) [a-z]{{1,30}} {how} (?P<each>{NUMBER})\b", re.I)
    for how in ("(?:of|with)", "(?:a|each|every|per) [a-z]{1,30} for")
)
"""Such as "12 boxes of 7 pens" and "5 pages a day for 12 days"."""
OTHER = re.compile(rf"\b{NUMBER}\b")
ASKS = re.compile(r"\bhow many\b", re.I)
GOES = re.compile(
    r"\b(?:sells?|sold|gives?|gave|loses?|lost|uses|used|eats?|ate|throws?|threw"
    r"|broken|missing|out of use|taken|returns?|returned)\b",
    re.I,
)
COMES = re.compile(
    r"\b(?:in all|altogether|together|more|buys?|bought|gets?|got|adds?|added)\b", re.I
)
SLIPS = (10, -1, 2)


def solve(text: str) -> Solution | None:
    """Return the solution of a story that is one product, and one number beside it."""
    found = next((m for each in PRODUCTS if (m := each.search(text))), None)
    if found is None or not ASKS.search(text):
        return None
    rest = f"{text[: found.start()]} {text[found.end() :]}"
    others = [int(number) for number in OTHER.findall(rest)]
    many, each = int(found["many"]), int(found["each"])
    working = f"{many} × {each} = {many * each}"
    if not others:
        return _solved(many * each, f"{working}.")
    if len(others) > 1:
        return None
    if GOES.search(rest):
        return _left(many * each, others[0], working)
    if COMES.search(rest):
        total = many * each + others[0]
        return _solved(total, f"{working}, and {others[0]} more are {total}.")
    return None


def _left(there: int, gone: int, working: str) -> Solution:
    left = there - gone
    if left >= 0:
        return _solved(left, f"{working}, and {gone} fewer are {left}.")
    right = Claim("That cannot be", f"{working}, which is fewer than {gone}.")
    return solution(Family.STORIES, right, (Claim(str(-left)), Claim("0")))


def _solved(number: int, working: str) -> Solution:
    wrong = tuple(Claim(str(number + slip)) for slip in SLIPS)
    return solution(Family.STORIES, Claim(str(number), working), wrong)
