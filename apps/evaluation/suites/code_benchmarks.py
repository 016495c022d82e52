"""Reads the files of public benchmarks of code, in the formats they are published in.

Sources: HumanEval (arXiv 2107.03374), BigCodeBench (arXiv 2406.15877), LiveCodeBench
(arXiv 2403.07974; its tests are JSON, or JSON in a pickled text, compressed, in
base64). Nothing is unpickled: only a text alone is read from a pickle.
"""

from __future__ import annotations

import base64
import binascii
import json
import pickletools  # nosec B403
import zlib
from collections.abc import Callable, Mapping
from typing import Any

from apps.evaluation.suites.rows import benchmark_task

MAX_TESTS = 200_000_000
"""Bytes of the tests of one task, once they are decompressed."""
IN_A_BLOCK = "Put the whole code in one block that begins with ```python."
TEXTS = {"SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "UNICODE"}
AROUND_TEXTS = {"PROTO", "FRAME", "MEMOIZE", "BINPUT", "LONG_BINPUT", "PUT", "STOP"}
BIGCODEBENCH_LIMITS = {"time_s": 60, "memory_mb": 4_096}
LIVECODEBENCH_TIME_S = 6
"""As its own harness has."""
STARRED = (
    *("string", "re", "datetime", "collections", "heapq", "bisect", "copy", "math"),
    *("random", "statistics", "itertools", "functools", "operator", "io", "sys"),
    *("json", "typing"),
)
LIVECODEBENCH_PREFIX = "".join(
    [f"from {name} import *\n" for name in STARRED]
    + [f"import {name}\n" for name in STARRED]
    + ["from builtins import *\n", "sys.setrecursionlimit(50_000)\n"]
)
"""What its harness imports before each answer."""


def _humaneval(row: Mapping[str, Any]) -> dict[str, Any]:
    prefix = str(row["prompt"])
    verifier = {
        "kind": "unit_tests",
        "tests": str(row["test"]),
        "entry_point": str(row["entry_point"]),
        "prefix": prefix,
    }
    prompt = (
        f"Complete this Python function.\n\n```python\n{prefix}\n```\n\n"
        f"Write it out from its first line. {IN_A_BLOCK}"
    )
    task = benchmark_task(prompt, verifier, "humaneval")
    return {**task, "id": str(row["task_id"])}


def _bigcodebench(row: Mapping[str, Any]) -> dict[str, Any]:
    return _of_bigcodebench(row, str(row["instruct_prompt"]))


def _bigcodebench_complete(row: Mapping[str, Any]) -> dict[str, Any]:
    code = str(row["complete_prompt"])
    return _of_bigcodebench(
        row, f"Complete this Python code.\n\n```python\n{code}\n```\n\n{IN_A_BLOCK}"
    )


def _of_bigcodebench(row: Mapping[str, Any], prompt: str) -> dict[str, Any]:
    beginning = str(row.get("code_prompt") or "")
    verifier = {
        "kind": "unit_tests",
        "tests": str(row["test"]),
        "entry_point": str(row["entry_point"]),
        # The imports and the head of the function, which answers may leave out.
        "prefix": f"{beginning.rstrip()}\n    pass\n" if beginning else "",
        **BIGCODEBENCH_LIMITS,
    }
    task = benchmark_task(prompt, verifier, "bigcodebench")
    return {**task, "id": str(row["task_id"])}


def _livecodebench(row: Mapping[str, Any]) -> dict[str, Any]:
    starter = str(row.get("starter_code") or "")
    tests = [
        *_tests(str(row["public_test_cases"])),
        *_tests(str(row["private_test_cases"])),
    ]
    metadata = row.get("metadata") or "{}"
    about = json.loads(metadata) if isinstance(metadata, str) else metadata
    is_function = any(test.get("testtype") == "functional" for test in tests)
    verifier = {
        "kind": "unit_tests",
        "cases": [
            {"input": str(test["input"]), "output": str(test["output"])}
            for test in tests
        ],
        "entry_point": str(about["func_name"]) if is_function else "",
        "prefix": LIVECODEBENCH_PREFIX,
        "time_s": LIVECODEBENCH_TIME_S,
    }
    form = (
        f"Complete this code.\n\n```python\n{starter}\n```\n\n"
        if starter
        else "Write a Python program that reads from standard input and writes to "
        "standard output. "
    )
    prompt = f"{row['question_content']}\n\n{form}{IN_A_BLOCK}"
    task = benchmark_task(prompt, verifier, str(row["difficulty"]))
    return {**task, "id": str(row["question_id"])}


def _tests(text: str) -> list[dict[str, Any]]:
    """Return test cases. Raises: ValueError if they have another form."""
    try:
        found = json.loads(text)
    except ValueError:
        found = json.loads(_unpacked(text))
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise ValueError("its test cases are no list of objects")
    return found


def _unpacked(text: str) -> str:
    """Return the text in a pickle that is compressed and in base64."""
    try:
        packed = base64.b64decode(text, validate=True)
        opened = zlib.decompressobj()
        pickled = opened.decompress(packed, MAX_TESTS)
    except (binascii.Error, zlib.error, ValueError):
        raise ValueError("its test cases are neither JSON nor packed JSON") from None
    if opened.unconsumed_tail:
        raise ValueError(f"its test cases have more than {MAX_TESTS:,} bytes")
    return _pickled_text(pickled)


def _pickled_text(pickled: bytes) -> str:
    """Return the text that a pickle is. Raises: ValueError if it is more than that."""
    texts: list[str] = []
    try:
        for step, argument, _ in pickletools.genops(pickled):
            if step.name in TEXTS:
                texts.append(str(argument))
            elif step.name not in AROUND_TEXTS:
                raise ValueError("its packed test cases are more than a text")
    except ValueError:
        raise ValueError("its packed test cases are more than a text") from None
    if len(texts) != 1:
        raise ValueError("its packed test cases are more than a text")
    return texts[0]


CODE_READERS: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "humaneval": _humaneval,
    "bigcodebench": _bigcodebench,
    "bigcodebench-complete": _bigcodebench_complete,
    "livecodebench": _livecodebench,
}
