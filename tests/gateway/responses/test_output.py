"""What is sent of an answer adds up to the answer, in whatever order it arrives."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.engine.ports import ToolCallDelta, ToolCallPart
from apps.gateway.output import AnswerParts, Diverged, OutputWriter
from apps.gateway.responses.events import EventWriter
from apps.gateway.responses.items import Item, ResponseItems

RUN = uuid.UUID("01890000-0000-7000-8000-000000000001")
TEXTS = st.text(st.sampled_from('ab "\n'), min_size=1, max_size=5)
ARGUMENTS = st.dictionaries(st.sampled_from("xyz"), st.integers(0, 99), max_size=3)


@st.composite
def arrivals(draw: st.DrawFn) -> tuple[str, list[ToolCallPart], list[Any]]:
    """Return an answer, its calls, and the pieces they arrive in, in some order."""
    texts = draw(st.lists(TEXTS, max_size=4))
    whole = [orjson.dumps(a).decode() for a in draw(st.lists(ARGUMENTS, max_size=3))]
    queues: list[list[Any]] = [list(texts)]
    for index, arguments in enumerate(whole):
        cut = draw(st.integers(0, len(arguments)))
        queues.append(
            [
                ToolCallDelta(index, "own", "tool", arguments[:cut]),
                ToolCallDelta(index, "", "", arguments[cut:]),
            ]
        )
    pieces = []
    while waiting := [queue for queue in queues if queue]:
        pieces.append(draw(st.sampled_from(waiting)).pop(0))
    kept = pieces[: draw(st.integers(0, len(pieces)))]
    calls: list[ToolCallPart] = [
        {"id": "", "type": "function", "function": {"name": "tool", "arguments": text}}
        for text in whole
    ]
    return "".join(texts), calls, kept


@given(arrivals())
def test_deltas_of_every_item_add_up_to_it(
    arrived: tuple[str, list[ToolCallPart], list[Any]],
) -> None:
    answer, calls, pieces = arrived
    output = _writer()
    sent = b"".join(map(_encoder(output), pieces))
    sent += output.finish(AnswerParts(answer, calls))
    items = [item.document() for item in output.items]
    said = [i["content"][0]["text"] for i in items if i["type"] == "message"]
    assert "".join(said).strip() == answer.strip()
    called = [i["arguments"] for i in items if i["type"] == "function_call"]
    assert called == [call["function"]["arguments"] for call in calls]
    _check_events(sent, items)


@given(arrivals(), st.data())
def test_no_more_than_one_item_is_open(
    arrived: tuple[str, list[ToolCallPart], list[Any]], data: st.DataObject
) -> None:
    answer, calls, pieces = arrived
    output = _writer()
    if data.draw(st.booleans()):
        output.progress("Plan: 1 step (a)\n")
    sent = b"".join(map(_encoder(output), pieces))
    sent += output.finish(AnswerParts(answer, calls))
    open_items: set[int] = set()
    for event in _events(sent):
        if event["type"] == "response.output_item.added":
            open_items.add(event["output_index"])
        elif event["type"] == "response.output_item.done":
            open_items.discard(event["output_index"])
        assert len(open_items) <= 1
    assert not open_items


def test_piece_of_a_closed_call_is_refused() -> None:
    output = _writer()
    output.call(ToolCallDelta(0, "own", "tool", "{}"))
    output.call(ToolCallDelta(1, "own", "tool", "{"))
    with pytest.raises(Diverged):
        output.call(ToolCallDelta(0, "", "", " "))


def test_abandoned_item_is_incomplete_and_never_done() -> None:
    output = _writer()
    sent = output.text("It is")
    output.abandon()
    assert b"done" not in sent
    assert output.items[0].document()["status"] == "incomplete"


def _writer() -> OutputWriter[Item]:
    return OutputWriter(ResponseItems(RUN, EventWriter()))


def _encoder(output: OutputWriter[Item]) -> Any:
    def tell(piece: Any) -> bytes:
        return output.text(piece) if isinstance(piece, str) else output.call(piece)

    return tell


def _events(sent: bytes) -> Iterator[dict[str, Any]]:
    for block in sent.split(b"\n\n"):
        if block:
            yield orjson.loads(block.split(b"\ndata: ", 1)[1])


def _check_events(sent: bytes, items: list[dict[str, Any]]) -> None:
    added: dict[int, str] = {}
    for event in _events(sent):
        place = event["output_index"]
        if event["type"] == "response.output_item.added":
            added[place] = ""
        elif event["type"].endswith(".delta"):
            added[place] += event["delta"]
        elif event["type"] == "response.output_item.done":
            assert event["item"] == items[place]
    texts = [i.get("arguments") or _text(i) for i in items]
    assert [added[place] for place in range(len(items))] == texts


def _text(item: dict[str, Any]) -> str:
    parts = item.get("content") or item.get("summary") or [{"text": ""}]
    text: str = parts[0]["text"]
    return text
