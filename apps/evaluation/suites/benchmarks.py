"""Reads the files of public benchmarks, in the formats they are published in.

Each kind turns one row of a file into a task; nothing is downloaded. Sources of the
formats: GSM8K (arXiv 2110.14168), MATH (arXiv 2103.03874), AIME (`problem`, `answer`,
`id`, as several data sets publish it), MMLU (arXiv 2009.03300), GPQA (arXiv
2311.12022), RLPR (arXiv 2506.18254). Those with code are in a module of their own.
"""

from __future__ import annotations

import csv
import io
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from apps.evaluation.suites.code_benchmarks import CODE_READERS
from apps.evaluation.suites.rows import Row, benchmark_task, json_rows
from apps.planners.final_answer import final_answer

Read = Callable[[Mapping[str, Any]], dict[str, Any]]
BOX = r"\boxed{"
NUMBER_ALONE = re.compile(r"[-+]?(?:\d[\d,]*)?(?:\.\d+)?(?<=\d)")
SAME_MEANING = "The final answer must mean the same as the right answer."
BOXED = "Put the final answer in \\boxed{}."
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
MMLU_COLUMNS = ("question", "A", "B", "C", "D", "answer")
"""Of the original files, which have no header."""


def benchmark_text_rows(kind: str, text: str, name: str) -> Iterator[Row]:
    """Yield the rows of a file as they are, each with its line."""
    is_csv = name.lower().endswith(".csv")
    return _csv_rows(kind, text, name) if is_csv else json_rows(text)


def benchmark_rows(kind: str, rows: Iterable[Row]) -> Iterator[Row]:
    """Yield the rows of a file as tasks, each with its line; a text says its fault."""
    read = READERS[kind]
    for line, row in rows:
        if isinstance(row, str):
            yield line, row
            continue
        try:
            yield line, read(row)
        except KeyError as exc:
            yield line, f"it has no field {str(exc.args[0])!r}, as {kind} has"
        except (TypeError, ValueError, IndexError) as exc:
            yield line, f"it is not in the format of {kind}: {exc}"


def _csv_rows(kind: str, text: str, name: str) -> Iterator[Row]:
    source = io.StringIO(text, newline="")
    columns = MMLU_COLUMNS if kind == "mmlu" else None
    reader = csv.DictReader(source, columns, strict=True)
    subject = name.rsplit("/", 1)[-1].removesuffix(".csv").removesuffix("_test")
    try:
        for row in reader:
            if None in row or None in row.values():
                yield reader.line_num, "it has another number of columns than others"
            else:
                given: dict[str, Any] = {str(k): v for k, v in row.items()}
                yield reader.line_num, {"subject": subject, **given}
    except csv.Error as exc:
        yield reader.line_num + 1, f"it is not CSV: {exc}"


def _gsm8k(row: Mapping[str, Any]) -> dict[str, Any]:
    _, mark, answer = str(row["answer"]).rpartition("####")
    if not mark:
        raise ValueError("the answer has no ####")
    verifier = {"kind": "numeric", "answer": answer.strip()}
    return benchmark_task(f"{row['question']}\n\n{BOXED}", verifier, "gsm8k")


def _aime(row: Mapping[str, Any]) -> dict[str, Any]:
    given = {str(name).lower(): value for name, value in row.items()}
    verifier = {"kind": "numeric", "answer": str(given["answer"])}
    task = benchmark_task(f"{given['problem']}\n\n{BOXED}", verifier, "aime")
    return {**task, "id": str(given["id"])} if "id" in given else task


def _math_500(row: Mapping[str, Any]) -> dict[str, Any]:
    verifier = {"kind": "latex", "answer": str(row["answer"])}
    task = benchmark_task(f"{row['problem']}\n\n{BOXED}", verifier, str(row["subject"]))
    return {**task, "id": str(row["unique_id"])} if "unique_id" in row else task


def _mmlu(row: Mapping[str, Any]) -> dict[str, Any]:
    choices = row["choices"] if "choices" in row else [row[c] for c in "ABCD"]
    answer = row["answer"]
    letter = LETTERS[answer] if isinstance(answer, int) else str(answer).strip()
    return _choice(str(row["question"]), choices, letter, str(row["subject"]))


def _gpqa(row: Mapping[str, Any]) -> dict[str, Any]:
    right = str(row["Correct Answer"]).strip()
    choices = [right, *(str(row[f"Incorrect Answer {n}"]).strip() for n in (1, 2, 3))]
    question = str(row["Question"])
    # The file has the right one first. The order follows from the question alone.
    random.Random(question).shuffle(choices)  # nosec B311
    letter = LETTERS[choices.index(right)]
    return _choice(question, choices, letter, str(row["High-level domain"]))


def _choice(question: str, choices: Any, letter: str, family: str) -> dict[str, Any]:
    texts = [str(choice) for choice in choices]
    shown = "\n".join(f"{LETTERS[n]}. {text}" for n, text in enumerate(texts))
    prompt = (
        f"{question}\n\n{shown}\n\nChoose one. End with a line such as “Answer: A”."
    )
    verifier = {"kind": "choice", "answer": letter, "choices": texts}
    return benchmark_task(prompt, verifier, family)


def _rlpr(row: Mapping[str, Any]) -> dict[str, Any]:
    given = row["prompt"]
    messages = [{"role": "user", "content": given}] if isinstance(given, str) else given
    # A message of the system asks for tags around the answer, for training.
    question = "\n\n".join(
        str(each["content"]) for each in messages if each["role"] == "user"
    )
    right = str(row["reward_model"]["ground_truth"]).strip()
    if BOX in right:
        right = final_answer(right)
    verifier = _rlpr_verifier(right, str(row["ability"]))
    family = str(row["data_source"]).rsplit("/", 1)[-1]
    return benchmark_task(f"{question}\n\n{BOXED}", verifier, family)


def _rlpr_verifier(right: str, ability: str) -> dict[str, Any]:
    if re.fullmatch(r"\(?[A-J]\)?", right):
        return {"kind": "choice", "answer": right.strip("()")}
    if NUMBER_ALONE.fullmatch(right):
        return {"kind": "numeric", "answer": right}
    if "math" in ability.lower():
        return {"kind": "latex", "answer": right}
    return {"kind": "model_graded", "rubric": SAME_MEANING, "reference": right}


READERS: Mapping[str, Read] = {
    "gsm8k": _gsm8k,
    "aime": _aime,
    "math-500": _math_500,
    "mmlu": _mmlu,
    "gpqa": _gpqa,
    "rlpr": _rlpr,
    **CODE_READERS,
}
