"""Calls the function of an answer once and writes what it returns, as JSON.

The first line of the input is the job, each further one an argument. What the answer
itself prints goes to the errors.
"""

from __future__ import annotations

import json
import os
import sys

sys.path.insert(0, "/sandbox")
from function_server import (  # type: ignore[import-not-found]
    function_of,
)
from plain_data import (  # type: ignore[import-not-found]
    long_numbers_allow,
)


def main() -> None:
    """Make one call."""
    job, *lines = sys.stdin.read().split("\n")
    given = json.loads(job)
    long_numbers_allow()
    output = os.dup(1)
    os.dup2(2, 1)
    function = function_of(given["code"], given["entry_point"])
    found = function(*(json.loads(line) for line in lines if line.strip()))
    with os.fdopen(output, "w") as file:
        json.dump(found, file)


if __name__ == "__main__":
    main()
