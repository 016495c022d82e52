"""The worlds of the use cases: tasks worked out from their text, plans that pay off."""

from __future__ import annotations

import httpx
import pytest

from apps.simulator.benchmark.answers import UNKNOWN, worth
from apps.simulator.benchmark.behavior import BenchOutcome
from apps.simulator.benchmark.tasks import BenchTask, drawn_task, recognise
from apps.simulator.briefing import BriefingRole
from apps.simulator.cases import support
from apps.simulator.cases.catalog import CASES
from apps.simulator.cases.figures import best_worker, case_scores, conducted
from apps.simulator.cases.finance import IBANS, iban
from apps.simulator.cases.suite import case_tasks
from apps.simulator.cases.use_case import UseCase
from tests.simulator.asking import Asker
from tests.simulator.benchmark.served import Z, message

FAMILIES = [(case, family) for case in CASES.values() for family in case.families]
SOLVE, PLAN, CHECK, COMBINE = (
    BriefingRole.SOLVE,
    BriefingRole.PLAN,
    BriefingRole.CHECK,
    BriefingRole.COMBINE,
)
each_case = pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case.name)
each_family = pytest.mark.parametrize(
    ("case", "family"), FAMILIES, ids=lambda value: getattr(value, "name", value)
)


def made(case: UseCase, family: str, count: int) -> list[BenchTask]:
    drawn = (drawn_task(family, 11, index, 0, case.forms) for index in range(count))
    return [task for task in drawn if task is not None]


def shown(task: BenchTask, short: str) -> str:
    return f"```python\n{short}\n```" if task.is_code else f"**{short}**"


@each_family
def test_recognition_inverts_generation(case: UseCase, family: str) -> None:
    tasks = made(case, family, 500)
    assert len(tasks) > 50
    assert [recognise(task.question, case.forms) for task in tasks] == tasks


@each_family
def test_right_near_and_far_answers_are_told_apart(case: UseCase, family: str) -> None:
    for task in made(case, family, 200):
        assert worth(task, shown(task, task.answer)) is BenchOutcome.RIGHT
        nears = {worth(task, shown(task, near)) for near in task.near_misses}
        lost = {worth(task, shown(task, far)) for far in task.far_off}
        assert (nears, lost) == ({BenchOutcome.NEAR}, {BenchOutcome.LOST}), task


@pytest.mark.parametrize(
    ("name", "question", "answer"),
    [
        (
            "support",
            "Rules of the shop: what comes back within 14 days is refunded in full, "
            "later 60 percent of it. Shipping is not refunded.\n\nCustomer K-100100 "
            "sends back an item of 50 EUR after 15 days and wants a refund. Shipping "
            "was 4 EUR.\n\nHow many EUR are refunded? Put the number in bold.",
            "30",
        ),
        (
            "finance",
            f"Invoice, to be paid to {iban(9_000_000)}\n\nItem | Quantity | EUR each\n"
            "Paper | 2 | 10\nToner | 3 | 20\nDesks | 4 | 30\n\n"
            "How many EUR are due after a deduction of 15 EUR? Put the number in bold.",
            "185",
        ),
        (
            "finance",
            "Postings of a month\n\nNumber | Account | EUR\n1000 | rent | 400\n"
            "1001 | travel | 120\n1002 | rent | 500\n1003 | postage | 100\n\n"
            "How many EUR were posted to rent in all? Put the number in bold.",
            "900",
        ),
        (
            "research",
            "How deep is lake bada? Reports disagree.\n\n"
            "Report A, 2001: 110 metres, measured.\n"
            "Report B, 2020: 150 metres, estimated.\n"
            "Report C, 2010: 130 metres, measured.\n"
            "Report D, 1999: 170 metres, measured.\n\n"
            "How many metres does the newest report say that measured it? "
            "Put the number in bold.",
            "130",
        ),
        (
            "support",
            "Order 4002 left on Monday; the way takes 2 days.\n"
            "Order 4001 left on Saturday; the way takes 3 days.\n\n"
            "Customer K-100100: When will order 4001 be here?\n\n"
            "Reply with one line: Dear customer, your order NUMBER will arrive on DAY. "
            "Kind regards, your shop. Days of the weekend count. Put the line in bold.",
            "Dear customer, your order 4001 will arrive on Tuesday. "
            "Kind regards, your shop",
        ),
    ],
)
def test_answers_are_right(name: str, question: str, answer: str) -> None:
    task = recognise(question, CASES[name].forms)
    assert task is not None
    assert task.answer == answer


@pytest.mark.parametrize("name", ["support", "finance"])
def test_a_task_is_known_with_placeholders_in_it(name: str) -> None:
    """A policy may hide values from models; the answer has the placeholder then."""
    case = CASES[name]
    for family in case.families:
        for task in made(case, family, 20):
            hidden, answer = task.question, task.answer
            for values, placeholder in (
                (support.ADDRESSES, "[EMAIL_1]"),
                (support.CUSTOMERS, "[CUSTOMER_NUMBER_1]"),
                (IBANS, "[IBAN_1]"),
            ):
                for value in values:
                    hidden = hidden.replace(value, placeholder)
                    answer = answer.replace(value, placeholder)
            found = recognise(hidden, case.forms)
            assert found is not None, hidden
            assert found.answer == answer


@each_case
def test_suites_have_two_equal_halves_of_each_family(case: UseCase) -> None:
    tasks = case_tasks(case)
    counts = {(task.family, split): 0 for task, split in tasks}
    for task, split in tasks:
        counts[task.family, split] += 1
    assert len(counts) == 2 * len(case.families)
    assert set(counts.values()) == {15}
    assert len({task.question for task, _ in tasks}) == len(tasks) == 90


@each_case
def test_the_conductor_beats_every_worker_alone(case: UseCase) -> None:
    scores = {name: sum(found.values()) for name, found in case_scores(case).items()}
    workers = [scores[worker.name] for worker in case.workers]
    assert scores["conductor (ultra)"] > max(workers)
    assert max(workers) == scores[best_worker(case).name]


@pytest.mark.parametrize(
    ("name", "family", "roles", "workers"),
    [
        (
            "coding",
            "functions",
            (PLAN, SOLVE, CHECK),
            ("coding-planner", "coding-writer", "coding-checker"),
        ),
        (
            "coding",
            "tracing",
            (SOLVE, CHECK),
            ("coding-writer", "coding-checker"),
        ),
        (
            "support",
            "refunds",
            (PLAN, SOLVE, CHECK),
            ("support-handbook", "support-writer", "support-editor"),
        ),
        (
            "research",
            "reports",
            (SOLVE, SOLVE, COMBINE),
            ("research-reader", "research-analyst", "research-editor"),
        ),
        (
            "finance",
            "invoices",
            (PLAN, SOLVE, CHECK),
            ("finance-reader-eu", "finance-calculator-eu", "finance-auditor-eu"),
        ),
        ("knowledge", "look_up", (SOLVE,), ("knowledge-small",)),
        (
            "knowledge",
            "combined",
            (SOLVE, CHECK),
            ("knowledge-small", "knowledge-checker"),
        ),
    ],
)
def test_plans_give_each_step_to_the_worker_described_for_it(
    name: str, family: str, roles: tuple[BriefingRole, ...], workers: tuple[str, ...]
) -> None:
    for task in made(CASES[name], family, 20):
        steps = conducted(CASES[name], task)
        assert tuple(step.role for step in steps) == roles
        assert tuple(step.worker.name for step in steps) == workers


@each_case
async def test_served_workers_are_as_good_as_expected(
    remote: httpx.AsyncClient, case: UseCase
) -> None:
    """Each worker alone, on more tasks than the suite has."""
    ask = Asker(remote)
    for worker in case.workers:
        right = expected = variance = 0.0
        for family in case.families:
            share = worker.solve[family]
            for task in made(case, family, 40):
                said = await ask(worker.name, task.question)
                right += worth(task, said) is BenchOutcome.RIGHT
                expected += share
                variance += share * (1 - share)
        assert abs(right - expected) <= Z * variance**0.5 + 0.5


async def test_a_draft_of_code_is_read_and_repaired(ask: Asker) -> None:
    task = next(t for t in made(CASES["coding"], "repairs", 5))
    draft = shown(task, task.near_misses[0])
    text = message(
        task.question, "Check the code from the earlier step.", (0,), (draft,)
    )
    said = await ask("coding-checker", text)
    assert worth(task, said) in (BenchOutcome.RIGHT, BenchOutcome.NEAR)
    assert "```python" in said


async def test_workers_know_the_tasks_of_their_own_use_case_only(ask: Asker) -> None:
    task = made(CASES["finance"], "postings", 5)[0]
    assert (await ask("coding-large", task.question)).startswith(UNKNOWN)
    assert not (await ask("finance-large-eu", task.question)).startswith(UNKNOWN)


@each_case
def test_workers_show_no_skills(case: UseCase) -> None:
    for worker in case.workers:
        assert worker.description.startswith("Simulated")
        assert not any(letter.isdigit() for letter in worker.description)
