"""G12 with real processes: what a site leaves shows what was done to its ledger."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.processes.python import python_run
from tests.processes.site import Home, question

pytestmark = pytest.mark.slow

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
    # The chain alone looks whole: what is left over is the row of its run.
    alone = refusal(home, "manage.py", "audit_verify")
    assert "FAULT" not in alone and "rows differ from the ledger" in alone
    compared = refusal(home, *compare)
    assert "FAULT tail_missing at seq" in compared
    assert f"of {copies}" in compared


def refusal(home: Home, *command: str) -> str:
    """Return what a command that fails complains of."""
    done = python_run(*command, environment=home.environment)
    assert done.returncode == 1
    return done.stderr
