"""Finds sensitive data in a text: secrets, addresses, numbers of people and accounts.

A pattern only proposes; a validator with a check digit or a known form decides, so
that order numbers, hashes and dates pass. What many numbers could be needs a word
beside it that says what it is. All is looked for in the plain form of a text. Linear in
the length of the text. Pure.

Sources: the formats of `stdnum` (python-stdnum) and `phonenumbers`; prefixes of keys as
their providers publish them.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

import phonenumbers
from stdnum import iban, luhn
from stdnum.at import vnr
from stdnum.be import nn
from stdnum.br import cpf
from stdnum.ch import ssn as ch_ssn
from stdnum.de import idnr
from stdnum.es import dni, nie
from stdnum.fr import nir
from stdnum.it import codicefiscale
from stdnum.nl import bsn
from stdnum.pl import pesel
from stdnum.pt import nif
from stdnum.se import personnummer
from stdnum.us import ssn as us_ssn

from apps.core.data_classes import DataClassName
from apps.governance.sensitive_data.plain_form import plain_form

Kind = Literal["secret", "card", "iban", "tax_number", "email", "phone"]
KINDS: tuple[Kind, ...] = ("secret", "card", "iban", "tax_number", "email", "phone")
"""Where two findings overlap, the kind that comes first here wins."""
CLASS_OF: dict[Kind, DataClassName] = {
    "secret": "restricted",  # nosec B105
    "card": "restricted",
    "iban": "confidential",
    "tax_number": "confidential",
    "email": "internal",
    "phone": "internal",
}
NEAR = 60
"""Characters before a number in which a word may say what it is."""
MIN_ENTROPY = 3.0
"""Bits for each character of an assigned secret; words of a language have less."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Sensitive data at a place of a text."""

    kind: str
    """One of `KINDS`, or the name of a policy's own pattern."""
    start: int
    end: int
    """Not included."""


def findings_in(text: str) -> tuple[Finding, ...]:
    """Return what is found, in order, without overlaps. Never raises."""
    plain = plain_form(text)
    found = [each for kind in KINDS for each in _FINDERS[kind](plain.text)]
    found.sort(key=lambda each: (KINDS.index(each.kind), each.start))
    kept: list[Finding] = []
    for each in found:
        place = bisect_left(kept, each.start, key=lambda other: other.start)
        is_clear_before = place == 0 or kept[place - 1].end <= each.start
        is_clear_after = place == len(kept) or each.end <= kept[place].start
        if is_clear_before and is_clear_after:
            kept.insert(place, each)
    return tuple(Finding(each.kind, *plain.span(each.start, each.end)) for each in kept)


# --- secrets -------------------------------------------------------------------------

_SECRETS = re.compile(
    r"(?=-----B|[Aceghprsx])(?:-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY-----"
    r"|\bcdk_[0-9A-Za-z]{42}\b"  # our own API keys
    r"|\bsk-(?:ant-|proj-|or-v1-)?[A-Za-z0-9_-]{20,200}"
    r"|\bAIza[0-9A-Za-z_-]{35}\b"
    r"|\b(?:ghp|gho|ghu|ghs|ghr)_[0-9A-Za-z]{36,255}\b"
    r"|\bgithub_pat_[0-9A-Za-z_]{22,255}\b"
    r"|\bglpat-[0-9A-Za-z_-]{20,64}\b"
    r"|\bhf_[0-9A-Za-z]{30,64}\b"
    r"|\bxox[abprs]-[0-9A-Za-z-]{10,250}\b"
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"
    r"|\b(?:sk|rk|pk)_live_[0-9A-Za-z]{16,255}\b"
    r"|\beyJ[0-9A-Za-z_-]{10,2000}\.eyJ[0-9A-Za-z_-]{10,4000}\.[0-9A-Za-z_-]{10,1000})"
)
_ASSIGNED = re.compile(
    r"\b(?:pass(?:word|wd|phrase)?|secret|token|api[_-]?key|access[_-]?key)"
    r"[\"']?\s{0,3}[:=]\s{0,3}[\"']?([^\s\"',;]{8,200})",
    re.IGNORECASE,
)


def _secrets(text: str) -> Iterator[Finding]:
    for match in _SECRETS.finditer(text):
        yield Finding("secret", *match.span())
    for match in _ASSIGNED.finditer(text):
        if _is_random(match[1]):
            yield Finding("secret", *match.span(1))


def _is_random(text: str) -> bool:
    """Say whether a value looks like a secret, and not like a word or a placeholder."""
    kinds = (str.islower, str.isupper, str.isdigit)
    mixed = sum(any(map(of_kind, text)) for of_kind in kinds)
    counts = Counter(text).values()
    entropy = -sum(n / len(text) * math.log2(n / len(text)) for n in counts)
    return mixed >= 2 and entropy >= MIN_ENTROPY and text[:1] not in "<{$("


# --- numbers with a check digit ------------------------------------------------------

_CARD = re.compile(r"(?<![\w.-])[2-6]\d{3}(?:[ .-]?\d){8,15}(?![\w-]|\.\d)")
_IBAN = re.compile(r"(?<!\w)[A-Za-z]{2}\d{2}(?:[ .-]?[0-9A-Za-z]{2,4}){3,8}(?!\w)")
SEPARATORS = " .-"
"""Between the groups of a number."""
_ISSUERS = re.compile(
    r"4\d{12}(?:\d{3}|\d{6})?|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)"
    r"\d{12}|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}|6(?:011|5\d\d)\d{12}|35\d{14}"
    r"|62\d{14,17}"
)
"""Ranges of Visa, Mastercard, American Express, Diners, Discover, JCB and UnionPay."""


def _cards(text: str) -> Iterator[Finding]:
    for match in _CARD.finditer(text):
        digits = re.sub(r"\D", "", match[0])
        if _ISSUERS.fullmatch(digits) and luhn.is_valid(digits):
            yield Finding("card", *match.span())


def _ibans(text: str) -> Iterator[Finding]:
    for match in _IBAN.finditer(text):
        end = _iban_end(match[0])
        if end:
            yield Finding("iban", match.start(), match.start() + end)


def _iban_end(text: str) -> int:
    """Return where an IBAN at the beginning of a text ends; 0 if there is none.

    A word may follow it that could be a part of it, so shorter ones are tried too.
    """
    while text:
        if iban.is_valid(text):
            return len(text)
        text = text[: max(0, *map(text.rfind, SEPARATORS))]
    return 0


# --- numbers of people ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Number:
    """A national number of a person: its form, its check, and words that name it."""

    form: re.Pattern[str]
    is_valid: Callable[[str], bool]
    words: re.Pattern[str] | None
    """None: the form is telling enough."""


def _number(
    form: str, is_valid: Callable[[str], bool], words: str | None = None
) -> _Number:
    return _Number(
        re.compile(rf"(?<![\w.-])(?:{form})(?![\w-]|\.\d)"),
        is_valid,
        None if words is None else re.compile(rf"\b(?:{words})", re.IGNORECASE),
    )


_TAX = "tax|steuer|fiscal|impôt|imposto|insurance|versicherung|social|sv-|id[ -]?n"
_NUMBERS = (
    _number(r"\d{2} ?\d{3} ?\d{3} ?\d{3}", idnr.is_valid, f"{_TAX}|tin\\b"),
    _number(r"[12] ?\d{2} ?\d{2} ?\d[\dAB] ?\d{3} ?\d{3} ?\d{2}", nir.is_valid),
    _number(r"\d{8}-?[A-Z]", dni.is_valid),
    _number(r"[XYZ]-?\d{7}-?[A-Z]", nie.is_valid),
    _number(r"[A-Z]{6}\d{2}[A-Z]\d{2}[A-Z]\d{3}[A-Z]", codicefiscale.is_valid),
    _number(r"\d{9}", bsn.is_valid, "bsn|burgerservice|sofi"),
    _number(r"\d{11}", pesel.is_valid, "pesel"),
    _number(r"(?:\d{2})?\d{6}[-+]\d{4}", personnummer.is_valid, "person|pnr|social"),
    _number(r"\d{3}-\d{2}-\d{4}", us_ssn.is_valid, "ssn|social|security|tax"),
    _number(r"\d{4} ?\d{6}", vnr.is_valid, "sv|versicherung|insurance|social"),
    _number(r"\d{2}\.\d{2}\.\d{2}-\d{3}\.\d{2}", nn.is_valid),
    _number(r"756\.\d{4}\.\d{4}\.\d{2}", ch_ssn.is_valid),
    _number(r"\d{3}\.\d{3}\.\d{3}-\d{2}", cpf.is_valid),
    _number(r"\d{9}", nif.is_valid, "nif|contribuinte"),
)
"""Of Germany, France, Spain (two), Italy, the Netherlands, Poland, Sweden, the United
States, Austria, Belgium, Switzerland, Brazil and Portugal."""


def _tax_numbers(text: str) -> Iterator[Finding]:
    for number in _NUMBERS:
        for match in number.form.finditer(text):
            before = text[max(0, match.start() - NEAR) : match.start()]
            is_named = number.words is None or number.words.search(before)
            if is_named and number.is_valid(match[0]):
                yield Finding("tax_number", *match.span())


# --- ways to reach a person ----------------------------------------------------------

_EMAIL = re.compile(
    r"(?<![\w.+-])[A-Za-z0-9][\w.+-]{0,63}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}"
    r"(?![\w@-])"
)
_PHONE = re.compile(r"(?<![\w+.-])(?:\+|00)[1-9](?:[ ()./-]{0,3}\d){6,14}(?![\w-])")


def _emails(text: str) -> Iterator[Finding]:
    for match in _EMAIL.finditer(text):
        yield Finding("email", *match.span())


def _phones(text: str) -> Iterator[Finding]:
    """Find numbers with a country code; without one a number may be anything."""
    for match in _PHONE.finditer(text):
        given = match[0]
        if given.startswith("00"):
            given = "+" + given[2:]
        try:
            number = phonenumbers.parse(given)
        except phonenumbers.NumberParseException:
            continue
        if phonenumbers.is_valid_number(number):
            yield Finding("phone", *match.span())


_FINDERS: dict[Kind, Callable[[str], Iterable[Finding]]] = {
    "secret": _secrets,
    "card": _cards,
    "iban": _ibans,
    "tax_number": _tax_numbers,
    "email": _emails,
    "phone": _phones,
}
