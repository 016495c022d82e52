"""Reads how busy a vLLM server is, from the metrics it shows beside its models.

Its `/metrics` lies beside `/v1`, in the text format of Prometheus. Of a server with
several engines the requests are summed; shares are those of the fullest engine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from apps.llm.errors import BadResponse
from apps.llm.http import Get, HttpTransport
from apps.llm.http_common import expect_success, request_headers
from apps.llm.types import Endpoint

MAX_METRICS_BYTES = 2_000_000
"""A server with one model shows some 60 kB."""
MAX_VALUE = 1e15
VERSION_PATH = "/v1"
RUNNING = "num_requests_running"
WAITING = "num_requests_waiting"
CACHE_USE = ("kv_cache_usage_perc", "gpu_cache_usage_perc")
"""Present name first; a share from 0 to 1, whatever the name says."""
PREFIX_QUERIES = "prefix_cache_queries_total"
PREFIX_HITS = "prefix_cache_hits_total"
_SAMPLE = re.compile(
    rb"^vllm:(\w{1,80})(?:\{[^\n]{0,2000}\})? (\S{1,40})(?:\s|$)",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class ServerLoad:
    """How busy a server was when it was asked. None: it does not say."""

    running: int
    """Requests that are being answered."""
    waiting: int
    """Requests that wait for their turn."""
    cache_use: float | None
    """Share of the key-value cache that requests hold, 0 to 1."""
    prefix_queries: int | None
    """Tokens of prompts that were looked for in the cache since the start."""
    prefix_hits: int | None
    """Those of them that were found there."""

    @property
    def prefix_hit_share(self) -> float | None:
        """Return the share of prompts' tokens that were in the cache; None: unknown."""
        if not self.prefix_queries or self.prefix_hits is None:
            return None
        return min(self.prefix_hits / self.prefix_queries, 1.0)


def metrics_url(endpoint: Endpoint) -> str | None:
    """Return where a server shows its metrics; None: it is none like vLLM."""
    base = endpoint.base_url.rstrip("/")
    if endpoint.protocol != "openai" or not base.endswith(VERSION_PATH):
        return None
    return base.removesuffix(VERSION_PATH) + "/metrics"


async def read_load(transport: HttpTransport, endpoint: Endpoint) -> ServerLoad:
    """Ask a server how busy it is. Raises: LlmError, BadResponse if it does not say."""
    url = metrics_url(endpoint)
    if url is None:
        raise BadResponse(f"{endpoint.name!r}: shows no metrics of vLLM")
    get = Get(
        name=endpoint.name,
        url=url,
        headers=request_headers(endpoint, accept="text/plain"),
        timeouts=endpoint.timeouts,
    )
    async with await transport.get(get) as reply:
        await expect_success(endpoint, reply)
        body = await reply.read_body(MAX_METRICS_BYTES)
    load = parse_load(body)
    if load is None:
        raise BadResponse(f"{endpoint.name!r}: shows no metrics of vLLM")
    return load


def parse_load(body: bytes) -> ServerLoad | None:
    """Return what metrics say of a vLLM; None if they are not those of one."""
    found: dict[str, list[float]] = {}
    for name, value in _samples(body):
        found.setdefault(name, []).append(value)
    if RUNNING not in found or WAITING not in found:
        return None
    shares = next((found[name] for name in CACHE_USE if name in found), None)
    return ServerLoad(
        running=round(sum(found[RUNNING])),
        waiting=round(sum(found[WAITING])),
        cache_use=None if shares is None else min(max(shares), 1.0),
        prefix_queries=_total(found, PREFIX_QUERIES),
        prefix_hits=_total(found, PREFIX_HITS),
    )


def _samples(body: bytes) -> Iterator[tuple[str, float]]:
    for name, text in _SAMPLE.findall(body):
        try:
            value = float(text)
        except ValueError:
            continue
        if 0 <= value <= MAX_VALUE:  # no NaN, nothing that no page could show
            yield name.decode(), value


def _total(found: dict[str, list[float]], name: str) -> int | None:
    return round(sum(found[name])) if name in found else None
