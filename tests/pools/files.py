"""Pool files for tests, as values that a test changes in one place."""

from __future__ import annotations

import copy
from typing import Any

import yaml

from apps.pools.pool_file import PoolDocument, document_parse

CANARY = "sk-canary-5f0b1f6d9c7a4e21"
ENVIRON = {"PROVIDER_KEY": CANARY, "PLANNER_KEY": "sk-planner-1"}

_FILE: dict[str, Any] = {
    "pool": {"name": "main", "fallback": "strong"},
    "conductor": {
        "name": "planner",
        "base_url": "http://127.0.0.1:8001/v1",
        "model": "conductor-7b",
        "api_key_env": "PLANNER_KEY",
        "temperature": "0.2",
    },
    "workers": [
        {
            "name": "strong",
            "base_url": "https://api.example.com/v1/",
            "model": "big-1",
            "api_key_env": "PROVIDER_KEY",
            "description": "good at proofs",
            "price": {
                "valid_from": "2025-01-01",
                "input": "1.25",
                "output": "10",
                "cached_input": "0.125",
            },
        },
        {
            "name": "quick",
            "base_url": "https://api.example.com/v1",
            "model": "small-1",
            "api_key_env": "PROVIDER_KEY",
            "timeouts": {"total_s": 20},
        },
        {"name": "local", "base_url": "http://127.0.0.1:11434/v1", "model": "tiny"},
    ],
}


def values(**changes: Any) -> dict[str, Any]:
    """Return the usual file; `workers__0__price__input=…` sets a value deep inside."""
    result = copy.deepcopy(_FILE)
    for path, value in changes.items():
        *parents, last = [int(p) if p.isdecimal() else p for p in path.split("__")]
        place: Any = result
        for part in parents:
            place = place[part] if isinstance(part, int) else place.setdefault(part, {})
        place[last] = value
    return result


def text(**changes: Any) -> str:
    """Return the file as YAML."""
    return yaml.safe_dump(values(**changes))


def document(**changes: Any) -> PoolDocument:
    """Return the file as it is read."""
    return document_parse(text(**changes))
