"""Writes the rows of a Parquet file as JSON Lines: a process of its own.

`python -I parquet_reader.py ROWS BYTES MEMORY` reads a file from standard input and
writes up to so many rows and bytes. What makes it fail, or use up memory, does so here
and not in the site.
"""

from __future__ import annotations

import io
import os
import resource
import sys
from typing import Any

import orjson

TOO_LARGE, UNREADABLE, CPU_S = 3, 4, 120
ROWS_AT_ONCE = 256


def main() -> None:
    """Write the rows; end with a code that says what was wrong."""
    rows, size, memory = map(int, sys.argv[1:])
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
    try:
        from arro3.io import read_parquet

        file = io.BytesIO(sys.stdin.buffer.read())
        for batch in read_parquet(file, batch_size=ROWS_AT_ONCE):
            values = batch.to_struct_array()
            for place in range(batch.num_rows):
                line = orjson.dumps(values[place].as_py(), default=_plain)
                size -= len(line) + 1
                rows -= 1
                if size < 0 or rows < 0:
                    _end(TOO_LARGE)
                sys.stdout.buffer.write(line + b"\n")
    except BaseException:  # noqa: BLE001 - the library's panics are no Exception
        _end(UNREADABLE)
    _end(0)


def _plain(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode()
    return str(value)


def _end(code: int) -> None:
    sys.stdout.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
