"""Finance: invoices with account numbers, postings of a month, calculations."""

from __future__ import annotations

from apps.simulator.benchmark.forms import Form, TaskFamily, Values
from apps.simulator.cases.use_case import (
    ANSWER,
    CHECK,
    CasePlan,
    CaseStep,
    CaseWorkers,
    UseCase,
    forms_of,
)
from apps.simulator.suitability import Need

INVOICES, POSTINGS = "invoices", "postings"
FAMILIES = (INVOICES, POSTINGS, TaskFamily.ARITHMETIC)
NO_BANK = "00000000"
"""A German bank code that no bank has."""
ROWS = "abcd"
ITEMS = ("Paper", "Toner", "Chairs", "Lamps", "Cables", "Screens", "Desks", "Shelves")
ACCOUNTS = ("travel", "software", "postage", "rent", "training")
QUANTITIES, PRICES, AMOUNTS = range(2, 10), range(10, 90), range(100, 900)
BOLD = "Put the number in bold."


def iban(account: int) -> str:
    """Return an account number with right check digits, at a bank that is none."""
    number = f"{NO_BANK}{account:010}"
    check = 98 - int(f"{number}131400") % 97
    return f"DE{check:02}{number}"


IBANS = tuple(iban(9_000_000 + 7 * n) for n in range(40))


def _products(values: Values) -> list[tuple[int, int]]:
    return [(int(values[f"q{row}"]), int(values[f"p{row}"])) for row in ROWS[:3]]


def _total(values: Values) -> int:
    return sum(quantity * price for quantity, price in _products(values))


def _extracted(values: Values) -> str:
    rows = " + ".join(f"{q} * {p}" for q, p in _products(values))
    return f"Multiply quantity by price in each row, then add: {rows}."


def _invoice(question: str, deducts: bool) -> Form:
    rows = "\n".join(f"{{i{r}}} | {{q{r}}} | {{p{r}}}" for r in ROWS[:3])
    named = [(f"i{r}", ITEMS) for r in ROWS[:3]]
    counted = [(f"q{r}", QUANTITIES) for r in ROWS[:3]]
    priced = [(f"p{r}", PRICES) for r in ROWS[:3]]

    def solve(values: Values) -> str | None:
        if len({values[name] for name, _ in named}) < len(named):
            return None
        return str(_total(values) - (int(values["d"]) if deducts else 0))

    def method(values: Values) -> str:
        less = f" Subtract {values['d']}." if deducts else ""
        return _extracted(values) + less

    return Form(
        INVOICES,
        f"Invoice, to be paid to {{account}}\n\nItem | Quantity | EUR each\n{rows}\n\n"
        f"{question} {BOLD}",
        {
            "account": IBANS,
            **dict(named),
            **dict(counted),
            **dict(priced),
            **({"d": range(10, 60)} if deducts else {}),
        },
        solve,
        method,
        placeholders={"account": "[IBAN_1]"},
    )


def _amounts(values: Values) -> list[int]:
    rows = [r for r in ROWS if values[f"x{r}"] == values["x"]]
    return [int(values[f"m{row}"]) for row in rows]


def _postings(question: str, largest: bool) -> Form:
    rows = "\n".join(f"{{n{r}}} | {{x{r}}} | {{m{r}}}" for r in ROWS)

    def solve(values: Values) -> str | None:
        amounts = _amounts(values)
        if len(amounts) < 2:
            return None
        return str(max(amounts) - min(amounts) if largest else sum(amounts))

    def method(values: Values) -> str:
        amounts = ", ".join(map(str, _amounts(values)))
        last = "subtract the smallest from the largest" if largest else "add them"
        return f"Take the rows of {values['x']} only, {amounts}, then {last}."

    return Form(
        POSTINGS,
        f"Postings of a month\n\nNumber | Account | EUR\n{rows}\n\n{question} {BOLD}",
        {
            **{f"n{r}": range(1_000, 2_000) for r in ROWS},
            **{f"x{r}": ACCOUNTS for r in ROWS},
            **{f"m{r}": AMOUNTS for r in ROWS},
            "x": ACCOUNTS,
        },
        solve,
        method,
    )


FORMS = (
    _invoice("How many EUR is the total?", deducts=False),
    _invoice("How many EUR are due after a deduction of {d} EUR?", deducts=True),
    _postings("How many EUR were posted to {x} in all?", largest=False),
    _postings(
        "How many EUR are between the largest and the smallest posting to {x}?",
        largest=True,
    ),
    *forms_of(TaskFamily.ARITHMETIC),
)
_EXTRACTED = CasePlan(
    "The figures are extracted first, then calculated with, then checked.",
    (
        CaseStep(Need.PLANNING, "Outline which figures the answer needs, and how."),
        CaseStep(Need.ARITHMETIC, ANSWER, (0,)),
        CaseStep(Need.CHECKING, CHECK, (0, 1)),
    ),
)
_CALCULATED = CasePlan(
    "A bare calculation: one model calculates, nothing has to be extracted.",
    (CaseStep(Need.ARITHMETIC, ANSWER),),
)
WORKERS = CaseWorkers(FAMILIES, FORMS)
FINANCE = UseCase(
    name="finance",
    fallback="finance-large-eu",
    plans={
        INVOICES: _EXTRACTED,
        POSTINGS: _EXTRACTED,
        TaskFamily.ARITHMETIC: _CALCULATED,
    },
    forms=FORMS,
    workers=(
        WORKERS.make(
            "finance-reader-eu",
            "Simulated, in the EU. Extracts figures from documents.",
            price=2,
            solve=(0.45, 0.45, 0.20),
            guided={INVOICES: 0.50, POSTINGS: 0.50},
            planning=0.95,
            repair=(0.3, 0.3, 0.2),
        ),
        WORKERS.make(
            "finance-calculator-eu",
            "Simulated, in the EU. A small model for calculations.",
            price=1,
            solve=(0.40, 0.40, 0.96),
            guided={INVOICES: 0.94, POSTINGS: 0.92},
            planning=0.20,
            repair=(0.3, 0.3, 0.4),
        ),
        WORKERS.make(
            "finance-auditor-eu",
            "Simulated, in the EU. Checks results and corrects them.",
            price=2,
            solve=(0.50, 0.50, 0.60),
            guided={INVOICES: 0.60, POSTINGS: 0.60},
            planning=0.40,
            repair=(0.90, 0.90, 0.80),
        ),
        WORKERS.make(
            "finance-large-eu",
            "Simulated, in the EU. A large model for everything.",
            price=12,
            solve=(0.65, 0.65, 0.80),
            guided={INVOICES: 0.75, POSTINGS: 0.75},
            planning=0.70,
            repair=(0.4, 0.4, 0.4),
            first_token_ms=600,
            tokens_per_s=60,
        ),
        WORKERS.make(
            "finance-large-us",
            "Simulated, in the US. A large, strong model for everything.",
            price=10,
            solve=(0.85, 0.85, 0.90),
            guided={INVOICES: 0.90, POSTINGS: 0.90},
            planning=0.80,
            repair=(0.5, 0.5, 0.5),
            first_token_ms=500,
            tokens_per_s=80,
        ),
    ),
    refused={INVOICES: frozenset({"finance-large-us"})},
)
