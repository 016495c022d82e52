"""A small table of facts to recall: capitals, chemical symbols, planets and others."""

from __future__ import annotations

import re
from dataclasses import dataclass

from apps.simulator.benchmark.forms import CAPITALS as BENCHMARK_CAPITALS
from apps.simulator.families.solution import Claim, Family, Solution, solution

SLIPS = 3
"""Wrong answers offered per question."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One row: the words a question must hold, and the answer."""

    topic: str
    """Facts of one topic lend each other their answers as slips."""
    words: tuple[str, ...]
    """Each is a regular expression that must be found as a whole word."""
    answer: str
    note: str


_CAPITALS = {
    **BENCHMARK_CAPITALS,
    "Argentina": "Buenos Aires",
    "Australia": "Canberra",
    "Austria": "Vienna",
    "Belgium": "Brussels",
    "Brazil": "Brasília",
    "Canada": "Ottawa",
    "Chile": "Santiago",
    "China": "Beijing",
    "Czech Republic": "Prague",
    "Denmark": "Copenhagen",
    "Egypt": "Cairo",
    "England": "London",
    "Finland": "Helsinki",
    "France": "Paris",
    "Germany": "Berlin",
    "Greece": "Athens",
    "India": "New Delhi",
    "Indonesia": "Jakarta",
    "Ireland": "Dublin",
    "Italy": "Rome",
    "Japan": "Tokyo",
    "Kenya": "Nairobi",
    "Mexico": "Mexico City",
    "Netherlands": "Amsterdam",
    "New Zealand": "Wellington",
    "Norway": "Oslo",
    "Poland": "Warsaw",
    "Portugal": "Lisbon",
    "Russia": "Moscow",
    "Scotland": "Edinburgh",
    "South Africa": "Pretoria",
    "South Korea": "Seoul",
    "Spain": "Madrid",
    "Sweden": "Stockholm",
    "Switzerland": "Bern",
    "Turkey": "Ankara",
    "United Kingdom": "London",
    "USA": "Washington, D.C.",
    "United States": "Washington, D.C.",
    "Vietnam": "Hanoi",
}
_SYMBOLS = {
    "carbon": "C",
    "copper": "Cu",
    "gold": "Au",
    "helium": "He",
    "hydrogen": "H",
    "iron": "Fe",
    "lead": "Pb",
    "mercury": "Hg",
    "nitrogen": "N",
    "oxygen": "O",
    "potassium": "K",
    "silver": "Ag",
    "sodium": "Na",
    "tin": "Sn",
    "tungsten": "W",
}
# topic, words, answer, note
_OTHERS = (
    ("planet", ("largest|biggest", "planets?"), "Jupiter", "About 11 Earths wide."),
    ("planet", ("smallest", "planets?"), "Mercury", "Since Pluto is counted apart."),
    ("planet", ("closest|nearest", "sun"), "Mercury", "About 58 million km away."),
    ("planet", ("hottest", "planets?"), "Venus", "Its thick air holds the heat."),
    ("planet", ("red", "planet"), "Mars", "Iron oxide colours its ground."),
    ("planet", ("farthest|furthest", "planets?"), "Neptune", "About 30 times our way."),
    ("number", ("how many", "planets"), "8", "From Mercury to Neptune."),
    ("number", ("how many", "continents"), "7", "By the most common count."),
    ("number", ("how many", "strings", "violin"), "4", "G, D, A and E."),
    ("number", ("how many", "sides", "hexagon"), "6", "The Greek word for six."),
    ("number", ("how many", "bones", "adult|human"), "206", "Newborns have more."),
    ("author", ("who", "wrote", "hamlet"), "William Shakespeare", "About 1600."),
    (
        "author",
        ("who", "wrote", "faust"),
        "Johann Wolfgang von Goethe",
        "Part one, 1808.",
    ),
    (
        "author",
        ("who", "wrote", "don quixote"),
        "Miguel de Cervantes",
        "1605 and 1615.",
    ),
    ("author", ("who", "wrote", "odyssey"), "Homer", "By tradition."),
    ("author", ("who", "wrote", "macbeth"), "William Shakespeare", "About 1606."),
    ("author", ("who", "wrote", "1984"), "George Orwell", "Published in 1949."),
    (
        "ocean",
        ("largest|biggest", "ocean"),
        "the Pacific Ocean",
        "A third of the globe.",
    ),
    (
        "peak",
        ("highest|tallest", "mountain"),
        "Mount Everest",
        "8,849 m above the sea.",
    ),
    ("constant", ("speed of light",), "299,792,458 m/s", "Exact, by definition."),
    ("constant", ("boiling point", "water"), "100 °C", "At sea level."),
    ("constant", ("freezing point", "water"), "0 °C", "At sea level."),
    ("formula", ("formula", "water"), "H₂O", "Two hydrogen atoms, one oxygen."),
    ("formula", ("formula", "salt"), "NaCl", "Sodium chloride."),
    (
        "language",
        ("language", "spoken", "brazil"),
        "Portuguese",
        "Since colonial times.",
    ),
)


def _table() -> tuple[Fact, ...]:
    capitals = (
        Fact("capital", ("capital", place), city, f"{city} is the capital of {place}.")
        for place, city in _CAPITALS.items()
    )
    symbols = (
        Fact("symbol", ("symbol", name), sign, f"The symbol of {name} is {sign}.")
        for name, sign in _SYMBOLS.items()
    )
    return (*capitals, *symbols, *(Fact(*row) for row in _OTHERS))


FACTS = _table()
CAPITALS_OF = re.compile(r"\bcapitals of\b", re.IGNORECASE)
COUNTRIES = {place.casefold(): place for place in _CAPITALS}
COUNTRY = re.compile(rf"\b({'|'.join(map(re.escape, _CAPITALS))})\b", re.IGNORECASE)


def solve(text: str) -> Solution | None:
    """Return the fact `text` asks for, if the table holds it."""
    if CAPITALS_OF.search(text):
        return _several_capitals(text)
    for index, fact in enumerate(FACTS):
        if all(
            re.search(rf"\b(?:{word})\b", text, re.IGNORECASE) for word in fact.words
        ):
            return solution(
                Family.FACTS, Claim(fact.answer, fact.note), _slips(fact, index)
            )
    return None


def _several_capitals(text: str) -> Solution | None:
    """Return the capitals of all countries that a text names, in its order."""
    places = COUNTRY.findall(text)
    if len(places) < 2:
        return None
    cities = [_CAPITALS[COUNTRIES[place.casefold()]] for place in places]
    rows = "\n".join(
        f"| {place} | {city} |" for place, city in zip(places, cities, strict=True)
    )
    right = Claim(", ".join(cities), f"| Country | Capital |\n|---|---|\n{rows}")
    wrong = (Claim(", ".join(cities[::-1])), Claim(", ".join(cities[:-1])))
    return solution(Family.FACTS, right, wrong)


def _slips(fact: Fact, index: int) -> tuple[Claim, ...]:
    same_topic = [other.answer for other in FACTS if other.topic == fact.topic]
    others = [answer for answer in same_topic if answer != fact.answer]
    first = index % len(others) if others else 0
    wrong = (others[first:] + others[:first])[:SLIPS]
    return tuple(Claim(answer) for answer in wrong) or (Claim("I am not sure"),)
