"""G11: random trials of every kind of tampering with an export, each refused.

Five of each kind, and 100 in `make test-all`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tests.audit.bundles.alone import verify_alone
from tests.audit.bundles.forging import Files, Forgery, own_keys, signed, zipped
from tests.audit.bundles.trials import KINDS, Exports, exports
from tests.seeds import new_dice
from tests.tiers import trials

pytestmark = pytest.mark.django_db

FOREIGN = Ed25519PrivateKey.generate()


@pytest.fixture
def given() -> Iterator[Exports]:
    made = exports(new_dice())
    yield made
    untouched = Forgery(zipped(made.of_run), "", {"team": made.team})
    assert untouched.refusal() == "it holds"


@pytest.mark.parametrize("kind", KINDS)
def test_g11_every_trial_with_an_export_is_refused_by_place(
    given: Exports, kind: str
) -> None:
    for number in range(trials(5, exhaustive=100)):
        told = f"{kind}, trial {number}"
        given.dice = new_dice()
        changed, words = KINDS[kind](given)
        files: Files = {**given.of_run, **changed}
        is_replayed = changed is given.of_other_team
        made = files if is_replayed else signed(files)
        assert words in Forgery(zipped(made), words, given.options).refusal(), told
        foreign = Forgery(zipped(signed(files, key=FOREIGN)), "", given.options)
        assert foreign.refusal().startswith("manifest.txt: it is not signed"), told
        if not is_replayed:
            refusal = Forgery(zipped(files), "", given.options).refusal()
            assert refusal.partition(":")[0] in changed, told


def test_g11_the_verifier_alone_refuses_every_kind(
    given: Exports, tmp_path: Path
) -> None:
    (tmp_path / "site.pem").write_bytes(own_keys())
    for kind, tamper in KINDS.items():
        given.dice = new_dice()
        changed, words = tamper(given)
        files = {**given.of_run, **changed}
        made = files if changed is given.of_other_team else signed(files)
        options = [f"--{name}={value}" for name, value in given.options.items()]
        code, out = verify_alone(
            tmp_path, zipped(made), "--public-key", "site.pem", *options
        )
        assert (code, f"REFUSED {words}" in out) == (1, True), (kind, out)
