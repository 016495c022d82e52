"""The event stream parser: any framing, any split."""

from __future__ import annotations

import pytest

from apps.llm import bounds
from apps.llm.sse import SseParser, StreamTooLong

STREAM = (
    "\ufeffdata: one\n\n"
    ": a comment\n\n"
    "event: message\r\nid: 4\r\ndata: zwölf\r\ndata: zeilen 🙂\r\n\r\n"
    "data:no space\r\rdata\n\nretry: 5\n\n"
    "data: last\n\n"
).encode()
PAYLOADS = [b"one", "zwölf\nzeilen 🙂".encode(), b"no space", b"", b"last"]


def parse(*chunks: bytes) -> list[bytes]:
    parser = SseParser()
    return [payload for chunk in chunks for payload in parser.feed(chunk)]


def test_whole_stream_gives_every_payload():
    assert parse(STREAM) == PAYLOADS


@pytest.mark.parametrize("at", range(len(STREAM) + 1))
def test_split_in_two_gives_the_same_payloads(at: int):
    assert parse(STREAM[:at], STREAM[at:]) == PAYLOADS


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_small_chunks_give_the_same_payloads(size: int):
    chunks = [STREAM[i : i + size] for i in range(0, len(STREAM), size)]
    assert parse(*chunks) == PAYLOADS


def test_chunk_of_whole_events_gives_one_payload_each():
    assert parse(b"data: a\n\ndata: b\n\n") == [b"a", b"b"]


def test_event_of_two_lines_in_one_chunk_is_one_payload():
    assert parse(b"data: a\ndata: b\n\n") == [b"a\nb"]


def test_comment_between_events_in_one_chunk_is_dropped():
    assert parse(b"data: a\n\n: ping\n\ndata: b\n\n") == [b"a", b"b"]


def test_line_over_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(bounds, "MAX_EVENT_BYTES", 10)
    with pytest.raises(StreamTooLong):
        parse(b"data: 45", b"678901")


def test_event_of_many_lines_over_the_limit_is_refused(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(bounds, "MAX_EVENT_BYTES", 10)
    with pytest.raises(StreamTooLong):
        parse(*[b"data: 123\n"] * 4)


def test_many_short_events_stay_within_the_limit(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(bounds, "MAX_EVENT_BYTES", 10)
    assert parse(*[b"data: 1\r\n\r\n"] * 50) == [b"1"] * 50


@pytest.mark.parametrize(
    "line", [b"\n", b"\r\n", b": ping\n", b": ping\n\n", b"id: 1\n", b"event: a\n\n"]
)
def test_lines_that_never_bring_an_event_are_refused(
    monkeypatch: pytest.MonkeyPatch, line: bytes
):
    monkeypatch.setattr(bounds, "MAX_SILENT_EVENTS", 10)
    with pytest.raises(StreamTooLong):
        parse(*[line] * 11)


def test_lines_without_an_event_are_counted_anew_after_each_event(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(bounds, "MAX_SILENT_EVENTS", 10)
    assert parse(*[b": ping\n\n" * 4 + b"data: 1\n\n"] * 50) == [b"1"] * 50


def test_what_is_held_is_counted_until_the_event_ends():
    parser = SseParser()
    parser.feed(b"data: 12\ndata: 3")
    assert parser.held_bytes == len(b"data: 12\ndata: 3")
    parser.feed(b"\n\n")
    assert parser.held_bytes == 0


@pytest.mark.parametrize("tail", [b"data: x", b"data: x\n", b"data: x\r\n"])
def test_end_gives_the_unterminated_event(tail: bytes):
    parser = SseParser()
    parser.feed(tail)
    assert parser.end() == b"x"


def test_end_after_a_whole_event_gives_nothing():
    parser = SseParser()
    parser.feed(b"data: x\n\n")
    assert parser.end() is None
