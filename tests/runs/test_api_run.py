"""A run over the API, with the real client, from prompt to verified ledger."""

import openai
import pytest
from django.core.management import call_command

from apps.engine.events import RunCompleted
from apps.runs.models import Run
from apps.runs.selectors import run_events

QUESTION = [{"role": "user", "content": "What is 17 * 23 + 4?"}]


@pytest.fixture
def client(site):
    with openai.OpenAI(
        base_url=site.api_url, api_key=site.key, max_retries=0
    ) as client:
        yield client


def test_the_answer_comes_with_its_cost_and_its_steps(client, site):
    answer = client.chat.completions.create(model="conductor-ultra", messages=QUESTION)
    assert "395" in answer.choices[0].message.content
    steps = answer.model_extra["conductor"]["steps"]
    assert [s["state"] for s in steps] == ["completed"] * 3


def test_a_stream_says_the_same_as_the_ledger(client, site):
    stream = client.chat.completions.create(
        model="conductor-ultra",
        messages=QUESTION,
        stream=True,
        stream_options={"include_usage": True},
    )
    chunks = list(stream)
    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    run = Run.objects.for_team(site.cast.team.id).get()
    end = run_events(run)[-1].event
    assert isinstance(end, RunCompleted)
    assert text == end.answer
    assert chunks[-1].usage.total_tokens == end.usage.total_tokens


def test_the_ledger_holds_the_whole_story_and_verifies(client, site, capsys):
    client.chat.completions.create(model="conductor-ultra", messages=QUESTION)
    run = Run.objects.for_team(site.cast.team.id).get()
    actions = [recorded.event.action for recorded in run_events(run)]
    assert actions[0] == "run.created"
    assert actions[-1] == "run.completed"
    call_command("audit_verify")


def test_a_worker_can_be_called_directly(client):
    answer = client.chat.completions.create(model="worker/sim-delta", messages=QUESTION)
    assert "39" in answer.choices[0].message.content
