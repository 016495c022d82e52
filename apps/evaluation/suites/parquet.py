"""Reads Parquet files as rows. The library that does so runs in another process."""

from __future__ import annotations

import subprocess  # nosec B404
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from apps.evaluation.suites.parquet_reader import TOO_LARGE
from apps.evaluation.suites.rows import Row, json_rows

READER = Path(__file__).with_name("parquet_reader.py")
MARK = b"PAR1"
"""With which such files begin."""
MAX_ROWS = 100_000
MAX_BYTES = 256_000_000
"""Of its rows as JSON."""
MAX_MEMORY = 4 << 30
"""Bytes of address space."""
READ_S = 180


def is_parquet(content: bytes, name: str) -> bool:
    """Say whether a file is to be read as Parquet."""
    return content.startswith(MARK) or name.lower().endswith(".parquet")


def parquet_rows(content: bytes) -> Iterator[Row]:
    """Yield the rows with their numbers, without what is null; a text says a fault.

    Blocks for as long as the file takes.
    """
    limits = [str(MAX_ROWS), str(MAX_BYTES), str(MAX_MEMORY)]
    try:
        read = subprocess.run(  # nosec B603
            [sys.executable, "-I", str(READER), *limits],
            input=content,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={},
            check=False,
            timeout=READ_S,
        )
    except subprocess.TimeoutExpired:
        yield 1, "it took too long to read it"
        return
    if read.returncode == TOO_LARGE:
        yield 1, f"it has more than {MAX_ROWS:,} rows, or {MAX_BYTES:,} bytes in them"
    elif read.returncode:
        yield 1, "it is not Parquet, or cannot be read"
    else:
        for line, row in json_rows(read.stdout.decode()):
            yield line, row if isinstance(row, str) else _without_nulls(row)


def _without_nulls(value: Any) -> Any:
    """Return values without what is null: a column is there for every row."""
    if isinstance(value, dict):
        return {k: _without_nulls(v) for k, v in value.items() if v is not None}
    if isinstance(value, list):
        return [_without_nulls(each) for each in value]
    return value
