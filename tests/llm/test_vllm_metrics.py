"""What a vLLM server shows of itself, and what others show in its place."""

from __future__ import annotations

import pytest

from apps.llm import vllm_metrics
from apps.llm.errors import BadResponse, LlmError, UnusableResponse
from apps.llm.testing import FakeProvider, Script, refusal_script
from apps.llm.types import Endpoint
from apps.llm.vllm_metrics import ServerLoad, metrics_url, parse_load, read_load
from tests.llm.conftest import KEY, endpoint_of

LABELS = '{engine="0",model_name="conductor"}'
SHOWN = f"""\
# HELP python_gc_objects_collected_total Objects collected during gc
python_gc_objects_collected_total{{generation="0"}} 2231.0
# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{LABELS} 4.0
vllm:num_requests_waiting{LABELS} 7.0
vllm:num_requests_waiting_by_reason{{engine="0",reason="capacity"}} 7.0
vllm:kv_cache_usage_perc{LABELS} 0.25
vllm:prefix_cache_queries_total{LABELS} 1000.0
vllm:prefix_cache_queries_created{LABELS} 1.79530041e+09
vllm:prefix_cache_hits_total{LABELS} 750.0
"""


def test_metrics_of_a_server_are_read():
    load = parse_load(SHOWN.encode())
    assert load == ServerLoad(4, 7, 0.25, 1000, 750)
    assert load.prefix_hit_share == 0.75


def test_engines_of_one_server_are_summed():
    second = SHOWN.replace('engine="0"', 'engine="1"').replace("0.25", "0.5")
    assert parse_load((SHOWN + second).encode()) == ServerLoad(8, 14, 0.5, 2000, 1500)


def test_older_name_of_the_cache_is_known():
    shown = SHOWN.replace("kv_cache", "gpu_cache")
    load = parse_load(shown.encode())
    assert load is not None and load.cache_use == 0.25


def test_what_is_not_shown_is_unknown():
    lines = [line for line in SHOWN.splitlines() if "requests" in line]
    load = parse_load("\n".join(lines).encode())
    assert load == ServerLoad(4, 7, None, None, None)
    assert load.prefix_hit_share is None


@pytest.mark.parametrize("value", ["NaN", "+Inf", "-1.0", "1e99", "7.0x", "--7", ""])
def test_impossible_number_is_none(value: str):
    assert parse_load(SHOWN.replace(" 7.0", f" {value}").encode()) is None


@pytest.mark.parametrize("body", [b"", b"<html>", b"\xff\x00", b"up 1\n", b"{" * 9999])
def test_metrics_of_something_else_are_none(body: bytes):
    assert parse_load(body) is None


async def test_metrics_lie_beside_the_models_and_get_the_key(transport):
    async with FakeProvider(Script([SHOWN.encode()])) as provider:
        load = await read_load(transport, endpoint_of(provider))
    (seen,) = provider.requests
    assert (seen.method, seen.path) == ("GET", "/metrics")
    assert seen.headers["authorization"] == f"Bearer {KEY}"
    assert load.waiting == 7


@pytest.mark.parametrize(
    ("base_url", "protocol", "url"),
    [
        ("http://host:8100/v1", "openai", "http://host:8100/metrics"),
        ("https://host/vllm/v1/", "openai", "https://host/vllm/metrics"),
        ("https://host/api", "openai", None),
        ("https://host/v1", "anthropic", None),
    ],
)
def test_address_of_the_metrics(base_url, protocol, url):
    endpoint = Endpoint("a", base_url, "b", protocol=protocol)
    assert metrics_url(endpoint) == url


async def test_server_that_is_no_vllm_is_a_bad_response(transport):
    async with FakeProvider(Script([b"<html>"])) as provider:
        with pytest.raises(BadResponse, match="no metrics of vLLM"):
            await read_load(transport, endpoint_of(provider))
    with pytest.raises(BadResponse, match="no metrics of vLLM"):
        await read_load(transport, endpoint_of("http://127.0.0.1:9/api"))


async def test_refusal_is_told(transport):
    async with FakeProvider(refusal_script(404, "no such page")) as provider:
        with pytest.raises(LlmError, match="404"):
            await read_load(transport, endpoint_of(provider))


async def test_endless_metrics_are_cut_off(transport, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(vllm_metrics, "MAX_METRICS_BYTES", 100)
    async with FakeProvider(Script([SHOWN.encode()])) as provider:
        with pytest.raises(UnusableResponse, match="more than 100 bytes"):
            await read_load(transport, endpoint_of(provider))
