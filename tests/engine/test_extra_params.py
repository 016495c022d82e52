"""D4: each worker gets the extra parameters that it takes, in the step that answers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from apps.engine.conduct import conduct
from apps.engine.errors import CallFailed, CallFault
from apps.engine.extra_params import messages_taken, not_taken, params_taken
from apps.engine.limits import Limits
from apps.engine.ports import CallParams, Pool, PoolWorker, Task
from apps.engine.testing import (
    ScriptedClient,
    ScriptedPlanner,
    make_plan,
    make_ports,
    run_virtual,
)

MARK = {"type": "ephemeral"}
PICTURE: Any = {"type": "image_url", "image_url": {"url": "https://h/a.png"}}
ALL = PoolWorker("all")
SOME = PoolWorker("some", extra_params=frozenset({"top_k", "cache_control"}))
NONE = PoolWorker("none", extra_params=frozenset())
PARAMS = CallParams(temperature=0.5, extra={"top_k": 5, "min_p": 0.1})
MARKED = CallParams(extra={"cache_control": True})


def marked(*parts: Any) -> Any:
    content = [{**part, "cache_control": MARK} for part in parts]
    return {"role": "user", "content": content}


def test_a_worker_gets_what_it_takes():
    assert params_taken(PARAMS, ALL) is PARAMS
    assert params_taken(PARAMS, SOME).extra == {"top_k": 5}
    bare = params_taken(PARAMS, NONE)
    assert (bare.extra, bare.temperature) == (None, 0.5)


def test_cache_marks_go_only_where_they_are_taken():
    text: Any = {"type": "text", "text": "Hi"}
    messages = (marked(text, PICTURE), marked(text))
    assert messages_taken(MARKED, messages, ALL) is messages
    assert messages_taken(MARKED, messages, SOME) is messages
    assert messages_taken(MARKED, messages, NONE) == (
        {"role": "user", "content": [text, PICTURE]},
        {"role": "user", "content": "Hi"},
    )


def test_who_does_not_take_a_parameter_is_named():
    assert not_taken(PARAMS, [ALL]) == {}
    assert not_taken(PARAMS, [ALL, SOME, NONE]) == {
        "min_p": ["some", "none"],
        "top_k": ["none"],
    }


def test_of_translated_parameters_a_worker_gets_only_what_it_is_known_to_take():
    known = PoolWorker("known", listed_params=frozenset({"top_k"}))
    translated = replace(PARAMS, is_extra_translated=True)
    assert params_taken(translated, known).extra == {"top_k": 5}
    assert params_taken(PARAMS, known) is PARAMS
    assert params_taken(translated, SOME).extra == {"top_k": 5}
    assert not_taken(translated, [known, SOME]) == {"min_p": ["known", "some"]}
    messages = (marked({"type": "text", "text": "Hi"}),)
    marks = replace(MARKED, is_extra_translated=True)
    assert messages_taken(marks, messages, known) == (
        {"role": "user", "content": "Hi"},
    )


def test_only_the_last_step_gets_them_and_each_worker_what_it_takes():
    def answer(call: Any, number: int) -> Any:
        if call.worker == "all":
            raise CallFailed(CallFault.UNAUTHORIZED, "no")
        return "text"

    client = ScriptedClient(answer)
    plan = make_plan(("some", ()), ("all", (0,)))
    ports = make_ports(planner=ScriptedPlanner(plan), client=client)
    pool = Pool((ALL, SOME), "some")
    run_virtual(conduct(Task("Why?", PARAMS), pool, ports, Limits()))
    assert [(call.worker, call.params.extra) for call in client.calls] == [
        ("some", None),
        ("all", PARAMS.extra),
        ("some", {"top_k": 5}),
    ]
