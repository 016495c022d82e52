"""Answers of simulated workers, which solve, plan, check or combine, and sign them.

A worker is right as often as its reliability says; which question it gets wrong, and
how, depends on seed, worker and question alone.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from dataclasses import dataclass, replace
from textwrap import indent

from apps.simulator import examples, families
from apps.simulator.briefing import Briefing, BriefingRole, Earlier, last_turn
from apps.simulator.chance import draw, pick
from apps.simulator.families import programs
from apps.simulator.families.solution import Claim, Family, Solution
from apps.simulator.follow_ups import RevisedProgram, meant, revised
from apps.simulator.office import OfficeTask, office_task
from apps.simulator.workers import SimulatedWorker

BOLD = re.compile(r"\*\*(.+?)\*\*", re.DOTALL)
FENCE = re.compile(r"```\w*+\n((?:(?!\n?```).)*+)\n```", re.DOTALL)
ITEM = " " * 3
"""Indents what belongs to an item of a numbered list."""
SIGNATURE = "\n\n— simulated worker "
"""What stands between an answer and its writer's name."""


UNKNOWN = (
    "I am a simulated worker and cannot answer this. I can calculate, convert units, "
    "count days, write a few small programs, quote files and fill the demo's presets. "
    f"Try: {families.EXAMPLES[0]}"
)


@dataclass(frozen=True, slots=True)
class SimulatedAnswer:
    """A worker's answer: the short form first, as a program would want it."""

    short: str
    """The bare answer; for code, the program."""
    text: str
    """The whole answer in Markdown, without the signature."""


def signed(answer: SimulatedAnswer, name: str) -> str:
    """Return the text as it is sent, with the line that says which worker wrote it."""
    return f"{answer.text}{SIGNATURE}{name}"


def answer(
    worker: SimulatedWorker, briefing: Briefing, seed: int, begun: str = ""
) -> SimulatedAnswer:
    """Return what `worker` answers to `briefing`.

    An answer that has `begun` is finished with what it claims, right or wrong.
    """
    if example := examples.prepared_turn(last_turn(briefing.question)):
        return _prepared(worker, example, briefing)
    if task := office_task(briefing.part):
        return _office(task, briefing)
    if program := revised(briefing.question):
        return _revision(program, briefing)
    parts = families.split(briefing.part)
    if parts:
        return _several(worker, briefing, parts, seed)
    solved = _solved(briefing)
    if solved is None:
        question = next(filter(families.solve, meant(briefing.question)), None)
        if question is None:
            return _unknown()
        return answer(worker, replace(briefing, question=question), seed, begun)
    if briefing.role is BriefingRole.PLAN:
        return _outline(briefing, solved)
    own = _believed(worker, briefing, solved, seed)
    claims = (own, solved.right, *solved.slips) if begun else (own,)
    answers = [_claimed(briefing, solved, claim) for claim in claims]
    return next((a for a in answers if _begins(a, begun)), answers[0])


def _solved(briefing: Briefing) -> Solution | None:
    last_block = briefing.part.rpartition("\n\n")[2]
    texts = (briefing.part, briefing.subtask, last_block)
    return next((found for t in texts if (found := families.solve(t))), None)


def _begins(whole: SimulatedAnswer, begun: str) -> bool:
    return f"{whole.text}{SIGNATURE}".startswith(begun.partition(SIGNATURE)[0])


def _claimed(briefing: Briefing, solved: Solution, claim: Claim) -> SimulatedAnswer:
    if solved.family is Family.CODE:
        return _program(briefing, solved, claim)
    if briefing.role in (BriefingRole.CHECK, BriefingRole.COMBINE):
        return _settled(briefing.earlier, solved, claim)
    return _stated(claim)


def _believed(
    worker: SimulatedWorker, briefing: Briefing, solved: Solution, seed: int
) -> Claim:
    facts = (worker.name, briefing.part, briefing.role.value)
    if draw(seed, "right", *facts) < worker.reliability[solved.family]:
        return solved.right
    return pick(solved.slips, seed, "slip", *facts)


def _stated(claim: Claim) -> SimulatedAnswer:
    text = f"**{claim.answer}**"
    return SimulatedAnswer(
        claim.answer, f"{text}\n\n{claim.working}" if claim.working else text
    )


# --- several questions in one ---------------------------------------------------------


def _several(
    worker: SimulatedWorker, briefing: Briefing, parts: tuple[str, ...], seed: int
) -> SimulatedAnswer:
    if briefing.role in (BriefingRole.CHECK, BriefingRole.COMBINE):
        known = [found for e in briefing.earlier if (found := _short(e.response))]
        if len(known) == len(parts):
            return _listed(parts, known, "Each part was answered by an earlier step.")
    answers = [answer(worker, Briefing(part), seed).short for part in parts]
    return _listed(parts, answers, "")


def _listed(parts: tuple[str, ...], answers: list[str], note: str) -> SimulatedAnswer:
    rows = [
        f"{number}. {part}\n\n{ITEM}{_emphasised(short)}"
        for number, (part, short) in enumerate(zip(parts, answers, strict=True), 1)
    ]
    text = "\n".join(rows)
    return SimulatedAnswer("; ".join(answers), f"{text}\n\n{note}" if note else text)


def _emphasised(short: str) -> str:
    """Return an answer for a list: the lines of a program belong to its item."""
    if "\n" not in short:
        return f"**{short}**"
    return "```python\n" + indent(short, ITEM) + f"\n{ITEM}```"


def _short(response: str) -> str:
    if code := FENCE.search(response):
        return code[1]
    bold = BOLD.search(response)
    return bold[1].strip() if bold else ""


# --- comparing earlier answers --------------------------------------------------------


def _settled(
    earlier: tuple[Earlier, ...], solved: Solution, own: Claim
) -> SimulatedAnswer:
    said = [(step.agent, _short(step.response)) for step in earlier]
    votes = Counter(short for _, short in said if short)
    votes[own.answer] += 1
    most = max(votes.values())
    best = [short for short, count in votes.items() if count == most]
    chosen = own.answer if own.answer in best else best[0]
    rows = [f"| step {agent + 1} | {short or '–'} |" for agent, short in said]
    rows.append(f"| this step's own check | {own.answer} |")
    table = "| Source | Answer |\n|---|---|\n" + "\n".join(rows)
    known = {claim.answer: claim.working for claim in (solved.right, *solved.slips)}
    verdict = _judgement(len(votes), most)
    parts = (f"**{chosen}**", table, verdict, known.get(chosen, ""))
    return SimulatedAnswer(chosen, "\n\n".join(part for part in parts if part))


def _judgement(distinct: int, most: int) -> str:
    if distinct == 1:
        return "All agree, my own calculation included."
    if most > 1:
        return "They differ; I went with what most of them say."
    return "They all differ; I went with my own calculation."


# --- code -----------------------------------------------------------------------------


def _program(briefing: Briefing, solved: Solution, own: Claim) -> SimulatedAnswer:
    if briefing.role not in (BriefingRole.CHECK, BriefingRole.COMBINE):
        return _coded(own.answer, own.working)
    blocks = [code for e in briefing.earlier for code in FENCE.findall(e.response)]
    if not blocks:
        return _coded(own.answer, "I found no code to review, so I wrote it.")
    reviewed = str(blocks[-1])
    if reviewed == own.answer or own != solved.right:
        return _coded(reviewed, f"Reviewed: I found no fault.\n\n{own.working}")
    return _coded(
        own.answer, f"Reviewed and corrected: {_flaw(briefing)}.\n\n{own.working}"
    )


def _flaw(briefing: Briefing) -> str:
    program = programs.find(briefing.part)
    return program.flaw if program else "the code did not do what was asked"


def _coded(code: str, notes: str) -> SimulatedAnswer:
    return SimulatedAnswer(code, f"```python\n{code}\n```\n\n{notes}")


# --- prepared answers -----------------------------------------------------------------


def _prepared(
    worker: SimulatedWorker, example: examples.ExampleTurn, briefing: Briefing
) -> SimulatedAnswer:
    subtask = briefing.subtask
    said = example.answer(subtask) if subtask else example.answer_alone(worker.name)
    text = f"{said}\n\n*Prepared for the demo.*"
    return SimulatedAnswer(_short(text), text)


# --- texts and files ------------------------------------------------------------------


def _office(task: OfficeTask, briefing: Briefing) -> SimulatedAnswer:
    if briefing.role in (BriefingRole.CHECK, BriefingRole.COMBINE):
        draft = briefing.earlier[-1].response.partition(SIGNATURE)[0]
        return SimulatedAnswer("", task.checked(draft))
    return SimulatedAnswer("", task.text)


# --- follow-ups about a program -------------------------------------------------------


def _revision(program: RevisedProgram, briefing: Briefing) -> SimulatedAnswer:
    if briefing.role not in (BriefingRole.CHECK, BriefingRole.COMBINE):
        return SimulatedAnswer(program.code, program.text)
    draft = briefing.earlier[-1].response.partition(SIGNATURE)[0]
    code = block[1] if (block := FENCE.search(draft)) else ""
    if code != program.code:
        note = "*The draft did not do what was asked; this does.*"
        return SimulatedAnswer(program.code, f"{program.text}\n\n{note}")
    names = [n.name for n in ast.parse(code).body if isinstance(n, ast.FunctionDef)]
    defined = " and ".join(f"`{name}`" for name in names)
    note = f"*Checked: Python reads it, and it defines {defined}.*"
    return SimulatedAnswer(code, f"{draft}\n\n{note}")


# --- planning, and what is beyond a simulated worker ----------------------------------


def _outline(briefing: Briefing, solved: Solution) -> SimulatedAnswer:
    program = programs.find(briefing.part) if solved.family is Family.CODE else None
    approach = (
        program.plan if program else "Take the question apart and solve each part."
    )
    name = f"`{program.name}`" if program else "the answer"
    text = (
        f"**Plan for {name}**\n\n1. {approach}\n"
        "2. Handle the smallest inputs on their own.\n"
        "3. Check the result against a few known cases."
    )
    return SimulatedAnswer(approach, text)


def _unknown() -> SimulatedAnswer:
    return SimulatedAnswer("", UNKNOWN)
