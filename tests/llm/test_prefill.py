"""Going on from the beginning of an answer: nothing is repeated, nothing is lost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from apps.llm.prefill import prepare
from apps.llm.types import ChatRequest, Delta, ToolCallDelta

USER = {"role": "user", "content": "Hi"}


def begun(content: str) -> ChatRequest:
    assistant = {"role": "assistant", "content": content}
    return ChatRequest([USER, assistant], is_continued=True)


def follow(beginning: str, *texts: str) -> str:
    _, continuation = prepare(begun(beginning))
    deltas = [continuation.follow(Delta(text)) for text in texts]
    return "".join(delta.text for delta in deltas if delta)


def test_request_that_is_not_continued_stays_as_it_is():
    request = ChatRequest([USER, {"role": "assistant", "content": "Hello "}])
    assert prepare(request)[0] is request


def test_beginning_without_white_space_stays_as_it_is():
    request, _ = prepare(begun("Hello"))
    assert request.messages[-1]["content"] == "Hello"
    assert request.is_continued


def test_content_in_parts_stays_as_it_is():
    parts = [{"type": "text", "text": "Hello "}]
    request = ChatRequest([{"role": "assistant", "content": parts}], is_continued=True)
    assert prepare(request)[0] is request


def test_beginning_of_white_space_alone_is_no_beginning():
    request, _ = prepare(begun(" \n"))
    assert request.messages == (USER,)
    assert not request.is_continued


def test_white_space_that_comes_again_is_left_out():
    assert follow("One.\n\n", "\n", "\nTwo") == "Two"


def test_more_white_space_than_before_is_kept():
    assert follow("One.\n", "\n\nTwo") == "\nTwo"


def test_other_white_space_is_kept():
    assert follow("One. ", "\n ", " Two") == "\n  Two"


def test_white_space_later_is_kept():
    assert follow("One. ", "Two", " ", "three") == "Two three"


def test_thinking_and_calls_pass():
    _, continuation = prepare(begun("One. "))
    call = (ToolCallDelta(0, "c", "f"),)
    assert continuation.follow(Delta(" ", "hm")) == Delta("", "hm")
    assert continuation.follow(Delta(tool_calls=call)) == Delta(tool_calls=call)


@given(
    st.text(alphabet=" \nab", min_size=1), st.text(alphabet=" \nab"), st.integers(0, 9)
)
def test_the_whole_is_what_the_model_wrote(said: str, whole: str, size: int):
    """A model that goes on from the trimmed text makes the text that was to be."""
    if not whole.startswith(said):
        whole = said + whole
    rest = whole[len(said.rstrip()) :]
    pieces = [rest[i : i + size + 1] for i in range(0, len(rest), size + 1)]
    assert said + follow(said, *pieces) == whole
