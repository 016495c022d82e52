"""Placeholders take the place of sensitive data, and lead back to it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.governance.sensitive_data.detection import KINDS
from apps.governance.sensitive_data.redaction import Redactor

IBAN = "DE89 3704 0044 0532 0130 00"
TEXT = f"Pay {IBAN} for ana@example.org, then {IBAN} again; ask bob@example.org."


def test_the_same_value_has_the_same_placeholder_in_every_text() -> None:
    redactor = Redactor((TEXT,))
    assert redactor.redact(TEXT, KINDS) == (
        "Pay [IBAN_1] for [EMAIL_1], then [IBAN_1] again; ask [EMAIL_2]."
    )
    assert redactor.redact("bob@example.org", KINDS) == "[EMAIL_2]"


def test_only_the_wanted_kinds_are_replaced() -> None:
    assert "ana@example.org" in Redactor((TEXT,)).redact(TEXT, ("iban",))


def test_a_placeholder_of_the_prompt_is_not_taken_for_ours() -> None:
    text = f"[IBAN_1] is how I write {IBAN}"
    redactor = Redactor((text,))
    redacted = redactor.redact(text, KINDS)
    assert redacted == "[IBAN_1] is how I write [IBAN_2]"
    assert redactor.restore(redacted) == text
    assert redactor.restore("[EMAIL_7]") == "[EMAIL_7]"


def test_all_texts_of_a_conversation_are_redacted_and_images_are_not() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    call = {
        "id": "1",
        "type": "function",
        "function": {"name": "pay", "arguments": json.dumps({"to": IBAN})},
    }
    messages = (
        {"role": "system", "content": f"Never show {IBAN}"},
        {"role": "user", "content": [{"type": "text", "text": IBAN}, image]},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": f"{IBAN} is paid"},
    )
    redacted = Redactor((TEXT,)).redact_messages(messages, KINDS)  # type: ignore[arg-type]
    assert IBAN not in json.dumps(redacted)
    assert redacted[1]["content"][1] == image
    assert messages[0]["content"] == f"Never show {IBAN}"


def test_values_are_escaped_where_they_go_back_into_json() -> None:
    redactor = Redactor(())
    secret = 'pa\\ss"9Zx'
    made = redactor._placeholder("secret", secret)
    restored = redactor.restore(json.dumps({"key": made}), in_json=True)
    assert json.loads(restored) == {"key": secret}


@given(
    st.lists(st.sampled_from([IBAN, "a@b.de", "[IBAN_1]", "[EMAIL_2]", "x", " ", "."]))
)
def test_what_is_redacted_and_restored_is_as_before(parts: list[str]) -> None:
    text = " ".join(parts)
    redactor = Redactor((text,))
    assert redactor.restore(redactor.redact(text, KINDS)) == text


@pytest.mark.parametrize(
    ("arguments", "redacted"),
    [
        ('"\\u0061na@example.org"', '"[EMAIL_1]"'),
        ('{"a":"\\u0061na@example.org","a":"x"}', '{"a":"x"}'),
        ('{"a":"x", "b":"\\u0061"}', '{"a":"x", "b":"\\u0061"}'),
        ("to ana@example.org {", "to [EMAIL_1] {"),
    ],
)
def test_no_form_of_arguments_hides_anything(arguments: str, redacted: str) -> None:
    function = {"name": "find", "arguments": arguments}
    call = {"id": "1", "type": "function", "function": function}
    message: Any = {"role": "assistant", "content": "", "tool_calls": [call]}
    (found,) = Redactor(()).redact_messages((message,), KINDS)
    assert found["tool_calls"][0]["function"]["arguments"] == redacted
