"""The file of an evaluation: a line with its head, then a line for each result.

JSON Lines. It holds no prompt and no answer; tasks are named by their keys, and the
digest of the suite says which tasks these are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal, TypeVar

import orjson
from pydantic import AwareDatetime, Field, ValidationError

from apps.core.errors import InvalidInput
from apps.core.input_parts import InputPart, faults_of
from apps.evaluation.settings import EvaluationSettings

MAX_RESULTS = 200_000
MAX_BYTES = 64 << 20
PartT = TypeVar("PartT", bound=InputPart)
Count = Annotated[int, Field(ge=0, lt=2**53)]
WorkerNames = Annotated[
    tuple[Annotated[str, Field(max_length=100)], ...], Field(max_length=200)
]


class EvaluationHead(InputPart):
    """What a file says of its evaluation."""

    format: Literal[1] = 1
    suite_digest: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    """SHA-256 of the tasks, as `suites/storage.py` has it."""
    settings: EvaluationSettings
    is_simulated: bool
    """All workers of the pool were simulated."""
    started_at: AwareDatetime
    finished_at: AwareDatetime


class ResultLine(InputPart):
    """What one system did with one task."""

    task: Annotated[str, Field(max_length=100)]
    """Key of the task in its suite."""
    system: Annotated[int, Field(ge=0, lt=50)]
    """Place of the system in the settings."""
    state: Literal["right", "wrong", "failed"]
    cause: Annotated[str, Field(max_length=200)] = ""
    is_unplanned: bool = False
    rejected_plans: Annotated[int, Field(ge=0, le=1_000)] = 0
    plan_faults: Annotated[
        dict[Annotated[str, Field(max_length=60)], Count], Field(max_length=50)
    ] = Field(default_factory=dict)
    """Why they were rejected: counts by fault."""
    steps: Annotated[int, Field(ge=0, le=10_000)] = 0
    tokens: Count = 0
    cost_micros: Count = 0
    has_unknown_cost: bool = False
    latency_ms: Count = 0
    workers: WorkerNames = ()
    """Workers of the steps, skipped ones left out."""


@dataclass(frozen=True, slots=True)
class EvaluationFile:
    """A file that was read."""

    head: EvaluationHead
    results: tuple[ResultLine, ...]


def file_written(
    head: EvaluationHead, results: Iterator[ResultLine]
) -> Iterator[bytes]:
    """Yield the lines of a file. Values that are as usual are left out of results."""
    values = head.model_dump(mode="json") | {"settings": head.settings.values()}
    yield orjson.dumps(values, option=orjson.OPT_APPEND_NEWLINE)
    for line in results:
        row = line.model_dump(mode="json", exclude_defaults=True)
        yield orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)


def file_read(content: bytes) -> EvaluationFile:
    """Return what a file holds. Raises: InvalidInput with the line of the fault."""
    if len(content) > MAX_BYTES:
        raise InvalidInput(f"the file has more than {MAX_BYTES >> 20} MiB")
    first, *rest = content.splitlines() or [b""]
    if len(rest) > MAX_RESULTS:
        raise InvalidInput(f"the file has more than {MAX_RESULTS:,} results")
    head = _line_read(EvaluationHead, first, 1)
    results = (_line_read(ResultLine, text, n) for n, text in enumerate(rest, 2))
    return EvaluationFile(head, tuple(results))


def _line_read(shape: type[PartT], text: bytes, number: int) -> PartT:
    try:
        return shape.model_validate_json(text)
    except ValidationError as exc:
        path, why = next(faults_of(exc))
    raise InvalidInput(f"line {number}: {path}{': ' if path else ''}{why}")
