"""The policy of a team by command: set from a file, printed."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from apps.audit.selectors import entry_list
from apps.governance.models import PolicyVersion
from apps.governance.selectors import policy_newest
from tests.conftest import Cast
from tests.governance.test_fail_closed import UNREADABLE
from tests.governance.test_policies import DENY_FALCON
from tests.rest.conftest import member

DOCUMENT: dict[str, Any] = {"rules": [DENY_FALCON]}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "policy.json"
    path.write_text(json.dumps(DOCUMENT))
    return path


def policy_set(file: Path, *options: str, team: str = "orchestra") -> str:
    told = StringIO()
    call_command("policy_set", str(file), "--team", team, *options, stdout=told)
    return told.getvalue()


def policy_show(team: str = "orchestra") -> tuple[Any, str]:
    """Return the rules that are printed, and what is said beside them."""
    shown, told = StringIO(), StringIO()
    call_command("policy_show", "--team", team, stdout=shown, stderr=told)
    return json.loads(shown.getvalue()), told.getvalue()


def test_the_command_sets_and_shows_the_rules_of_one_team(
    cast: Cast, file: Path
) -> None:
    assert policy_show() == ({"rules": []}, "policy of team orchestra, version 0\n")
    assert policy_set(file) == "policy of team orchestra, version 1\n"
    shown, told = policy_show()
    assert shown == DOCUMENT
    assert told == "policy of team orchestra, version 1, the operator\n"
    assert member(cast.alice).get("policy/").json()["rules"] == [DENY_FALCON]
    assert policy_newest(cast.other_team.id) is None


def test_the_change_is_recorded_as_the_operator_s(cast: Cast, file: Path) -> None:
    policy_set(file)
    (entry,) = entry_list(cast.team.id, subject_id=cast.team.id)[-1:]
    assert (entry.action, entry.actor.display) == ("policy.updated", "the operator")
    assert entry.data["after"] == DOCUMENT


def test_what_is_printed_can_be_set_again(cast: Cast, file: Path) -> None:
    policy_set(file)
    shown, _ = policy_show()
    file.write_text(json.dumps(shown))
    assert policy_set(file) == "policy of team orchestra, version 1\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"rules": [', "not valid JSON"),
        ("[]", "must be a JSON object"),
        ('{"rules": [{"name": "R", "effect": {"kind": "explode"}}]}', "the kind to be"),
    ],
)
def test_the_command_says_what_is_wrong_with_a_file(
    cast: Cast, file: Path, text: str, words: str
) -> None:
    file.write_text(text)
    with pytest.raises(CommandError, match=words):
        policy_set(file)
    assert policy_newest(cast.team.id) is None


def test_the_commands_name_a_team_or_file_that_is_not_there(
    cast: Cast, file: Path
) -> None:
    with pytest.raises(CommandError, match="there is no team 'nobody'"):
        policy_set(file, team="nobody")
    with pytest.raises(CommandError, match="there is no team 'nobody'"):
        policy_show("nobody")
    with pytest.raises(CommandError, match="cannot read"):
        policy_set(file.with_name("nothing.json"))


def test_a_version_that_has_passed_is_refused(cast: Cast, file: Path) -> None:
    policy_set(file, "--if-version", "0")
    file.write_text('{"rules": []}')
    with pytest.raises(CommandError, match="at version 1 by now, not at 0"):
        policy_set(file, "--if-version", "0")


def test_a_version_that_cannot_be_read_is_printed_and_replaced(
    cast: Cast, file: Path
) -> None:
    PolicyVersion.objects.create(team=cast.team, version=2, document=UNREADABLE)
    assert policy_show()[0] == UNREADABLE
    assert policy_set(file) == "policy of team orchestra, version 3\n"
