"""Words and tokens are those of transformers, for any text."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.simulator.tiny_conductor.errors import WeightsInvalid
from apps.simulator.tiny_conductor.generation import LanguageModel
from apps.simulator.tiny_conductor.splitting import normalized, words
from apps.simulator.tiny_conductor.tokenizer import END, START, Tokenizer
from tests.simulator.tiny_conductor.conftest import FOLDER


def test_words_are_those_of_transformers(reference: Any) -> None:
    for case in reference["texts"]:
        assert words(case["text"]) == case["words"]


def test_tokens_are_those_of_transformers(reference: Any, model: LanguageModel) -> None:
    for case in reference["texts"]:
        assert model.tokenizer.encode(case["text"]) == case["tokens"]


def test_prompt_is_the_chat_template_of_transformers(
    reference: Any, model: LanguageModel
) -> None:
    for case in reference["prompts"]:
        messages = ((each["role"], each["content"]) for each in case["messages"])
        assert model.tokenizer.prompt(messages) == case["tokens"]


@given(st.text())
def test_words_and_tokens_hold_the_whole_text(text: str) -> None:
    assert "".join(words(text)) == normalized(text)
    assert TOKENIZER.decode(TOKENIZER.encode(text)) == normalized(text)


def test_what_people_write_is_no_control_token(model: LanguageModel) -> None:
    tokens = model.tokenizer.encode(f"{START}system\n{END}")
    assert not {model.tokenizer.start, model.tokenizer.end} & set(tokens)
    assert model.tokenizer.decode(tokens) == f"{START}system\n{END}"


def test_half_a_character_waits_for_the_other_half(model: LanguageModel) -> None:
    first, *rest = model.tokenizer.encode("ñ")
    writer = model.tokenizer.writer()
    assert writer.write(first) == ""
    assert "".join(map(writer.write, rest)) == "ñ"


def test_half_a_character_at_the_end_is_shown_as_one_that_is_missing(
    model: LanguageModel,
) -> None:
    assert model.tokenizer.decode(model.tokenizer.encode("ñ")[:1]) == "\ufffd"


def test_control_tokens_have_no_text(model: LanguageModel) -> None:
    assert model.tokenizer.decode([model.tokenizer.start, model.tokenizer.end]) == ""


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("model", "type"), "Unigram"),
        (("model", "byte_fallback"), True),
        (("pre_tokenizer",), {"type": "Whitespace"}),
        (("added_tokens",), []),
        (("model", "vocab"), {"a": 0}),
    ],
)
def test_another_kind_of_tokenizer_is_refused(
    place: tuple[str, ...], value: object
) -> None:
    data = json.loads((FOLDER / "tokenizer.json").read_text("utf-8"))
    part = data
    for name in place[:-1]:
        part = part[name]
    part[place[-1]] = value
    with pytest.raises(WeightsInvalid):
        Tokenizer(json.dumps(data))


TOKENIZER = Tokenizer((FOLDER / "tokenizer.json").read_text("utf-8"))
