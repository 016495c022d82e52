"""Files and batches with the openai package against the whole product."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Literal

import openai
import pytest
from django.utils import timezone
from openai.types import Batch, FileObject

from apps.accounts.models import Scope
from apps.accounts.services import api_key_revoke
from apps.audit.models import Entry
from apps.audit.types import Actor
from apps.batches.models import (
    BatchState,
    FilePart,
    LineState,
    RequestBatch,
    StoredFile,
)
from apps.batches.services import files_expire
from apps.governance.services import hold_place, hold_release
from apps.runs.models import Run, RunState
from apps.runs.selectors import run_record, run_view
from tests.conftest import Site
from tests.factories import ACTOR, issue_key
from tests.patience import awaited, eventually
from tests.rest.conftest import program

CHAT: Literal["/v1/chat/completions"] = "/v1/chat/completions"
CANARY = "purple-canary-17"


@pytest.fixture
def client(site: Site) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(
        base_url=site.api_url, api_key=site.key, max_retries=0
    ) as client:
        yield client


def question(custom_id: str, prompt: str, **fields: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": prompt}]
    body = {"model": "conductor-mini", "messages": messages, **fields}
    return {"custom_id": custom_id, "method": "POST", "url": CHAT, "body": body}


def upload(client: openai.OpenAI, *requests: object) -> FileObject:
    lines = [r if isinstance(r, str) else json.dumps(r) for r in requests]
    content = ("requests.jsonl", "\n".join(lines).encode())
    return client.files.create(file=content, purpose="batch")


def start(client: openai.OpenAI, *requests: object, endpoint: Any = CHAT) -> Batch:
    return client.batches.create(
        input_file_id=upload(client, *requests).id,
        endpoint=endpoint,
        completion_window="24h",
    )


def ended(client: openai.OpenAI, batch: Batch) -> Batch:
    """Return a batch once it has ended."""
    goes_on = {"validating", "in_progress", "finalizing", "cancelling"}

    def look() -> Batch | None:
        found = client.batches.retrieve(batch.id)
        return found if found.status not in goes_on else None

    return awaited(look)


def lines_of(client: openai.OpenAI, file_id: str | None) -> dict[str, Any]:
    """Return the lines of a file of results by their `custom_id`."""
    if file_id is None:
        return {}
    lines = client.files.content(file_id).text.splitlines()
    found = {line["custom_id"]: line for line in map(json.loads, lines)}
    assert len(found) == len(lines)
    return found


def test_batch_answers_every_request_by_its_custom_id(
    client: openai.OpenAI, site: Site
) -> None:
    requests = [question(f"q{n}", f"What is {n} * 23 + 4?") for n in range(12)]
    batch = ended(client, start(client, *requests))
    answers = lines_of(client, batch.output_file_id)
    assert (batch.status, batch.error_file_id) == ("completed", None)
    assert batch.request_counts is not None
    assert batch.request_counts.to_dict() == {"total": 12, "completed": 12, "failed": 0}
    titles = dict(Run.objects.for_team(site.cast.team.id).values_list("id", "title"))
    assert len(titles) == 12
    for request in requests:
        body = answers[request["custom_id"]]["response"]["body"]
        assert body["choices"][0]["message"]["content"]
        asked = request["body"]["messages"][0]["content"]
        assert titles[uuid.UUID(body["conductor"]["run_id"])] == asked


@pytest.mark.parametrize(
    ("endpoint", "body", "read"),
    [
        ("/v1/completions", {"prompt": "6 * 7?"}, lambda b: b["choices"][0]["text"]),
        (
            "/v1/responses",
            {"input": "6 * 7?"},
            lambda b: b["output"][-1]["content"][0]["text"],
        ),
    ],
)
def test_other_endpoints_answer_in_their_own_shape(
    client: openai.OpenAI, endpoint: str, body: dict[str, Any], read: Any
) -> None:
    request = {**question("a", ""), "url": endpoint}
    request["body"] = {"model": "conductor-mini", **body}
    batch = ended(client, start(client, request, endpoint=endpoint))
    answer = lines_of(client, batch.output_file_id)["a"]["response"]
    assert answer["status_code"] == 200
    assert "42" in read(answer["body"])


def test_request_that_is_refused_does_not_keep_others_from_their_answers(
    client: openai.OpenAI,
) -> None:
    batch = ended(
        client,
        start(
            client,
            question("good", "What is 6 * 7?"),
            question("hot", "What is 6 * 7?", temperature=9),
            question("streamed", "What is 6 * 7?", stream=True),
            question("nowhere", "What is 6 * 7?", model="worker/nobody"),
        ),
    )
    errors = lines_of(client, batch.error_file_id)
    assert set(lines_of(client, batch.output_file_id)) == {"good"}
    assert errors["hot"]["response"]["status_code"] == 400
    assert errors["hot"]["response"]["body"]["error"]["param"] == "temperature"
    assert errors["streamed"]["response"]["body"]["error"]["param"] == "stream"
    assert errors["nowhere"]["response"]["status_code"] == 404
    assert batch.request_counts is not None and batch.request_counts.failed == 3


def test_failed_run_is_among_the_errors(client: openai.OpenAI, site: Site) -> None:
    site.add_worker("fault-500")
    request = question("a", "What is 6 * 7?", model="worker/fault-500")
    batch = ended(client, start(client, request))
    response = lines_of(client, batch.error_file_id)["a"]["response"]
    assert response["status_code"] == 502
    assert response["body"]["error"]["code"] == "worker_failed"


@pytest.mark.parametrize(
    ("line", "param"),
    [
        ("{not json", None),
        ("[]", None),
        ({**question("a", "x"), "custom_id": ""}, "custom_id"),
        ({**question("a", "x"), "method": "GET"}, "method"),
        ({**question("a", "x"), "url": "/v1/responses"}, "url"),
        ({**question("a", "x"), "body": "x"}, "body"),
    ],
)
def test_file_that_cannot_be_used_fails_whole_and_says_where(
    client: openai.OpenAI, site: Site, line: object, param: str | None
) -> None:
    batch = ended(client, start(client, question("first", "x"), line))
    assert batch.status == "failed"
    assert batch.errors is not None and batch.errors.data is not None
    (fault,) = batch.errors.data
    assert (fault.line, fault.param) == (2, param)
    assert Run.objects.for_team(site.cast.team.id).count() == 0


def test_custom_id_may_stand_once(client: openai.OpenAI) -> None:
    batch = ended(client, start(client, question("a", "x"), question("a", "y")))
    assert batch.errors is not None and batch.errors.data is not None
    assert batch.errors.data[0].code == "duplicate_custom_id"


def test_cancelled_batch_keeps_the_answers_it_has(
    client: openai.OpenAI, site: Site, settings: Any
) -> None:
    settings.BATCH_PARALLEL_RUNS = 2
    site.add_worker("fault-silent")
    requests = [question(f"h{n}", "x", model="worker/fault-silent") for n in range(4)]
    good = question("good", "What is 6 * 7?", model="worker/sim-delta")
    batch = start(client, good, *requests)
    runs = Run.objects.for_team(site.cast.team.id)
    assert eventually(lambda: runs.count() >= 3)
    batch = ended(client, client.batches.cancel(batch.id))
    errors = lines_of(client, batch.error_file_id)
    assert batch.status == "cancelled"
    assert set(lines_of(client, batch.output_file_id)) == {"good"}
    assert {line["error"]["code"] for line in errors.values() if line["error"]} == {
        "batch_cancelled"
    }
    runs = Run.objects.for_team(site.cast.team.id)
    assert not runs.filter(state=RunState.RUNNING).exists()


def test_cancelled_request_whose_run_never_began_does_not_keep_its_batch_open(
    client: openai.OpenAI, site: Site
) -> None:
    """A process died between noting a request and beginning its run."""
    file_id = uuid.UUID(upload(client, question("a", "x")).id.removeprefix("file-"))
    now = timezone.now()
    left = RequestBatch.objects.create(
        team=site.cast.team,
        api_key=site.cast.key.row,
        endpoint=CHAT,
        input_file_id=file_id,
        state=BatchState.CANCELLING,
        created_at=now,
        expires_at=now + timedelta(hours=1),
    )
    left.lines.create(
        index=0, custom_id="a", offset=0, length=10, state=LineState.STARTED
    )
    batch = ended(client, client.batches.retrieve(f"batch_{left.id.hex}"))
    assert batch.status == "cancelled"
    error = lines_of(client, batch.error_file_id)["a"]["error"]
    assert error["code"] == "batch_cancelled"


def test_revoked_key_makes_no_further_request(
    client: openai.OpenAI, site: Site, settings: Any
) -> None:
    settings.BATCH_PARALLEL_RUNS = 1
    site.add_worker("fault-silent")
    key = issue_key(site.cast.team, name="Nightly", created_by=site.cast.alice)
    own = client.with_options(api_key=key.secret)
    batch = start(
        own, question("h", "x", model="worker/fault-silent"), question("b", "x")
    )
    runs = Run.objects.for_team(site.cast.team.id)
    assert eventually(runs.exists)
    actor = Actor("user", str(site.cast.alice.id), "Alice")
    api_key_revoke(api_key=key.row, actor=actor)
    for run in runs:
        client.responses.cancel(f"resp_{run.id.hex}")
    batch = ended(client, batch)
    errors = lines_of(client, batch.error_file_id)
    assert errors["b"]["error"]["code"] == "invalid_api_key"
    assert Run.objects.for_team(site.cast.team.id).count() == 1


def test_direct_calls_need_their_scope_in_a_batch_too(
    client: openai.OpenAI, site: Site
) -> None:
    key = issue_key(site.cast.team, name="k", scopes=[Scope.RUN, Scope.READ])
    own = client.with_options(api_key=key.secret)
    request = question("a", "x", model="worker/sim-delta")
    batch = ended(own, start(own, request))
    response = lines_of(own, batch.error_file_id)["a"]["response"]
    assert response["status_code"] == 403


def test_files_and_batches_of_others_are_not_there(
    client: openai.OpenAI, site: Site
) -> None:
    batch = ended(client, start(client, question("a", "What is 6 * 7?")))
    mallory = issue_key(site.cast.other_team, name="m", created_by=site.cast.mallory)
    colleague = issue_key(site.cast.team, name="c", scopes=[Scope.RUN])
    assert batch.output_file_id is not None
    for key in (mallory, colleague):
        other = client.with_options(api_key=key.secret)
        for file_id in (batch.input_file_id, batch.output_file_id):
            with pytest.raises(openai.NotFoundError):
                other.files.content(file_id)
            with pytest.raises(openai.NotFoundError):
                other.files.delete(file_id)
        with pytest.raises(openai.NotFoundError):
            other.batches.cancel(batch.id)
        with pytest.raises(openai.NotFoundError):
            other.batches.create(
                input_file_id=batch.input_file_id,
                endpoint=CHAT,
                completion_window="24h",
            )
        assert not list(other.files.list())
        assert not list(other.batches.list())


def test_lists_come_in_pages_the_newest_first(client: openai.OpenAI) -> None:
    names = [upload(client, question(str(n), "x")).id for n in range(5)]
    assert [file.id for file in client.files.list(limit=2)] == names[::-1]


def test_file_is_read_back_and_deleted(client: openai.OpenAI) -> None:
    file = upload(client, question("a", "x"))
    assert json.loads(client.files.content(file.id).text) == question("a", "x")
    assert client.files.delete(file.id).deleted
    with pytest.raises(openai.NotFoundError):
        client.files.retrieve(file.id)


def test_file_of_an_unfinished_batch_stays(client: openai.OpenAI, site: Site) -> None:
    site.add_worker("fault-silent")
    batch = start(client, question("h", "x", model="worker/fault-silent"))
    with pytest.raises(openai.BadRequestError, match="has not ended"):
        client.files.delete(batch.input_file_id)
    ended(client, client.batches.cancel(batch.id))
    assert client.files.delete(batch.input_file_id).deleted


def test_file_on_legal_hold_is_not_deleted(client: openai.OpenAI, site: Site) -> None:
    batch = ended(client, start(client, question("a", "What is 6 * 7?")))
    hold = hold_place(team=site.cast.team, run_id=None, reason="Matter 7", actor=ACTOR)
    for file_id in (batch.input_file_id, str(batch.output_file_id)):
        with pytest.raises(openai.PermissionDeniedError, match="hold") as caught:
            client.files.delete(file_id)
        assert caught.value.code == "legal_hold"
        assert caught.value.response.headers["x-should-retry"] == "false"
        assert client.files.content(file_id).text
    hold_release(hold=hold, actor=ACTOR)
    assert client.files.delete(batch.input_file_id).deleted


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"purpose": "fine-tune"}, "purpose"),
        ({"file": ("empty.jsonl", b"")}, "file"),
    ],
)
def test_upload_that_is_no_use_is_refused_by_name(
    client: openai.OpenAI, fields: Any, param: str
) -> None:
    body = {"file": ("a.jsonl", b"{}"), "purpose": "batch", **fields}
    with pytest.raises(openai.BadRequestError) as caught:
        client.files.create(**body)
    assert caught.value.param == param


def test_file_that_is_too_large_is_refused(
    client: openai.OpenAI, settings: Any
) -> None:
    settings.MAX_FILE_BYTES = 1_000
    with pytest.raises(openai.APIStatusError) as caught:
        upload(client, question("a", "x" * 20_000))
    assert caught.value.status_code == 413


def test_content_is_encrypted_and_every_change_is_recorded(
    client: openai.OpenAI, site: Site
) -> None:
    batch = ended(client, start(client, question("a", CANARY)))
    client.files.delete(str(batch.output_file_id))
    parts = FilePart.objects.values_list("sealed", flat=True)
    assert parts and not any(CANARY.encode() in bytes(part) for part in parts)
    entries = Entry.objects.for_team(site.cast.team.id).exclude(subject_type="run")
    actions = list(entries.order_by("seq").values_list("action", flat=True))
    assert actions[-5:] == [
        "file.created",
        "batch.created",
        "file.created",
        "batch.ended",
        "file.deleted",
    ]


def test_expired_files_go_with_their_batches(client: openai.OpenAI, site: Site) -> None:
    ended(client, start(client, question("a", "What is 6 * 7?")))
    later = timezone.now() + timedelta(days=31)
    assert sum(files_expire(later)) == 2
    team_id = site.cast.team.id
    assert not StoredFile.objects.for_team(team_id).exists()
    assert not RequestBatch.objects.for_team(team_id).exists()
    assert not FilePart.objects.exists()


@pytest.mark.parametrize("path", ["chat/completions", "completions", "responses"])
def test_requests_of_a_batch_use_presets(client, site, path):
    site.add_worker("echo")
    values = {
        "name": "Greet",
        "prompt": "Say hello to {{name}}.",
        "system": "Be brief.",
        "settings": {"model": "worker/echo"},
    }
    preset = program(site.key).post("presets/", values).json()["id"]
    url: Any = f"/v1/{path}"
    lines = [
        {
            "custom_id": name,
            "method": "POST",
            "url": url,
            "body": {"preset": {"id": preset, "variables": variables}},
        }
        for name, variables in (("good", {"name": "Bob"}), ("bad", {}))
    ]
    batch = ended(client, start(client, *lines, endpoint=url))
    assert lines_of(client, batch.output_file_id).keys() == {"good"}
    (fault,) = lines_of(client, batch.error_file_id).values()
    error = fault["response"]["body"]["error"]
    assert (fault["response"]["status_code"], error["param"]) == (
        400,
        "preset.variables",
    )
    run = Run.objects.for_team(site.cast.team.id).get()
    use = run_view(run).preset
    assert use is not None and str(use.preset_id) == preset
    said = [each["content"] for each in run_record(run.team_id, run.id).messages]
    assert said == ["Be brief.", "Say hello to Bob."]
