"""From messages to one prompt."""

from __future__ import annotations

import pytest

from apps.gateway.conversation import Turn, compose_prompt

SYSTEM = Turn("system", "Be brief.")
DEVELOPER = Turn("developer", "Use English.")
HI = Turn("user", "Hi")
HELLO = Turn("assistant", "Hello")
BYE = Turn("user", "Bye")


@pytest.mark.parametrize(
    ("turns", "prompt"),
    [
        ([Turn("user", " Hi\n\n ")], " Hi\n\n "),
        ([SYSTEM, HI], "Be brief.\n\nHi"),
        ([HI, SYSTEM], "Be brief.\n\nHi"),
        ([SYSTEM, HI, DEVELOPER], "Be brief.\n\nUse English.\n\nHi"),
        ([HI, HELLO, BYE], "User: Hi\n\nAssistant: Hello\n\nUser: Bye"),
        (
            [SYSTEM, HI, HELLO, BYE],
            "Be brief.\n\nUser: Hi\n\nAssistant: Hello\n\nUser: Bye",
        ),
        ([HI, BYE], "User: Hi\n\nUser: Bye"),
        ([HI, HELLO], "User: Hi\n\nAssistant: Hello"),
        ([Turn("system", ""), HI], "Hi"),
    ],
)
def test_messages_become_one_prompt(turns: list[Turn], prompt: str) -> None:
    assert compose_prompt(turns) == prompt
