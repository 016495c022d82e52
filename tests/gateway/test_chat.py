"""A completion that is not streamed."""

from __future__ import annotations

import orjson
import pytest
from openai.types.chat import ChatCompletion

from apps.core.errors import ConductorError, NotFound, Overloaded
from apps.engine.events import RunCancelled
from tests.gateway.conftest import CHAT, Client
from tests.gateway.fakes import (
    RUN_ID,
    TEAM_ID,
    USAGE,
    completed,
    failed,
    holder,
)


async def test_answer_is_a_completion_of_the_openai_client(client: Client) -> None:
    client.run.plays(completed("It is 42."))
    answer = await client.chat()
    parsed = ChatCompletion.model_validate(answer.json, strict=True)
    assert answer.status == 200
    assert parsed.choices[0].message.content == "It is 42."
    assert (parsed.id, parsed.model) == (f"chatcmpl-{RUN_ID.hex}", "conductor-mini")


async def test_usage_adds_up_and_tells_the_conductors_part(client: Client) -> None:
    client.run.plays(completed())
    usage = (await client.chat()).json["usage"]
    assert usage["total_tokens"] == 150 == USAGE.total_tokens
    assert usage["prompt_tokens_details"] == {
        "cached_tokens": 20,
        "orchestration_input_tokens": 20,
    }
    assert usage["completion_tokens_details"]["orchestration_output_tokens"] == 5


async def test_conductor_object_tells_steps_and_cost(client: Client) -> None:
    client.run.plays(completed(has_unknown_cost=True))
    told = (await client.chat()).json["conductor"]
    assert told["url"].endswith(f"/runs/{RUN_ID}/")
    assert (told["cost_usd"], told["has_unknown_cost"]) == ("0.001234", True)
    assert told["steps"][0]["cost_usd"] == "0.001200"


@pytest.mark.parametrize("stream", [False, True])
async def test_conductor_object_names_who_really_answered(
    client: Client, stream: bool
) -> None:
    client.run.plays(completed())
    answer = await client.chat(stream=stream)
    told = (answer.chunks[-1] if stream else answer.json)["conductor"]
    assert (told["worker"], told["has_estimated_usage"]) == ("writer", True)


async def test_time_of_an_answer_is_that_of_its_run(client: Client) -> None:
    client.run.plays(completed())
    created = (await client.chat()).json["created"]
    assert created == RUN_ID.int // 2**80 // 1000


async def test_headers_name_request_run_and_cost(client: Client) -> None:
    client.run.plays(completed())
    headers = (await client.chat()).headers
    assert headers["x-conductor-run-id"] == str(RUN_ID)
    assert headers["x-conductor-cost-usd"] == "0.001234"
    assert {"x-request-id", "openai-processing-ms"} <= headers.keys()


@pytest.mark.parametrize(
    ("given", "is_kept"),
    [("abc-123", True), ("a" * 128, True), ("a" * 129, False), ("a b", False)],
)
async def test_sane_request_ids_are_kept(
    client: Client, given: str, is_kept: bool
) -> None:
    answer = await client.ask("GET", "/v1/models", headers={"x-request-id": given})
    assert (answer.headers["x-request-id"] == given) is is_kept


async def test_order_carries_everything_the_caller_said(client: Client) -> None:
    client.run.plays(completed())
    await client.chat(
        max_tokens=5, max_completion_tokens=9, stop="END", seed=3, temperature=0
    )
    (order,) = client.backend.orders
    assert (order.team_id, order.actor.display) == (TEAM_ID, "laptop")
    assert order.prompt == "What is 6 times 7?"
    assert (order.params.max_tokens, order.params.stop) == (9, ("END",))


async def test_ignored_fields_are_recorded_by_name(client: Client) -> None:
    client.run.plays(completed())
    await client.chat(store=True, verbose="u", **{"odd name": 1})
    assert client.backend.orders[0].ignored == "store,verbose,+1"


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"user": "ada"}, {"user": "ada"}),
        ({"user": "ada", "metadata": {"ticket": "7"}}, {"user": "ada", "ticket": "7"}),
        ({"user": "ada", "metadata": {"user": "bob"}}, {"user": "bob"}),
        ({"user": "x" * 600}, {"user": "x" * 512}),
        ({"user": " "}, {}),
        ({"user": 7}, {}),
    ],
)
async def test_the_person_a_program_asks_for_is_kept_with_the_metadata(
    client: Client, given: dict[str, object], kept: dict[str, str]
) -> None:
    client.run.plays(completed())
    await client.chat(**given)
    (order,) = client.backend.orders
    assert (order.metadata, order.ignored) == (kept, "")


@pytest.mark.parametrize("is_streamed", [True, False])
async def test_workers_stream_only_if_the_caller_does(
    client: Client, is_streamed: bool
) -> None:
    client.run.plays(completed())
    await client.chat(stream=is_streamed)
    assert client.backend.orders[0].is_watched is is_streamed


async def test_odd_finish_reason_becomes_one_that_clients_know(client: Client) -> None:
    client.run.plays(completed(finish_reason="eos"))
    assert (await client.chat()).json["choices"][0]["finish_reason"] == "stop"


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (NotFound("no such model", param="model"), 404, "model_not_found"),
        (Overloaded("full", retry_after_s=7), 503, "overloaded"),
        (ConductorError("odd"), 500, "internal_error"),
        (RuntimeError("secret detail"), 500, "internal_error"),
    ],
)
async def test_refused_start_is_answered_in_shape(
    client: Client, error: Exception, status: int, code: str
) -> None:
    client.backend.refuses(error)
    answer = await client.chat()
    assert (answer.status, answer.error["code"]) == (status, code)
    assert b"secret" not in answer.body


async def test_overload_says_when_to_come_back(client: Client) -> None:
    client.backend.refuses(Overloaded("full", retry_after_s=7))
    assert (await client.chat()).headers["retry-after"] == "7"


async def test_no_error_is_a_conflict_that_clients_would_retry(client: Client) -> None:
    class Taken(ConductorError):
        """Say that something exists already."""

        http_status = 409

    client.backend.refuses(Taken("there already"))
    assert (await client.chat()).status == 400


@pytest.mark.parametrize(
    ("run_code", "status", "code"),
    [
        ("limit_cost", 402, "insufficient_quota"),
        ("limit_wall_time", 504, "timeout"),
        ("limit_tokens", 400, "limit_tokens"),
        ("policy_denied", 403, "policy_denied"),
        ("context_length_exceeded", 400, "context_length_exceeded"),
        ("worker_failed", 502, "worker_failed"),
        ("something_new", 502, "something_new"),
    ],
)
async def test_failed_run_is_an_error(
    client: Client, run_code: str, status: int, code: str
) -> None:
    client.run.plays(failed(run_code, "told plainly"))
    answer = await client.chat()
    assert (answer.status, answer.error["code"]) == (status, code)
    assert answer.error["message"] == "told plainly"
    assert answer.headers["x-conductor-cost-usd"] == "0.001234"


async def test_run_stopped_by_a_person_is_not_retried(client: Client) -> None:
    client.run.plays(RunCancelled("stopped by alice", USAGE, 0, False, 1, 1))
    answer = await client.chat()
    assert (answer.status, answer.error["code"]) == (403, "run_cancelled")
    assert answer.headers["x-should-retry"] == "false"


async def test_run_stopped_by_a_restart_may_be_retried(client: Client) -> None:
    client.run.plays(RunCancelled("shutdown", USAGE, 0, False, 1, 1))
    answer = await client.chat()
    assert (answer.status, "retry-after" in answer.headers) == (503, True)


async def test_client_that_leaves_cancels_the_run(client: Client) -> None:
    exchanged = client.open_chat()
    exchanged.leave()
    await client.done()
    assert client.run.cancelled_for == ["client_closed"]
    assert not client.run.has_listeners


async def test_client_that_stays_cancels_nothing(client: Client) -> None:
    client.run.plays(completed())
    exchanged = await client.chat()
    exchanged.leave()
    await client.done()
    assert client.run.cancelled_for == []


async def test_client_that_leaves_while_sending_gets_nothing(client: Client) -> None:
    exchanged = client.open("POST", CHAT)
    exchanged.keep_body_back()
    exchanged.leave()
    await client.done()
    assert (exchanged.messages, client.backend.orders) == ([], [])


async def test_key_without_the_scope_may_not_run(client: Client) -> None:
    client.backend.caller = holder("runs:read")
    answer = await client.chat()
    assert (answer.status, answer.error["code"]) == (403, "permission_denied")


async def test_direct_call_needs_its_own_scope(client: Client) -> None:
    client.backend.caller = holder("runs:create")
    answer = await client.chat(model="worker/writer")
    assert (answer.status, client.backend.orders) == (403, [])


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": "Bearer cdk_other"},
        {"authorization": "Bearer "},
        {"authorization": "Basic cdk_good"},
        {"authorization": "Bearer " + "x" * 300},
    ],
)
async def test_stranger_is_told_to_show_a_key(
    client: Client, headers: dict[str, str]
) -> None:
    body = orjson.dumps({})
    answer = await client.ask("POST", CHAT, body, key=None, headers=headers)
    assert (answer.status, answer.error["code"]) == (401, "invalid_api_key")
    assert answer.headers["www-authenticate"].startswith("Bearer")
