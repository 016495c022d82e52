"""G12 with real processes: what a site leaves shows what was done to its ledger."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.operations.processes import PATIENCE_S, ROOT, Home, question

CUT = """
import django
django.setup()
from apps.audit.models import ChainHead
from tests.audit.tampering import cut_tail, remove_checkpoints
head = ChainHead.objects.get()
cut_tail(head.team_id, head.seq)
remove_checkpoints(head.team_id)
"""


@pytest.fixture
def home(tmp_path: Path, models_url: str) -> Home:
    return Home(tmp_path, models_url)


def test_g12_the_copies_of_a_site_show_that_its_ledgers_tail_was_cut(home):
    with home.serving() as process, home.client(process.url) as client:
        answer = client.post("/v1/chat/completions", json=question("Say ok"))
        assert answer.status_code == 200
        process.ask_to_stop()
        assert process.ended() == 0
    (copies,) = Path(home.environment["CONDUCTOR_VAR_DIR"], "checkpoints").iterdir()
    compare = ["manage.py", "audit_verify", "--checkpoints", str(copies)]
    assert "1 chain holds" in home.python(*compare)
    home.python("-c", CUT, DJANGO_SETTINGS_MODULE="conductor_site.settings")
    assert "1 chain holds" in home.python("manage.py", "audit_verify")
    refused = subprocess.run(
        [sys.executable, *compare],
        cwd=ROOT,
        env=home.environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert refused.returncode == 1
    assert "FAULT tail_missing at seq" in refused.stderr
    assert f"of {copies}" in refused.stderr
