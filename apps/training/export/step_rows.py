"""Learning data as the rows of Parquet files, one for each step."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import Any

import orjson
from arro3.core import DataType, Field, Schema, Table
from arro3.io import read_json, write_parquet

from apps.training.learning_data.records import LearningRecord

_TEXT, _WHOLE = DataType.utf8(), DataType.int64()
SCHEMA = Schema(
    [
        Field("run_id", _TEXT, nullable=False),
        Field("run_at", DataType.timestamp("us", tz="UTC"), nullable=False),
        Field("source", _TEXT, nullable=False),
        Field("explored", DataType.bool(), nullable=False),
        Field("family", _TEXT, nullable=False),
        Field("weight", DataType.float64(), nullable=False),
        Field("prompt", _TEXT, nullable=False),
        Field("step", _WHOLE, nullable=False),
        Field("steps", _WHOLE, nullable=False),
        Field("role", _TEXT, nullable=False),
        Field(
            "reads",
            DataType.list(Field("item", _WHOLE, nullable=False)),
            nullable=False,
        ),
        Field("worker", _TEXT, nullable=False),
        Field("fingerprint", _TEXT, nullable=False),
        Field("input_tokens", _WHOLE, nullable=False),
        Field("output_tokens", _WHOLE, nullable=False),
        Field("cost_micros", _WHOLE),
        Field("grade", DataType.float64()),
    ]
)
COLUMNS = {
    "run_id": "id of the run",
    "run_at": "when it began, in UTC",
    "source": "where its grade is from: verifier, reviewer, client or feedback",
    "explored": "true: a request that tried a plan near the best one",
    "family": "of the task; empty: the run is of no evaluation",
    "weight": "how much the run counts",
    "prompt": "what was asked",
    "step": "number of the step, from 0; the last one's answer is the run's",
    "steps": "steps of the run",
    "role": "what the step did: plan, solve, check or combine",
    "reads": "numbers of the earlier steps whose answers it read",
    "worker": "name of the worker that answered",
    "fingerprint": "of the model behind that name, 16 hexadecimal digits; empty: it is "
    "not known",
    "input_tokens": "of all its calls",
    "output_tokens": "of all its calls",
    "cost_micros": "of all its calls, in millionths of a US dollar; null: unknown",
    "grade": "of its answer, from 0 (wrong) to 1 (right); null: it has none",
}
"""The columns in words, for the data card."""


def parquet_of(records: Sequence[LearningRecord]) -> bytes:
    """Return a Parquet file of some records."""
    lines = b"".join(
        orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)
        for record in records
        for row in _rows(record)
    )
    file = io.BytesIO()
    table = Table.from_arrow(read_json(io.BytesIO(lines), SCHEMA))
    write_parquet(table, file, compression="zstd(3)")
    return file.getvalue()


def _rows(record: LearningRecord) -> Iterator[dict[str, Any]]:
    graded, run = record.graded, record.run
    for place, (step, cost) in enumerate(zip(run.steps, record.costs, strict=True)):
        yield {
            "run_id": graded.run_id,
            "run_at": record.created_at,
            "source": graded.source,
            "explored": graded.is_explored,
            "family": graded.family,
            "weight": run.weight,
            "prompt": run.prompt,
            "step": place,
            "steps": len(run.steps),
            "role": step.role,
            "reads": step.access,
            "worker": step.worker,
            "fingerprint": step.fingerprint,
            "input_tokens": step.input_tokens,
            "output_tokens": step.output_tokens,
            "cost_micros": cost,
            "grade": step.grade,
        }
