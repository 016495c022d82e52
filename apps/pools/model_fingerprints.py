"""Which model a worker's name stands for: a short digest of what decides its answers.

What is learned of a worker is learned of the model behind it. So protocol, address,
model name and the default parameters of its calls are in the digest; its name, price,
tags, limits and timeouts are not. Pure functions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import orjson

from apps.pools.base_urls import host_of, origin

if TYPE_CHECKING:
    from apps.pools.models import Pool, Worker

DIGITS = 16
"""Hexadecimal ones of a fingerprint: no team has so many models that two collide."""
PARAMS = ("reasoning_effort", "thinking_budget_tokens", "extra_body")
"""Default parameters that change answers; one that is not set is as if it were not
there."""


def model_fingerprint(values: Mapping[str, Any]) -> str:
    """Return the fingerprint of the model behind a worker, from the worker's values.

    The values are those that a row has, or the document of a pool's version.
    """
    params = {name: values[name] for name in PARAMS if values.get(name)}
    if isinstance(body := params.get("extra_body"), str):  # as versions have it
        params["extra_body"] = orjson.loads(body)
    parts = [
        str(values.get("protocol") or "openai"),
        _place(str(values["base_url"])),
        str(values["model"]),
        params,
    ]
    written = orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(written).hexdigest()[:DIGITS]


def _place(address: str) -> str:
    """Return an address in the form in which equal ones are equal.

    Of a server on the same machine the port does not count: a restart may change it.
    """
    path = urlsplit(address).path.rstrip("/")
    host = host_of(address)
    return f"{host if _is_loopback(host) else origin(address)}{path}"


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def worker_fingerprint(worker: Worker) -> str:
    """Return the fingerprint of the model that a worker stands for now."""
    names = ("base_url", "protocol", "model", *PARAMS)
    return model_fingerprint({name: getattr(worker, name) for name in names})


def pool_fingerprints(pool: Pool) -> dict[str, str]:
    """Return the fingerprints of a pool's workers by their names."""
    return {worker.name: worker_fingerprint(worker) for worker in pool.workers.all()}
