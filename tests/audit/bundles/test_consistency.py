"""A later checkpoint is proven to continue an earlier one, away from the product."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import uuid
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.core.management import CommandError, call_command

from apps.audit.bundles import verifier
from apps.audit.bundles.consistency import consistency_create
from apps.audit.bundles.verifier import is_beginning
from apps.audit.checkpoints.creation import checkpoints_create
from apps.audit.models import Checkpoint
from apps.audit.signing import public_pem
from apps.core.errors import Conflict
from tests.audit.bundles.consistency_forging import SIGNED, signed_team
from tests.audit.bundles.forging import own_keys
from tests.audit.examples import append, draft, execute
from tests.audit.merkle import naive
from tests.audit.tampering import rewrite

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def team() -> uuid.UUID:
    return signed_team()


def write(team: uuid.UUID, path: Path, old: int = 3, new: int = 12) -> str:
    out = io.StringIO()
    arguments = [f"--team={team}", f"--from={old}", f"--to={new}", f"--out={path}"]
    call_command("audit_consistency", *arguments, stdout=out)
    return out.getvalue()


def verify_alone(folder: Path, *options: str) -> tuple[int, str]:
    """Run the verifier in a folder that holds it and nothing of the product."""
    (folder / "verify.py").write_bytes(Path(verifier.__file__).read_bytes())
    done = subprocess.run(
        [sys.executable, "-I", "verify.py", *options],
        cwd=folder,
        capture_output=True,
        text=True,
        env={},
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_g12_proof_is_written_and_verified_alone(team, tmp_path):
    words = f"the signed tree of team {team} with 12 entries begins with that of 3"
    assert words in write(team, tmp_path / "proof.json")
    (tmp_path / "site.pem").write_bytes(own_keys())
    options = ("--consistency", "proof.json", "--public-key", "site.pem")
    code, out = verify_alone(tmp_path, *options, "--team", str(team))
    assert (code, words in out) == (0, True), out
    code, out = verify_alone(tmp_path, *options, "--team", str(uuid.uuid4()))
    assert (code, "REFUSED new: it is of another team" in out) == (1, True)
    code, out = verify_alone(tmp_path, "--consistency", "proof.json")
    assert (code, "the proof holds no key" in out) == (2, True)


def test_g12_notes_of_another_key_are_refused(team, tmp_path):
    write(team, tmp_path / "proof.json")
    foreign = public_pem(Ed25519PrivateKey.generate().public_key())
    (tmp_path / "other.pem").write_text(foreign)
    options = ("--consistency", "proof.json", "--public-key", "other.pem")
    code, out = verify_alone(tmp_path, *options)
    assert (code, "REFUSED old: it is not signed" in out) == (1, True)


@pytest.mark.parametrize("old", SIGNED)
@pytest.mark.parametrize("new", SIGNED)
def test_every_pair_of_checkpoints_has_a_proof(team, old, new):
    if old <= new:
        content, _ = consistency_create(team, old, new)
        assert set(json.loads(content)) == {"old", "new", "proof"}


def test_verifier_agrees_with_the_definition():
    data = [bytes([n]) for n in range(20)]
    for new in range(1, 21):
        for old in range(1, new + 1):
            roots = naive.root(data[:old]), naive.root(data[:new])
            proof = naive.subproof(old, data[:new], True)
            assert is_beginning(old, new, *roots, proof)
            assert not is_beginning(old, new, bytes(32), roots[1], proof)
            assert not is_beginning(old, new, roots[0], bytes(32), proof)
            assert not is_beginning(old, new, *roots, [*proof, bytes(32)])
            for place in range(len(proof)):
                shorter = [*proof[:place], *proof[place + 1 :]]
                assert not is_beginning(old, new, *roots, shorter)


def test_command_names_what_is_wrong(team, tmp_path):
    path = tmp_path / "proof.json"
    with pytest.raises(CommandError, match="no signed checkpoint with a root at 4"):
        write(team, path, 4)
    with pytest.raises(CommandError, match="checkpoint 12 is not before checkpoint 3"):
        write(team, path, 12, 3)
    path.write_text("")
    with pytest.raises(CommandError, match="exists"):
        write(team, path)


def test_g12_chain_that_was_rewritten_has_no_proof(team):
    rewrite(team, 2)
    with pytest.raises(Conflict, match="audit_verify says where"):
        consistency_create(team, 3, 12)


def test_g12_missing_entry_has_no_proof(team):
    execute("DELETE FROM audit_entry WHERE team_id = %s AND seq = 5", team)
    with pytest.raises(Conflict, match="cannot be made"):
        consistency_create(team, 3, 12)


def test_checkpoint_without_a_root_has_no_proof(team):
    Checkpoint.objects.for_team(team).filter(seq=3).update(root="")
    append(team, draft())
    checkpoints_create()
    with pytest.raises(CommandError, match="no signed checkpoint with a root at 3"):
        call_command(
            "audit_consistency",
            f"--team={team}",
            "--from=3",
            "--to=12",
            "--out=/dev/null/x",
        )
