"""Trying a model out: a few short calls, and the models a provider lists.

Everything here is awaited on an event loop. While a provider is awaited no thread is
held, no transaction is open, and no connection to the database is in use.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from apps.audit.services import entries_append
from apps.audit.types import Actor, Batch, EntryDraft
from apps.core.errors import ConductorError, NotFound
from apps.core.input_parts import values_read
from apps.llm.chat import ChatClient
from apps.llm.embeddings import embed
from apps.llm.errors import LlmError
from apps.llm.http import HttpTransport, open_transport
from apps.llm.model_listing import list_models
from apps.llm.types import (
    FLOAT_BYTES,
    ChatRequest,
    EmbeddingRequest,
    Endpoint,
    Timeouts,
)
from apps.pools.capability_probes import (
    MAX_ANSWER_TOKENS,
    PREFILL,
    PROBES,
    abilities_shown,
    ask,
)
from apps.pools.credentials import credential_open
from apps.pools.errors import ProviderFailed
from apps.pools.models import Conductor, ConductorMode, Protocol, Worker, WorkerKind
from apps.pools.selectors import (
    access_conductor,
    access_worker,
    conductor_snapshot,
    endpoint_of,
    last_test,
    protocol_of,
    worker_list,
)
from apps.pools.service_inputs import ListingInput
from apps.pools.services.plan_trial import plan_try
from apps.pools.slots import model_calls
from apps.pools.types import ConductorSnapshot, TestResult, TrialStep
from apps.pools.validation import Faults, address_fault, credential_of

_in_thread = sync_to_async
QUESTION = "What is 17 + 25?"
MAX_TEST_S = 60
"""A person waits for it in front of a page."""
MAX_PROBE_S = 30
"""The same, for what a model can do: all at once, after it has answered."""
MAX_LISTING_S = 20
MAX_TRIAL_WORKERS = 8
"""Of a team: more say nothing more of whether a conductor can plan."""
MAX_SHOWN = 200
"""Characters of an answer that are kept."""
RECORDED = ("ok", "latency_ms", "model", "error_code", "message", "abilities")
"""What the ledger holds of a test: all but what the model said."""


def model_calls_have_room(team_id: uuid.UUID) -> bool:
    """Say whether a team may have one more test under way in this process."""
    return model_calls.has_room(team_id)


async def worker_test(
    *, team_id: uuid.UUID, worker_id: uuid.UUID, actor: Actor
) -> TestResult:
    """Ask a worker one short question, and keep and record how it went.

    One that answers gets another for each of its abilities. What goes wrong at the
    provider is in the result. Raises: NotFound, TooManyModelCalls.
    """
    with model_calls.slot(team_id):
        row = await _in_thread(access_worker)(team_id, worker_id)
        return await _test(row, "worker.tested", actor, tuple(PROBES))


async def conductor_test(
    *, team_id: uuid.UUID, conductor_id: uuid.UUID, actor: Actor
) -> TestResult:
    """Ask a conductor for a plan, and keep and record how it went.

    An answer from which no plan can be read is a failure. One whose reasoning is begun
    for it must show that it goes on from there. Raises: NotFound, TooManyModelCalls.
    """
    with model_calls.slot(team_id):
        row = await _in_thread(access_conductor)(team_id, conductor_id)
        workers = await _in_thread(_trial_workers)(team_id)
        is_begun = row.uses_prefill and row.mode == ConductorMode.LISTS
        probes = (PREFILL,) if is_begun else ()
        return await _test(row, "conductor.tested", actor, probes, workers)


async def models_fetch(
    *,
    team_id: uuid.UUID,
    base_url: str,
    protocol: str = Protocol.OPENAI,
    credential_id: uuid.UUID | None = None,
    secret: str | None = None,
) -> list[str]:
    """Return the names of the models a provider lists, in order.

    Raises: InvalidFields, ProviderFailed, SecretUnreadable, TooManyModelCalls.
    """
    values = {
        "base_url": base_url,
        "protocol": protocol,
        "credential_id": credential_id,
        "secret": secret,
    }
    with model_calls.slot(team_id):
        endpoint = await _in_thread(_listing_endpoint)(team_id, values)
        try:
            async with _transport() as transport:
                return await list_models(transport, endpoint)
        except LlmError as exc:
            raise ProviderFailed(exc.message, fault=exc.fault) from None


def _listing_endpoint(team_id: uuid.UUID, values: Mapping[str, Any]) -> Endpoint:
    """Return where to list models. Raises: InvalidFields, SecretUnreadable."""
    given = values_read(ListingInput, values)
    faults = Faults()
    faults.add("base_url", address_fault(given.base_url))
    credential = credential_of(team_id, given.credential_id, given.base_url, faults)
    faults.raise_any()
    key = given.secret.get_secret_value() if given.secret else None
    if credential is not None:
        key = credential_open(credential, base_url=given.base_url)
    return Endpoint(
        name=given.base_url,
        base_url=given.base_url,
        model="",
        api_key=key,
        timeouts=Timeouts(
            connect_s=settings.WORKER_CONNECT_TIMEOUT_S,
            first_byte_s=MAX_LISTING_S,
            idle_s=MAX_LISTING_S,
            total_s=MAX_LISTING_S,
        ),
        protocol=protocol_of(given.protocol),
    )


def _trial_workers(team_id: uuid.UUID) -> list[str]:
    """Return the names of workers that the plan of a test may use: none that fails."""
    rows = worker_list(team_id).filter(is_enabled=True, kind=WorkerKind.CHAT)
    tests = ((row.name, last_test(row)) for row in rows.prefetch_related(None))
    names = [name for name, test in tests if test is None or test.ok]
    return names[:MAX_TRIAL_WORKERS]


async def _test(
    row: Worker | Conductor,
    action: str,
    actor: Actor,
    probes: Sequence[str],
    workers: Sequence[str] = (),
) -> TestResult:
    result = await _try(row, probes, workers)
    await _in_thread(_keep)(row, action, actor, result)
    return result


def _keep(
    row: Worker | Conductor, action: str, actor: Actor, result: TestResult
) -> None:
    """Put a test on its row and on record. Raises: NotFound."""
    values = {**asdict(result), "tested_at": result.tested_at.isoformat()}
    data = {key: values[key] for key in RECORDED}
    if result.plan_steps is not None:
        data["plan_steps"] = result.plan_steps
    draft = EntryDraft(
        action=action,
        subject_type=action.partition(".")[0],
        subject_id=row.pk,
        actor=actor,
        data={"name": row.name, **data},
        outcome="success" if result.ok else "failure",
    )
    with transaction.atomic():
        rows = type(row).objects.for_team(row.team_id).filter(pk=row.pk)
        if not rows.update(last_test=values):
            raise NotFound(f"{row.name!r} was deleted meanwhile")
        entries_append(batch=Batch(team_id=row.team_id, drafts=(draft,)))


async def _try(
    row: Worker | Conductor, probes: Sequence[str], workers: Sequence[str]
) -> TestResult:
    began = time.monotonic()
    try:
        if isinstance(row, Conductor):
            conductor = await _in_thread(conductor_snapshot)(row)
            return await _ask_for_plan(conductor, probes, workers)
        endpoint = await _in_thread(endpoint_of)(row)
        if endpoint.makes_embeddings:
            return await _ask_for_embedding(endpoint)
        return await _ask(endpoint, row.max_output_tokens, probes)
    except LlmError as exc:
        code, message = exc.fault, exc.message
    except ConductorError as exc:  # the credential does not open, or not for this host
        code, message = exc.code, exc.message
    return TestResult(
        ok=False,
        latency_ms=_since(began),
        answer="",
        model="",
        error_code=code,
        message=message,
        tested_at=timezone.now(),
    )


def _since(began: float) -> int:
    return round((time.monotonic() - began) * 1000)


def _patient(endpoint: Endpoint, total_s: float) -> Endpoint:
    """Return the endpoint with timeouts for a person who waits for a page."""
    limits = endpoint.timeouts
    return replace(
        endpoint, timeouts=replace(limits, total_s=min(limits.total_s, total_s))
    )


async def _ask_for_embedding(endpoint: Endpoint) -> TestResult:
    """Let the question be turned into a vector. Raises: LlmError."""
    began = time.monotonic()
    async with _transport() as transport:
        request = EmbeddingRequest([QUESTION])
        found = await embed(transport, _patient(endpoint, MAX_TEST_S), request)
    count = len(found.vectors[0]) // FLOAT_BYTES
    return TestResult(
        ok=True,
        latency_ms=_since(began),
        answer=f"An embedding of {count} numbers",
        model=_shown(found.model),
        error_code="",
        message="",
        tested_at=timezone.now(),
    )


async def _ask(
    endpoint: Endpoint, max_output_tokens: int, probes: Sequence[str]
) -> TestResult:
    """Ask the question, then what `probes` want to know. Raises: LlmError."""
    request = ChatRequest(
        [{"role": "user", "content": QUESTION}],
        max_tokens=min(MAX_ANSWER_TOKENS, max_output_tokens),
    )
    began = time.monotonic()
    async with _transport() as transport:
        client = ChatClient(transport, settings.MAX_ANSWER_CHARACTERS)
        answer = await ask(client, _patient(endpoint, MAX_TEST_S), request)
        latency_ms = _since(began)
        abilities = await abilities_shown(
            client, _patient(endpoint, MAX_PROBE_S), probes
        )
    return TestResult(
        ok=True,
        latency_ms=latency_ms,
        answer=_shown(answer.text),
        model=_shown(answer.model),
        error_code="",
        message="",
        tested_at=timezone.now(),
        abilities=abilities,
    )


async def _ask_for_plan(
    conductor: ConductorSnapshot, probes: Sequence[str], workers: Sequence[str]
) -> TestResult:
    """Ask for a plan, then what `probes` want to know. Raises: LlmError."""
    endpoint = conductor.endpoint
    began = time.monotonic()
    async with _transport() as transport:
        client = ChatClient(transport, settings.MAX_ANSWER_CHARACTERS)
        patient = _patient(endpoint, MAX_TEST_S)
        trial = await plan_try(client, patient, conductor, workers)
        latency_ms = _since(began)
        wanted = probes if trial.plan is not None else ()
        abilities = await abilities_shown(
            client, _patient(endpoint, MAX_PROBE_S), wanted
        )
    steps = () if trial.plan is None else trial.plan.steps
    return TestResult(
        ok=trial.plan is not None,
        latency_ms=latency_ms,
        answer=_shown(trial.answer.text),
        model=_shown(trial.answer.model),
        error_code=trial.fault,
        message=trial.message,
        tested_at=timezone.now(),
        abilities=abilities,
        plan_steps=len(steps) or None,
        plan=tuple(TrialStep(s.worker, _shown(s.subtask), s.access) for s in steps),
    )


def _transport() -> HttpTransport:
    return open_transport(
        allowed_networks=settings.MODEL_NETWORKS, allowed_ports=settings.MODEL_PORTS
    )


def _shown(text: str) -> str:
    """Return the beginning of a text on one line, fit for every column and page."""
    clean = "".join(c if c.isprintable() else " " for c in text)
    return " ".join(clean.split())[:MAX_SHOWN]
