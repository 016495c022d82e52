"""The export of a run proves itself, offline, and tells nothing of other runs."""

from __future__ import annotations

import ast
import io
import json
import sys
import types
import uuid
from collections.abc import Mapping
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.core.management import CommandError, call_command

from apps.audit.bundles import verifier
from apps.audit.models import Entry
from apps.audit.selectors import entry_list
from apps.audit.services import content_erase
from apps.audit.signing import public_pem
from apps.core.errors import Conflict, NotFound
from tests.audit.bundles.alone import run_verifier, verify_alone
from tests.audit.bundles.consistency_forging import (
    ConsistencyForgery,
    consistency_forgeries,
)
from tests.audit.bundles.forging import (
    RUNS,
    Forgery,
    export,
    forgeries,
    own_keys,
    signed,
    team_with_two_runs,
    unzipped,
    zipped,
)
from tests.audit.examples import ALICE, execute, place
from tests.audit.tampering import move_head, public_key, verify

pytestmark = pytest.mark.django_db(transaction=True)
SOURCE = Path(verifier.__file__).read_text()


@pytest.fixture
def team() -> uuid.UUID:
    return team_with_two_runs()


def test_export_verifies_away_from_the_product(team, tmp_path):
    code, out = verify_alone(tmp_path, export(team))
    assert code == 0, out
    assert f"verified: run {RUNS[0]} of team {team}" in out
    assert "3 entries, 6 texts, 0 erased" in out
    assert "compare the key with the one that the site has published" in out


def test_unpacked_export_verifies_in_its_folder(team, tmp_path):
    for name, content in unzipped(export(team)).items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "site.pem").write_bytes(public_key())  # no part of the export
    code, out = run_verifier(tmp_path, ".", "--public-key", "site.pem")
    assert code == 0, out
    assert f"verified: run {RUNS[0]} of team {team}" in out
    entries = (tmp_path / "entries.jsonl").read_bytes()
    (tmp_path / "entries.jsonl").write_bytes(
        entries.replace(b'"number":1', b'"number":9')
    )
    code, out = run_verifier(tmp_path, ".")
    assert (code, out.split(":")[0]) == (1, "REFUSED entries.jsonl")
    (tmp_path / "entries.jsonl").unlink()
    code, out = run_verifier(tmp_path, ".")
    assert (code, out.strip()) == (1, "REFUSED entries.jsonl: it is missing")


def test_folder_that_holds_no_export_is_refused(tmp_path):
    (tmp_path / "verify.py").write_text(SOURCE, "utf-8")
    code, out = run_verifier(tmp_path, ".")
    assert code == 1
    assert out.startswith("REFUSED archive: it cannot be read: ")
    assert "manifest.txt" in out
    assert "Traceback" not in out


def test_verifier_imports_nothing_but_the_library_and_cryptography():
    imports = [n for n in ast.walk(ast.parse(SOURCE)) if isinstance(n, ast.ImportFrom)]
    names = {str(node.module).partition(".")[0] for node in imports}
    names |= {
        alias.name
        for node in ast.walk(ast.parse(SOURCE))
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    assert names - sys.stdlib_module_names == {"cryptography"}


def test_published_key_is_believed_and_no_other(team, tmp_path):
    content = export(team)
    (tmp_path / "site.pem").write_bytes(public_key())
    code, out = verify_alone(tmp_path, content, "--public-key", "site.pem")
    assert (code, "compare the key" in out) == (0, False)
    other = public_pem(Ed25519PrivateKey.generate().public_key())
    (tmp_path / "other.pem").write_text(other)
    code, out = verify_alone(tmp_path, content, "--public-key", "other.pem")
    assert code == 1
    assert "REFUSED manifest.txt: it is not signed with the public key" in out


def test_export_holds_nothing_of_another_run_but_hashes(team):
    everything = b"".join(unzipped(export(team)).values())
    assert str(RUNS[0]).encode() in everything
    assert str(RUNS[1]).encode() not in everything
    others = entry_list(team, subject_id=RUNS[1])
    assert others
    assert not [e for e in others if str(e.id).encode() in everything]


def test_report_is_inert(team):
    report = unzipped(export(team))["report.html"].decode()
    assert "<script" not in report
    assert "&lt;script&gt;" in report
    assert "default-src &#x27;none&#x27;" in report or "default-src 'none'" in report


# --- what is refused -----------------------------------------------------------------


def all_forgeries(team: uuid.UUID) -> Mapping[str, Forgery | ConsistencyForgery]:
    """Return forgeries of exports and of proofs about checkpoints."""
    proofs = {f"proof: {name}": each for name, each in consistency_forgeries().items()}
    return {**forgeries(team, team_with_two_runs()), **proofs}


def test_every_forgery_is_refused_and_named(team):
    for name, forgery in all_forgeries(team).items():
        assert forgery.words in forgery.refusal(), name


def test_byte_changed_in_any_file_is_refused_and_named(team):
    files = unzipped(export(team))
    for name, content in files.items():
        for at in {0, len(content) // 2, len(content) - 2, len(content) - 1}:
            changed = bytearray(content)
            changed[at] ^= 1
            refusal = Forgery(zipped({**files, name: bytes(changed)}), "").refusal()
            assert refusal.startswith(f"{name}:"), (name, at, refusal)


@pytest.mark.parametrize("dropped", [0, 1, 2])
def test_dropped_entry_is_refused(team, dropped):
    files = unzipped(export(team))
    lines = files[verifier.ENTRIES].splitlines(keepends=True)
    del lines[dropped]
    proofs = json.loads(files[verifier.PROOFS])["entries"]
    seq = proofs.pop(dropped)["seq"]
    bodies = json.loads(files[verifier.BODIES])["bodies"]
    changed = {
        **files,
        verifier.ENTRIES: b"".join(lines),
        verifier.PROOFS: json.dumps({"entries": proofs}).encode(),
        verifier.BODIES: json.dumps(
            {"bodies": [body for body in bodies if body["seq"] != seq]}
        ).encode(),
    }
    assert Forgery(zipped(changed), "").refusal() != "it holds"
    assert "the manifest says 3" in Forgery(zipped(signed(changed)), "").refusal()


def test_export_signed_with_a_foreign_key_is_refused_even_with_its_key_in_it(team):
    key = Ed25519PrivateKey.generate()
    files = unzipped(export(team))
    files[verifier.PUBLIC_KEYS] = public_pem(key.public_key()).encode()
    forged = Forgery(zipped(signed(files, key=key)), "")
    assert "manifest.txt: it is not signed" in forged.refusal()
    forged.options["public_keys"] = None
    assert "checkpoint.txt: it is not signed" in forged.refusal()


def mutants() -> list[tuple[str, types.ModuleType]]:
    """Return the verifier without each of its checks and of its refusals."""
    made = []
    for number in range(len(checks(ast.parse(SOURCE)))):
        tree = ast.parse(SOURCE)
        check = checks(tree)[number]
        removed = f"line {check.lineno}: {ast.unparse(check)}"
        if isinstance(check, ast.Call):
            check.args[0] = ast.Constant(True)
        else:
            tree = WithoutRaise(check).visit(tree)
        made.append((removed, module_of(ast.unparse(ast.fix_missing_locations(tree)))))
    for name in ("_is_signature", "is_in_tree", "_is_body", "is_beginning"):
        module = module_of(SOURCE)
        setattr(module, name, lambda *_: True)
        made.append((name, module))
    return made


def checks(tree: ast.AST) -> list[ast.Call | ast.Raise]:
    """Return what demands something, and what refuses by itself."""
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Raise)
        or (isinstance(node, ast.Call) and ast.unparse(node.func) == "demand")
    ]


class WithoutRaise(ast.NodeTransformer):
    """Puts nothing in the place of one refusal."""

    def __init__(self, removed: ast.AST) -> None:
        self._removed = removed

    def visit_Raise(self, node: ast.Raise) -> ast.stmt:
        return ast.Pass() if node is self._removed else node


def module_of(source: str) -> types.ModuleType:
    module = types.ModuleType("mutant")
    exec(compile(source, "mutant", "exec"), module.__dict__)
    return module


def test_verifier_without_any_of_its_checks_accepts_a_forgery(team):
    cases = all_forgeries(team).values()
    found = mutants()
    assert len(found) > 30
    for removed, module in found:
        differing = [case for case in cases if case.words not in case.refusal(module)]
        assert differing, f"no forgery needs {removed}"


# --- what the site does ---------------------------------------------------------------


def test_erased_texts_are_exported_as_erased_and_verify(team):
    content_erase(
        team_id=team, places=[(1, "text")], actor=ALICE, reason="its time is over"
    )
    content = export(team)
    found = verifier.verify_bundle(io.BytesIO(content))
    assert (found.texts, found.erased) == (5, 1)
    files = unzipped(content)
    assert {"seq": 1, "name": "text", "salt": None, "text": None} in json.loads(
        files["bodies.json"]
    )["bodies"]
    assert b"has been erased" in files["report.html"]


def test_export_is_recorded_with_its_digest(team):
    export(team)
    entry = Entry.objects.for_team(team).latest("seq")
    assert entry.action == "run.exported"
    data = json.loads(bytes(entry.canonical))["data"]
    assert (data["run_id"], data["entries"]) == (str(RUNS[0]), 3)
    assert place(team) is None


def test_unknown_run_is_not_found(team):
    with pytest.raises(NotFound, match="no entries about"):
        export(team, uuid.uuid4())


def test_head_that_the_site_did_not_move_is_not_exported(team):
    move_head(team, 6, "sha256:" + "00" * 32)
    with pytest.raises(Conflict, match="audit_verify says why"):
        export(team)


def test_changed_entry_is_not_exported_as_if_it_were_recorded(team):
    stored = bytes(Entry.objects.for_team(team).get(seq=3).canonical)
    execute(
        "UPDATE audit_entry SET canonical = %s WHERE team_id = %s AND seq = 3",
        stored.replace(b'"display":"Alice"', b'"display":"Malory"'),
        team,
    )
    with pytest.raises(Conflict, match=r"does not verify: entries\.jsonl seq 3"):
        export(team)


NO_ENTRIES = {
    "nothing": b"{}",
    "a list": b"[]",
    "texts alone": b'{"bodies":{}}',
    "a text without a digest": b'{"bodies":{"text":{}}}',
    "texts that are a list": b'{"bodies":["text"]}',
}
"""Valid JSON that somebody put in the place of an entry."""


@pytest.mark.parametrize("said", NO_ENTRIES.values(), ids=NO_ENTRIES)
def test_what_is_no_entry_is_not_exported_and_is_named(team, said):
    execute(
        "UPDATE audit_entry SET canonical = %s WHERE team_id = %s AND seq = 3",
        said,
        team,
    )
    with pytest.raises(Conflict, match=f"entry 3 of team {team} is not readable"):
        export(team)
    newest = Entry.objects.for_team(team).latest("seq")
    assert newest.action == "audit.verified"
    facts = json.loads(bytes(newest.canonical))["data"]
    assert [fault["seq"] for fault in facts["faults"]] == [3]


# --- commands ------------------------------------------------------------------------


def test_commands_export_and_verify(team, tmp_path):
    path = tmp_path / "run.zip"
    out = io.StringIO()
    call_command("audit_export", "--run", str(RUNS[1]), "--out", str(path), stdout=out)
    assert "3 entries, 6 texts, 0 erased" in out.getvalue()
    told, err = verify("--bundle", path, "--team", team, "--run", RUNS[1])
    assert (f"verified: run {RUNS[1]}" in told, err) == (True, "")
    (tmp_path / "site.pem").write_bytes(own_keys())
    assert verify("--bundle", path, "--public-key", tmp_path / "site.pem")[1] == ""
    assert (
        "REFUSED manifest.txt: it is of another team"
        in (verify("--bundle", path, "--team", uuid.uuid4())[1])
    )
    path.write_bytes(path.read_bytes()[:-100])
    assert "REFUSED archive: it cannot be read" in verify("--bundle", path)[1]


def test_command_overwrites_no_file_and_names_an_unknown_run(team, tmp_path):
    path = tmp_path / "run.zip"
    path.write_bytes(b"")
    with pytest.raises(CommandError, match="exists"):
        call_command("audit_export", "--run", str(RUNS[0]), "--out", str(path))
    with pytest.raises(CommandError, match="no entries about"):
        call_command(
            "audit_export", "--run", str(uuid.uuid4()), "--out", str(tmp_path / "x")
        )
