"""docs/ledger.md says what the ledger is, and its verifier works as printed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import orjson
import pytest
from cryptography.exceptions import InvalidSignature
from django.db import connection

from apps.audit.chain import FaultKind
from apps.audit.models import ChainHead, Entry
from apps.audit.storage.compression import DICTIONARY
from tests.audit.examples import append, chain_of, draft, execute
from tests.audit.tampering import copied_lines, cut_tail, public_key
from tests.docs.reading import page, run, snippets

DOC = "docs/ledger.md"

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(
        connection.vendor != "sqlite", reason="the printed verifier reads SQLite"
    ),
]


@pytest.fixture
def verify() -> Callable[[], dict[UUID, tuple[int, str]]]:
    """The printed verifier, on this test's database."""
    code, _ = snippets(DOC, "python")
    function: Any = run(code, "verify")["verify"]
    return lambda: function(connection.settings_dict["NAME"], DICTIONARY)


def test_printed_verifier_accepts_chains_and_names_their_ends(verify):
    teams = [chain_of(5), chain_of(3)]
    heads = ChainHead.objects.filter(team_id__in=teams)
    assert verify() == {h.team_id: (h.seq, h.hash) for h in heads}


@pytest.mark.parametrize(
    "tampering",
    [
        "UPDATE audit_entry SET canonical = CAST('{}' AS BLOB) WHERE seq = 3",
        "UPDATE audit_entry SET hash = 'sha256:00' WHERE seq = 3",
        "DELETE FROM audit_entry WHERE seq = 3",
    ],
)
def test_printed_verifier_finds_the_entry_that_was_touched(verify, tampering):
    chain_of(5)
    execute(tampering)
    with pytest.raises(SystemExit, match="entry 3 is not what was recorded"):
        verify()


def test_printed_verifier_finds_a_tail_that_was_cut(verify):
    chain_of(5)
    execute("DELETE FROM audit_entry WHERE seq = 5")
    with pytest.raises(SystemExit, match="does not end where its head says"):
        verify()


def test_printed_comparison_needs_the_public_key_and_the_copies_alone(tmp_path):
    """G12, for whoever has none of our code."""
    team_id = chain_of(5)
    lines, key = copied_lines(), public_key()
    _, code = snippets(DOC, "python")
    compare: Any = run(code, "compare")["compare"]
    compare(connection.settings_dict["NAME"], key, lines)
    with pytest.raises(InvalidSignature):
        compare(
            connection.settings_dict["NAME"],
            key,
            [line.replace("\\n5\\n", "\\n4\\n") for line in lines],
        )
    cut_tail(team_id, 5)
    with pytest.raises(SystemExit, match="entry 5 is not what was signed"):
        compare(connection.settings_dict["NAME"], key, lines)


def test_every_kind_of_fault_is_explained():
    rows = page(DOC)
    assert [kind for kind in FaultKind if f"| `{kind}` |" not in rows] == []


def test_example_has_the_keys_of_an_entry():
    team_id = chain_of(1)
    append(team_id, draft())
    canonical = Entry.objects.for_team(team_id).get(seq=2).canonical
    (example,) = snippets(DOC, "json")
    printed = orjson.loads(example)
    assert printed.keys() == orjson.loads(bytes(canonical)).keys()
    assert [key for key in printed if f"| `{key}` |" not in page(DOC)] == []
