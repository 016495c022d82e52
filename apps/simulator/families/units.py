"""Conversions between units of length, mass, temperature, time and data."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from apps.simulator.families.numbers import plain, rounded
from apps.simulator.families.solution import Claim, Family, Solution, solution


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit as a straight line over the base unit of its dimension."""

    name: str
    dimension: str
    factor: Fraction
    """Base units in one of it."""
    offset: Fraction = Fraction(0)
    """Base value at its zero; only temperatures have one."""


# dimension, name in the plural, base units in one (exact), other spellings
_ROWS = (
    ("length", "millimetres", "0.001", "mm millimetre millimeter millimeters"),
    ("length", "centimetres", "0.01", "cm centimetre centimeter centimeters"),
    ("length", "metres", "1", "m metre meter meters"),
    ("length", "kilometres", "1000", "km kilometre kilometer kilometers kms"),
    ("length", "inches", "0.0254", "inch"),
    ("length", "feet", "0.3048", "ft foot"),
    ("length", "yards", "0.9144", "yd yard"),
    ("length", "miles", "1609.344", "mi mile"),
    ("length", "nautical miles", "1852", "nmi"),
    ("mass", "milligrams", "0.000001", "mg milligram"),
    ("mass", "grams", "0.001", "g gram"),
    ("mass", "kilograms", "1", "kg kilogram kilo kilos kgs"),
    ("mass", "tonnes", "1000", "t tonne"),
    ("mass", "ounces", "0.028349523125", "oz ounce"),
    ("mass", "pounds", "0.45359237", "lb lbs pound"),
    ("mass", "stone", "6.35029318", "st stones"),
    ("time", "milliseconds", "0.001", "ms millisecond"),
    ("time", "seconds", "1", "s sec secs second"),
    ("time", "minutes", "60", "min mins minute"),
    ("time", "hours", "3600", "h hr hrs hour"),
    ("time", "days", "86400", "day"),
    ("time", "weeks", "604800", "week"),
    ("data", "bits", "1/8", "bit"),
    ("data", "bytes", "1", "b byte"),
    ("data", "kilobytes", "1000", "kb kilobyte"),
    ("data", "megabytes", "1000000", "mb megabyte"),
    ("data", "gigabytes", "1000000000", "gb gigabyte"),
    ("data", "terabytes", "1000000000000", "tb terabyte"),
    ("data", "kibibytes", "1024", "kib kibibyte"),
    ("data", "mebibytes", "1048576", "mib mebibyte"),
    ("data", "gibibytes", "1073741824", "gib gibibyte"),
    ("data", "tebibytes", "1099511627776", "tib tebibyte"),
)
# name, kelvins in one degree, kelvins at its zero, other spellings
_TEMPERATURES = (
    ("°C", "1", "273.15", "c celsius °celsius centigrade"),
    ("°F", "5/9", "45967/180", "f fahrenheit °fahrenheit"),
    ("K", "1", "0", "k kelvin kelvins"),
)


def _table() -> dict[str, Unit]:
    units: dict[str, Unit] = {}
    for dimension, name, factor, spellings in _ROWS:
        unit = Unit(name, dimension, Fraction(factor))
        units |= dict.fromkeys((name, *spellings.split()), unit)
    for name, factor, offset, spellings in _TEMPERATURES:
        unit = Unit(name, "temperature", Fraction(factor), Fraction(offset))
        units |= dict.fromkeys((name.lower(), *spellings.split()), unit)
    return units


UNITS = _table()
_NAMES = "|".join(re.escape(name) for name in sorted(UNITS, key=len, reverse=True))
_WORD = rf"(?=[^\W\d_]|°)(?:{_NAMES})"
_DEGREES = r"(?:degrees?\s++)?+"
_AMOUNT = r"(?<![\d.])(?<!\d,)(?P<amount>-?\d[\d,]*+(?:\.\d++)?)"
FORWARD = re.compile(
    rf"{_AMOUNT}\s*+{_DEGREES}(?P<source>{_WORD})\s++"
    rf"(?:is\s++)?(?:to|in|into|as|equals?)\s++{_DEGREES}(?P<target>{_WORD})(?!\w)",
    re.IGNORECASE,
)
HOW_MANY = re.compile(
    rf"how many\s++(?P<target>{_WORD})\s++(?:are\s++|is\s++)?(?:there\s++)?"
    rf"(?:in|make)\s++(?:an?\s++|{_AMOUNT}\s*+)?{_DEGREES}(?P<source>{_WORD})(?!\w)",
    re.IGNORECASE,
)
ARE_MANY = re.compile(
    rf"how many\s++(?P<target>{_WORD})\s++(?:are|is)\s++"
    rf"{_AMOUNT}\s*+{_DEGREES}(?P<source>{_WORD})(?!\w)",
    re.IGNORECASE,
)
TO_WHAT = re.compile(
    rf"{_AMOUNT}\s*+{_DEGREES}(?P<source>{_WORD})\s++(?:is|are|equals?)\s++"
    rf"how many\s++(?P<target>{_WORD})(?!\w)",
    re.IGNORECASE,
)
NAMED_FIRST = re.compile(
    rf"(?:what is|how much is)\s++{_AMOUNT}\s*+{_DEGREES}(?P<source>{_WORD})\s++"
    rf"in\s++{_DEGREES}(?P<target>{_WORD})(?!\w)",
    re.IGNORECASE,
)


def solve(text: str) -> Solution | None:
    """Return the conversion `text` asks for, if it asks for one."""
    for pattern in (FORWARD, HOW_MANY, ARE_MANY, TO_WHAT, NAMED_FIRST):
        match = pattern.search(text)
        if match is None:
            continue
        source = UNITS[match["source"].lower()]
        target = UNITS[match["target"].lower()]
        if source.dimension == target.dimension and source != target:
            amount = Fraction((match["amount"] or "1").replace(",", ""))
            return _conversion(amount, source, target)
    return None


def convert(amount: Fraction, source: Unit, target: Unit) -> Fraction:
    """Return `amount` of `source` in `target`, exactly."""
    base = amount * source.factor + source.offset
    return (base - target.offset) / target.factor


def _conversion(amount: Fraction, source: Unit, target: Unit) -> Solution:
    def claim(value: Fraction) -> Claim:
        shown = f"{rounded(value)} {target.name}"
        return Claim(
            shown,
            f"| {source.name} | {target.name} |\n|---|---|\n"
            f"| {plain(amount)} | {rounded(value)} |\n\n{_rule(source, target)}",
        )

    value = convert(amount, source, target)
    near = [value * 10, value / 10, value * Fraction(11, 10)]
    if source.dimension == "temperature":
        near = [value + 5, value - 32, value + 10]
    elif amount:
        near.insert(0, amount * target.factor / source.factor)  # upside down
    return solution(Family.UNITS, claim(value), tuple(map(claim, near)))


def _rule(source: Unit, target: Unit) -> str:
    if source.dimension == "temperature":
        zero = rounded(convert(Fraction(0), source, target))
        return f"0 {source.name} is {zero} {target.name}."
    one = rounded(source.factor / target.factor)
    return f"One of the {source.name} is {one} {target.name}."
