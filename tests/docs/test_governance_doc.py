"""docs/governance.md says how exports are verified, and its verifier does it."""

from __future__ import annotations

import io
import json
import uuid
import zipfile
from collections.abc import Callable
from typing import Any

import pytest

from apps.audit.bundles import verifier
from apps.audit.services import content_erase
from tests.audit.bundles.forging import (
    RUNS,
    Files,
    Forgery,
    export,
    export_of_filter,
    forgeries,
    own_keys,
    signed,
    team_with_two_runs,
    unzipped,
    zipped,
)
from tests.audit.examples import ALICE
from tests.docs.reading import run, snippets

pytestmark = pytest.mark.django_db(transaction=True)
ACTION = "step.number_2"
Change = Callable[[Any], object]


@pytest.fixture
def team() -> uuid.UUID:
    return team_with_two_runs()


@pytest.fixture(scope="module")
def verify() -> Callable[[bytes], tuple[str, str, int]]:
    """The printed verifier, with the public keys of this site."""
    code, _ = snippets("docs/governance.md", "python")
    function: Any = run(code, "second")["verify"]
    return lambda content: function(io.BytesIO(content), own_keys())


def test_printed_verifier_accepts_the_export_of_a_run(team, verify):
    assert verify(export(team)) == (str(team), str(RUNS[0]), 3)


@pytest.mark.parametrize("texts", [True, False])
def test_printed_verifier_accepts_the_export_of_a_filter(team, verify, texts):
    found = verify(export_of_filter(team, action=ACTION, texts=texts))
    assert found == (str(team), '{"action":"step.number_2"}', 2)


def test_printed_verifier_accepts_a_filter_that_finds_nothing(team, verify):
    _, _, entries = verify(export_of_filter(team, action="no.such", texts=True))
    assert entries == 0


def test_printed_verifier_accepts_erased_texts(team, verify):
    content_erase(team_id=team, places=[(1, "text")], actor=ALICE, reason="its time")
    assert verify(export(team))[2] == 3
    content = export_of_filter(team, action="step.number_1", texts=True)
    assert b'"text":null' in unzipped(content)[verifier.BODIES]
    assert verify(content)[2] == 2


def test_printed_verifier_refuses_every_forgery(team, verify):
    """Those apart that are of another team or run, or of a limit of the test's own."""
    cases = forgeries(team, team_with_two_runs())
    own = {name: each for name, each in cases.items() if not each.options}
    del own["too large"]
    assert len(own) > 15
    for name, forgery in own.items():
        assert is_refused(verify, forgery.content), name


# --- filters -------------------------------------------------------------------------


def in_list(name: str, part: str, change: Change) -> Callable[[Files], Files]:
    """Return what changes a list in a file of JSON."""

    def changed(files: Files) -> Files:
        document = json.loads(files[name])
        change(document[part])
        return {**files, name: json.dumps(document).encode()}

    return changed


def replaced(name: str, old: bytes, new: bytes) -> Callable[[Files], Files]:
    def changed(files: Files) -> Files:
        assert old in files[name]
        return {**files, name: files[name].replace(old, new, 1)}

    return changed


FORGERIES: dict[str, Callable[[Files], Files]] = {
    "entry changed": replaced(verifier.ENTRIES, b"Alice", b"Mally"),
    "entry dropped": lambda files: {
        **in_list(verifier.PROOFS, "entries", lambda found: found.pop())(files),
        verifier.ENTRIES: files[verifier.ENTRIES].splitlines(keepends=True)[0],
    },
    "proof of another entry": in_list(
        verifier.PROOFS, "entries", lambda found: found[0].update(path=found[1]["path"])
    ),
    "text changed": in_list(
        verifier.BODIES, "bodies", lambda found: found[0].update(text="other")
    ),
    "text dropped": in_list(verifier.BODIES, "bodies", lambda found: found.pop()),
    "texts denied": replaced(verifier.MANIFEST, b"texts yes", b"texts no"),
    "texts unsaid": replaced(verifier.MANIFEST, b"texts yes\n", b""),
    "passed off as of a run": replaced(
        verifier.MANIFEST,
        b'filter {"action":"step.number_2"}\ntexts yes',
        f"run {RUNS[0]}".encode(),
    ),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_both_verifiers_refuse_forgeries_of_a_filter(team, verify, name):
    """Signed with the site's key: what is refused is what the files say."""
    files = unzipped(export_of_filter(team, action=ACTION, texts=True))
    content = zipped(signed(FORGERIES[name](files)))
    assert Forgery(content, "").refusal() != "it holds"
    assert is_refused(verify, content)


def test_both_verifiers_refuse_texts_where_there_should_be_none(team, verify):
    files = unzipped(export_of_filter(team, action=ACTION, texts=False))
    full = unzipped(export_of_filter(team, action=ACTION, texts=True))
    content = zipped(signed({**files, verifier.BODIES: full[verifier.BODIES]}))
    assert "no entry has these texts" in Forgery(content, "").refusal()
    assert is_refused(verify, content)


def is_refused(verify: Callable[[bytes], object], content: bytes) -> bool:
    """Say whether the printed verifier stops; it names what it compares itself."""
    try:
        verify(content)
    except SystemExit as exc:
        return str(exc).startswith("REFUSED ")
    except (zipfile.BadZipFile, ValueError, TypeError):
        return True  # what is not of the form: no archive, no number, no salt
    return False
