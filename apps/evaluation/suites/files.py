"""Reads files of tasks: JSON Lines, CSV with a header, Parquet. Faults have lines."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from pydantic import ValidationError

from apps.core.errors import InvalidFields
from apps.core.input_parts import faults_of
from apps.evaluation.suites.benchmarks import benchmark_rows, benchmark_text_rows
from apps.evaluation.suites.parquet import is_parquet, parquet_rows
from apps.evaluation.suites.rows import Row, json_rows
from apps.evaluation.suites.tasks import SuiteTask

MAX_TASKS = 20_000
MAX_FAULTS = 50
"""More have no use."""
CSV_COLUMNS = ("id", "family", "split", "prompt", "verifier", "answer")


@dataclass(frozen=True, slots=True)
class TaskFault:
    """Why a line of a file is no task."""

    line: int
    """From 1."""
    why: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.why}"


class UnreadableSuite(ValueError):
    """A file holds something other than tasks."""

    def __init__(self, faults: Iterable[TaskFault]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(map(str, self.faults)))


def tasks_read(content: bytes, name: str, benchmark: str = "") -> tuple[SuiteTask, ...]:
    """Return the tasks of a file; `name` ends in .jsonl, .csv or .parquet.

    `benchmark`: the file is one of these, in its published format; empty: it has tasks.
    Raises: UnreadableSuite with every fault, up to 50.
    """
    tasks: dict[str, SuiteTask] = {}
    faults: list[TaskFault] = []
    for line, row in _rows(content, name, benchmark):
        found = row if isinstance(row, str) else _task(row, line)
        if isinstance(found, SuiteTask) and found.id in tasks:
            found = f"the id {found.id!r} is there twice"
        if isinstance(found, SuiteTask):
            tasks[found.id] = found
        else:
            faults.append(TaskFault(line, found))
        if len(tasks) > MAX_TASKS:
            faults.append(TaskFault(line, f"a suite has {MAX_TASKS:,} tasks at most"))
        if len(faults) >= MAX_FAULTS or len(tasks) > MAX_TASKS:
            break
    if not tasks and not faults:
        faults = [TaskFault(1, "the file has no tasks")]
    if faults:
        raise UnreadableSuite(faults)
    return tuple(tasks.values())


def _rows(content: bytes, name: str, benchmark: str) -> Iterator[Row]:
    """Return the rows of a file, as tasks. Raises: UnreadableSuite."""
    if is_parquet(content, name):
        rows = parquet_rows(content)
        return benchmark_rows(benchmark, rows) if benchmark else map(_of_table, rows)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        line = content.count(b"\n", 0, exc.start) + 1
        raise UnreadableSuite([TaskFault(line, "it is not UTF-8 text")]) from None
    if benchmark:
        return benchmark_rows(benchmark, benchmark_text_rows(benchmark, text, name))
    return _csv_rows(text) if name.lower().endswith(".csv") else json_rows(text)


def tasks_of(documents: Sequence[Mapping[str, Any]]) -> tuple[SuiteTask, ...]:
    """Return the tasks of JSON objects, as a program sends them.

    Raises: InvalidFields, by the place of each.
    """
    if len(documents) > MAX_TASKS:
        raise InvalidFields({"tasks": [f"a suite has {MAX_TASKS:,} tasks at most"]})
    tasks: dict[str, SuiteTask] = {}
    faults: dict[str, list[str]] = {}
    for place, values in enumerate(documents):
        found = _task(values, place + 1)
        if isinstance(found, SuiteTask) and found.id in tasks:
            found = f"the id {found.id!r} is there twice"
        if isinstance(found, str):
            faults[f"tasks[{place}]"] = [found]
        else:
            tasks[found.id] = found
        if len(faults) >= MAX_FAULTS:
            break
    if faults:
        raise InvalidFields(faults)
    return tuple(tasks.values())


def _task(values: Mapping[str, Any], line: int) -> SuiteTask | str:
    try:
        return SuiteTask.model_validate({"id": str(line), **values})
    except ValidationError as exc:
        return "; ".join(f"{path}: {why}" for path, why in faults_of(exc))


def _csv_rows(text: str) -> Iterator[Row]:
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        unknown = [n for n in reader.fieldnames or () if n not in CSV_COLUMNS]
        if unknown or not {"prompt", "answer"} <= set(reader.fieldnames or ()):
            columns = ", ".join(CSV_COLUMNS)
            yield 1, f"expected a header with prompt and answer, out of: {columns}"
            return
        for row in reader:
            yield reader.line_num, _of_csv(row)
    except csv.Error as exc:
        yield reader.line_num + 1, f"it is not CSV: {exc}"


def _of_csv(row: Mapping[Any, Any]) -> Mapping[str, Any] | str:
    if None in row or None in row.values():
        return "it has another number of columns than the header"
    given = {str(name): value for name, value in row.items() if value}
    kind = given.pop("verifier", "exact")
    answer = given.pop("answer", "")
    field = "pattern" if kind == "pattern" else "answer"
    return {**given, "verifier": {"kind": kind, field: answer}}


def _of_table(row: Row) -> Row:
    """Return a row of Parquet: its verifier has fields, is JSON, or as in CSV."""
    line, values = row
    if isinstance(values, str):
        return row
    verifier = values.get("verifier")
    if isinstance(verifier, str) and verifier.lstrip().startswith("{"):
        try:
            return line, {**values, "verifier": orjson.loads(verifier)}
        except orjson.JSONDecodeError as exc:
            return line, f"the verifier is not JSON: {exc.msg}"
    return line, values if isinstance(verifier, dict) else _of_csv(values)
