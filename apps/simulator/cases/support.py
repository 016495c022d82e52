"""Support: messages to sort, refunds by rules, replies in the shop's form."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from apps.simulator.benchmark.forms import Form, Values, says
from apps.simulator.cases.use_case import (
    ANSWER,
    CasePlan,
    CaseStep,
    CaseWorkers,
    UseCase,
)
from apps.simulator.suitability import Need

SORTING, REFUNDS, REPLIES = FAMILIES = ("sorting", "refunds", "replies")
CUSTOMERS = tuple(f"K-{number}" for number in range(100_100, 109_000, 211))
ADDRESSES = tuple(f"customer-{number}@mail.example" for number in range(10, 60))
PLACEHOLDERS = {"customer": "[CUSTOMER_NUMBER_1]", "address": "[EMAIL_1]"}
CATEGORIES: Mapping[str, Sequence[str]] = {
    "delivery": (
        "The parcel has not arrived.",
        "Half of the order is missing.",
        "The parcel went to a neighbour who does not have it.",
        "Tracking has not moved for days.",
    ),
    "billing": (
        "I was charged twice.",
        "The invoice shows a wrong amount.",
        "The voucher was not deducted.",
        "I paid, but there is no invoice.",
    ),
    "product": (
        "The lamp does not switch on.",
        "The kettle leaks.",
        "A leg of the chair is broken.",
        "The manual is in a language that I cannot read.",
    ),
    "account": (
        "I cannot sign in.",
        "The link for a new password has expired.",
        "My former address is still shown.",
        "I want to close my account.",
    ),
}
CATEGORY_OF = {text: name for name, texts in CATEGORIES.items() for text in texts}
URGENCY_OF = {
    "I need it today.": "high",
    "Without it I cannot work.": "high",
    "There is no hurry.": "normal",
    "An answer next week is early enough.": "normal",
}
DAYS = (
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
)
ORDERS = range(4_001, 4_900)
RULES = (
    "Rules of the shop: what comes back within {d} days is refunded in full, later {p} "
    "percent of it. Shipping is not refunded."
)
SIGNED = "Kind regards, your shop"
CLOSING = "Put the line in bold."


# --- sorting --------------------------------------------------------------------------


def _line(category: str, urgency: str, address: str) -> str:
    return f"category={category}; urgency={urgency}; reply to={address}"


def _sorted(values: Values) -> str:
    category = CATEGORY_OF[values["problem"]]
    return _line(category, URGENCY_OF[values["need"]], values["address"])


def _other_urgency(values: Values) -> tuple[str, ...]:
    category, urgency = CATEGORY_OF[values["problem"]], URGENCY_OF[values["need"]]
    other = "normal" if urgency == "high" else "high"
    return (_line(category, other, values["address"]),)


def _other_category(values: Values) -> tuple[str, ...]:
    right, urgency = CATEGORY_OF[values["problem"]], URGENCY_OF[values["need"]]
    others = [name for name in CATEGORIES if name != right]
    return tuple(_line(name, urgency, values["address"]) for name in others)


def _sorting(message: str) -> Form:
    return Form(
        SORTING,
        "Sort this message. Answer with one line: category=CATEGORY; urgency=URGENCY; "
        "reply to=ADDRESS. Categories: delivery, billing, product, account. Urgency is "
        "high if the customer cannot wait, otherwise normal. "
        f"{CLOSING}\n\n{message}",
        {
            "customer": CUSTOMERS,
            "address": ADDRESSES,
            "problem": tuple(CATEGORY_OF),
            "need": tuple(URGENCY_OF),
        },
        _sorted,
        says("Decide on the category first, then look for what says how urgent it is."),
        _other_category,
        _other_urgency,
        placeholders=PLACEHOLDERS,
    )


# --- refunds --------------------------------------------------------------------------


def _refund(message: str) -> Form:
    def solve(values: Values) -> str:
        price, share = int(values["a"]), int(values["p"])
        is_in_time = int(values["n"]) <= int(values["d"])
        return str(price if is_in_time else price * share // 100)

    def method(values: Values) -> str:
        is_in_time = int(values["n"]) <= int(values["d"])
        share = "all" if is_in_time else f"{values['p']} percent"
        return f"After {values['n']} days it is {share} of {values['a']} EUR."

    return Form(
        REFUNDS,
        f"{RULES}\n\n{message}\n\nHow many EUR are refunded? Put the number in bold.",
        {
            "customer": CUSTOMERS,
            "d": (14, 30),
            "p": range(20, 90, 10),
            "a": range(30, 400, 10),
            "n": range(3, 60),
            "s": range(4, 10),
        },
        solve,
        method,
        placeholders=PLACEHOLDERS,
    )


# --- replies --------------------------------------------------------------------------


def _reply(order: str, day: str) -> str:
    return f"Dear customer, your order {order} will arrive on {day}. {SIGNED}"


def _arrival(values: Values, late: int = 0) -> str:
    left, days = DAYS.index(values["e"]), int(values["m"])
    return DAYS[(left + days + late) % 7]


def _form_of_reply(values: Values, _answer: str) -> Mapping[str, Any]:
    words = re.escape(_reply(values["o"], _arrival(values))).replace(r"\ ", r"\s+")
    return {"kind": "pattern", "pattern": f"(?i){words}"}


def _near_replies(values: Values) -> tuple[str, ...]:
    order = values["o"]
    unsigned = f"Your order {order} will arrive on {_arrival(values)}."
    return (*(_reply(order, _arrival(values, late)) for late in (1, 6)), unsigned)


def _replying(message: str) -> Form:
    def solve(values: Values) -> str | None:
        is_clear = values["o"] != values["q"]
        return _reply(values["o"], _arrival(values)) if is_clear else None

    return Form(
        REPLIES,
        "Order {q} left on {g}; the way takes {k} days.\n"
        "Order {o} left on {e}; the way takes {m} days.\n\n"
        f"{message}\n\n"
        "Reply with one line: Dear customer, your order NUMBER will arrive on DAY. "
        f"{SIGNED}. Days of the weekend count. {CLOSING}",
        {
            "customer": CUSTOMERS,
            "q": ORDERS,
            "g": DAYS,
            "k": range(2, 7),
            "o": ORDERS,
            "e": DAYS,
            "m": range(2, 7),
        },
        solve,
        says("Find the order, count the days from the day it left, keep to the form."),
        lambda values: (_reply(values["q"], _arrival(values)),),
        _near_replies,
        _form_of_reply,
        placeholders=PLACEHOLDERS,
    )


FORMS = (
    _sorting("Customer {customer}, {address}: {problem} {need}"),
    _sorting("{need} {problem} My address is {address}, my number {customer}."),
    _refund(
        "Customer {customer} sends back an item of {a} EUR after {n} days and wants a "
        "refund. Shipping was {s} EUR."
    ),
    _refund(
        "An item of {a} EUR came back after {n} days, with {s} EUR for shipping. "
        "Customer {customer} asks for a refund."
    ),
    _replying("Customer {customer}: When will order {o} be here?"),
    _replying("Where is order {o}? I have waited for days. Customer {customer}"),
)

# --- who does it ----------------------------------------------------------------------

EDITED = (
    "Check the earlier answer: what it says and whether it keeps to the required form. "
    "Correct it, and state it first, in bold."
)
WORKERS = CaseWorkers(FAMILIES, FORMS)
SUPPORT = UseCase(
    name="support",
    fallback="support-large",
    plans={
        SORTING: CasePlan(
            "Sorting is quick work: the cheapest model does it, and another one checks "
            "the form, because a program reads it.",
            (CaseStep(Need.GENERAL, ANSWER), CaseStep(Need.CHECKING, EDITED, (0,))),
        ),
        REFUNDS: CasePlan(
            "A refund follows rules: one model finds the rule, another one applies it, "
            "and a third one checks the result.",
            (
                CaseStep(
                    Need.FACTS, "Outline which rule holds, and with which numbers."
                ),
                CaseStep(Need.TEXT, ANSWER, (0,)),
                CaseStep(Need.CHECKING, EDITED, (0, 1)),
            ),
        ),
        REPLIES: CasePlan(
            "A reply has to be right and in the shop's form: one model writes it, "
            "another one checks both.",
            (CaseStep(Need.TEXT, ANSWER), CaseStep(Need.CHECKING, EDITED, (0,))),
        ),
    },
    forms=FORMS,
    workers=(
        WORKERS.make(
            "support-sorter",
            "Simulated. Quick and cheap: sorts messages.",
            price=1,
            solve=(0.85, 0.25, 0.30),
            guided={REFUNDS: 0.50},
            planning=0.20,
            repair=(0.4, 0.1, 0.2),
        ),
        WORKERS.make(
            "support-handbook",
            "Simulated. Knowledge of the shop: its rules and terms.",
            price=2,
            solve=(0.50, 0.60, 0.40),
            guided={REFUNDS: 0.70},
            planning=0.94,
            repair=(0.2, 0.4, 0.2),
        ),
        WORKERS.make(
            "support-writer",
            "Simulated. Writing: replies in a given form.",
            price=2,
            solve=(0.60, 0.45, 0.70),
            guided={REFUNDS: 0.93},
            planning=0.30,
            repair=(0.3, 0.3, 0.4),
        ),
        WORKERS.make(
            "support-editor",
            "Simulated. Checks what others wrote, and its form.",
            price=2,
            solve=(0.60, 0.40, 0.45),
            guided={REFUNDS: 0.50},
            planning=0.30,
            repair=(0.85, 0.85, 0.92),
        ),
        WORKERS.make(
            "support-large",
            "Simulated. A large, strong model for everything.",
            price=10,
            solve=(0.86, 0.75, 0.74),
            guided={REFUNDS: 0.85},
            planning=0.70,
            repair=(0.4, 0.4, 0.4),
            first_token_ms=500,
            tokens_per_s=80,
        ),
    ),
)
