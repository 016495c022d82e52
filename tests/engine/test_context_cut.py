"""What a worker is sent, and what is left out where its context is too small."""

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.engine.context import cut_messages, fits, fits_context, worker_messages
from apps.engine.cutting import cut_to_fit
from apps.engine.messages import estimate_input, question_of, text_of
from apps.engine.plan import Plan, PlannedStep
from apps.engine.ports import (
    CallParams,
    Message,
    Messages,
    PoolWorker,
    Task,
    ToolCallPart,
)
from apps.engine.testing import make_plan

LEFT_OUT = re.compile(r"\[(\d+) earlier messages? left out\]")
TOOL = {"type": "function", "function": {"name": "add", "parameters": {}}}


def said(role: Any, text: str, **more: Any) -> Message:
    message: Any = {"role": role, "content": text, **more}
    made: Message = message
    return made


def calls(*ids: str) -> Message:
    made: list[ToolCallPart] = [
        {"id": i, "type": "function", "function": {"name": "add", "arguments": "{}"}}
        for i in ids
    ]
    return said("assistant", "", tool_calls=made)


def result(call_id: str, text: str = "2") -> Message:
    return said("tool", text, tool_call_id=call_id)


def task(*messages: Message, **params: Any) -> Task:
    return Task(question_of(messages), CallParams(**params), messages=messages)


def direct(asked: Task) -> Plan:
    return Plan((PlannedStep(asked.prompt, "a"),))


def worker(context: int | None = None, **abilities: Any) -> PoolWorker:
    given_ones = {"max_output_tokens": 100, **abilities}
    return PoolWorker("a", context_tokens=context, **given_ones)


def sent(asked: Task, to: PoolWorker) -> Messages:
    return cut_messages(asked, direct(asked), 0, {}, to)


def talk(turns: int, size: int = 300) -> tuple[Message, ...]:
    return tuple(
        said("assistant" if n % 2 else "user", f"turn {n} " + "x" * size)
        for n in range(turns)
    )


# --- what is sent whole --------------------------------------------------------------


def test_a_direct_question_is_the_conversation_itself():
    asked = task(said("system", "s"), *talk(3))
    assert worker_messages(asked, direct(asked), 0, {}, worker()) == asked.messages


def test_a_plan_of_several_steps_asks_in_sections_even_for_the_prompt_itself():
    asked = Task("Why?")
    plan = Plan((PlannedStep("x", "a"), PlannedStep("Why?", "a")))
    [message] = worker_messages(asked, plan, 1, {}, worker())
    assert "<question>\nWhy?\n</question>" in message["content"]


def test_turns_with_tools_go_as_text_to_a_worker_that_knows_no_tools():
    asked = task(said("user", "1 + 1?"), calls("c"), result("c"))
    [message] = worker_messages(
        asked, direct(asked), 0, {}, worker(accepts_tools=False)
    )
    assert message == {"role": "user", "content": asked.prompt}


@pytest.mark.parametrize(
    ("read", "context", "output", "room"),
    [
        (900, 1000, 100, True),
        (901, 1000, 100, False),
        (750, 1000, 100_000, True),
        (751, 1000, 100_000, False),
        (10**9, None, 1, True),
    ],
)
def test_a_quarter_of_the_context_is_room_enough(read, context, output, room):
    assert fits_context(read, context, output) is room


def test_tools_take_room_too():
    messages = (said("user", "x" * 2400),)
    tools = (TOOL,) * 50
    assert fits(messages, worker(1000), 10)
    assert not fits(messages, worker(1000), 10, tools=tools)


# --- the cut -------------------------------------------------------------------------


def test_what_fits_is_not_cut():
    asked = task(*talk(3))
    assert sent(asked, worker(10_000)) == asked.messages


def test_the_oldest_turns_go_first_and_a_line_says_so():
    asked = task(said("system", "Be brief."), *talk(7))
    got = sent(asked, worker(490))
    assert got[0] == asked.messages[0]
    assert got[2:] == asked.messages[-2:]
    first = got[1]["content"]
    assert isinstance(first, str) and first.startswith("[4 earlier messages left out]")
    assert estimate_input(got) + 100 <= 490


def test_where_an_assistant_would_speak_first_the_line_is_a_message_of_its_own():
    asked = task(*talk(7))
    got = sent(asked, worker(340))
    assert got[0] == {"role": "user", "content": "[5 earlier messages left out]"}
    assert got[1:] == asked.messages[5:]


def test_the_last_of_several_images_and_texts_keeps_its_images():
    picture: Any = [
        {"type": "text", "text": "this"},
        {"type": "image_url", "image_url": {"url": "https://example.org/1"}},
    ]
    asked = task(*talk(4), said("user", picture))
    got = sent(asked, worker(1150, accepts_images=True))
    assert got[0]["content"] == [
        {"type": "text", "text": "[4 earlier messages left out]\n\n"},
        *picture,
    ]


def test_a_tool_call_and_its_results_go_together():
    old = (said("user", "x" * 300), calls("a", "b"), result("a"), result("b"))
    asked = task(*old, *talk(1), calls("c"), result("c"))
    got = sent(asked, worker(260))
    assert got[1:] == asked.messages[-2:]
    assert text_of(got[0]).startswith("[4 earlier messages left out]\n\nturn 0")


def test_the_users_last_question_stays_while_its_tool_calls_go():
    asked = task(
        said("user", "What is it all together?"),
        *(m for n in range(20) for m in (calls(f"c{n}"), result(f"c{n}", "9" * 90))),
    )
    got = sent(asked, worker(300))
    assert text_of(got[0]).endswith("What is it all together?")
    assert got[-1] == asked.messages[-1]
    assert [m["role"] for m in got[:3]] == ["user", "assistant", "tool"]


def test_what_no_cut_makes_fit_is_sent_whole():
    asked = task(*talk(3, size=9000))
    assert sent(asked, worker(1000)) == asked.messages


def test_a_prompt_without_a_conversation_is_never_cut():
    asked = Task("x" * 9000)
    assert text_of(sent(asked, worker(1000))[0]) == asked.prompt


def test_a_step_of_a_plan_reads_the_cut_conversation_as_its_question():
    asked = task(said("system", "Be brief."), *talk(40))
    plan = make_plan(("a", ()), ("a", (0,)))
    [message] = cut_messages(asked, plan, 1, {0: "an answer"}, worker(2000))
    text = text_of(message)
    assert "turn 0 " not in text and "turn 39 " in text and "an answer" in text
    assert "<question>\nBe brief.\n\nUser: [" in text
    assert estimate_input((message,)) + 100 <= 2000


def test_only_the_last_step_needs_room_for_tools():
    many = tuple({**TOOL, "n": n} for n in range(60))
    asked = task(*talk(8), tools=many)
    plan = make_plan(("a", ()), ("a", ()))
    inner = cut_messages(asked, plan, 0, {}, worker(2000))
    last = cut_messages(asked, plan, 1, {}, worker(2000))
    assert not LEFT_OUT.search(text_of(inner[0]))
    assert LEFT_OUT.search(text_of(last[0]))


# --- for every conversation ----------------------------------------------------------


@st.composite
def conversations(draw: st.DrawFn) -> Messages:
    messages: list[Message] = []
    for number in range(draw(st.integers(0, 12))):
        kind = draw(st.sampled_from(["user", "user", "assistant", "system", "tools"]))
        text = "x" * draw(st.sampled_from([0, 3, 30, 300]))
        if kind != "tools":
            messages.append(said(kind, f"{number}{text}"))
            continue
        ids = [f"c{number}-{n}" for n in range(draw(st.integers(1, 3)))]
        messages += [calls(*ids), *(result(i, f"{i}{text}") for i in ids)]
    return (*messages, said(draw(st.sampled_from(["user", "assistant"])), "the end"))


def original(message: Message) -> Message:
    """Return a message without the line that may have been put before its text."""
    return {**message, "content": LEFT_OUT.sub("", text_of(message), 1).lstrip("\n")}


def bare(messages: Messages) -> list[Message]:
    """Return messages without a line about others, which may be all of one."""
    cleared = map(original, messages)
    return [m for m in cleared if m["content"] or m.get("tool_calls")]


@settings(max_examples=300)
@given(conversations(), st.integers(40, 1500))
def test_a_cut_keeps_what_it_promises(messages, limit):
    kept = cut_to_fit(messages, lambda m: estimate_input(m) <= limit)
    if kept is None or kept == messages:
        assert (kept is None) == (estimate_input(messages) > limit)
        return
    assert estimate_input(kept) <= limit
    [said_count] = [int(n) for m in kept for n in LEFT_OUT.findall(text_of(m))]
    left = bare(kept)
    assert said_count == len(messages) - len(left) > 0
    places = [messages.index(m) for m in left]
    assert places == sorted(places), "nothing changes its place"
    assert messages[-1] in left
    assert [m for m in messages if m["role"] == "system" and m not in left] == []
    users = [m for m in messages if m["role"] == "user"]
    assert not users or users[-1] in left


@settings(max_examples=300)
@given(conversations(), st.integers(40, 1500))
def test_after_a_cut_no_call_is_without_its_results(messages, limit):
    kept = cut_to_fit(messages, lambda m: estimate_input(m) <= limit) or messages
    made = {c["id"] for m in kept for c in m.get("tool_calls", ())}
    answered = {m["tool_call_id"] for m in kept if m["role"] == "tool"}
    assert made == answered


@settings(max_examples=200)
@given(conversations(), st.integers(40, 1500))
def test_no_more_is_left_out_than_need_be(messages: Messages, limit: int) -> None:
    tried: list[Messages] = []

    def fit(candidate: Messages) -> bool:
        tried.append(candidate)
        return estimate_input(candidate) <= limit

    kept = cut_to_fit(messages, fit)
    if kept is None or kept == messages:
        return
    stayed = [original(m) for m in kept]
    longer = [m for m in map(bare, tried) if len(m) > len(bare(kept))]
    extra = [m for m in min(longer, key=len) if m not in stayed]
    assert len([m for m in extra if m["role"] != "tool"]) == 1


@settings(max_examples=100)
@given(conversations(), st.integers(100, 3000), st.integers(0, 1))
def test_a_worker_gets_what_fits_or_everything(messages, context, index):
    asked = task(*messages)
    plan = make_plan(("a", ()), ("a", (0,))) if index else direct(asked)
    small = worker(context, accepts_images=True)
    got = cut_messages(asked, plan, index, {0: "r"}, small)
    whole = worker_messages(asked, plan, index, {0: "r"}, replace(small))
    assert fits(got, small, None) or got == whole
    assert not fits(whole, small, None) or got == whole
