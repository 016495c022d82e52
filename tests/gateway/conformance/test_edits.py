"""aider applies the edits that a run answers with, rescued or not (D2)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from apps.audit.selectors import entry_list
from apps.simulator.reply import cut
from tests.conftest import Site
from tests.gateway.conformance.environments import installed, run_shell
from tests.gateway.conformance.pages import FOLDER, read

AIDER = read(FOLDER / "aider.md")
BEFORE = 'print("hello")\n'
AFTER = 'print("hello")\nprint("again")\n'
"""An edit that shows if it is applied a second time."""
EDIT = f"""greet.py
```python
<<<<<<< SEARCH
{BEFORE}=======
{AFTER}>>>>>>> REPLACE
```
"""
FENCE_OPENED, EDIT_HALF_SAID, LAST_LINE_LEFT = (
    len(cut(EDIT[: EDIT.index(mark)])) for mark in ("<<<", "again", "\n```\n")
)
"""Tokens after which the answer breaks off."""
FAULTS = {"cut": "incomplete", "cut-quiet": "incomplete", "error": "server_error"}
pytestmark = pytest.mark.skipif(
    not installed(AIDER), reason="`make test-clients` installs it"
)


def _question(worker: int) -> str:
    # The plan ends with the first ">>", so those of the edit are spelled out.
    subtask = json.dumps(f"[[say {EDIT}]]").replace(">", "\\u003e")
    return (
        f"Greet once more.\n<<plan\n"
        f"model_id = [{worker}]\nsubtasks = [{subtask}]\naccess_list = [[]]\n>>"
    )


def _edit(site: Site, folder: Path, *, worker: str, stream: str) -> tuple[str, str]:
    """Let aider ask for the edit; return what it shows and what the file holds."""
    site.set_conductor("scripted-conductor")
    pool = site.cast.team.pools.get(is_default=True)
    names = list(pool.places.values_list("worker__name", flat=True))
    greeting = folder / "greet.py"
    greeting.write_text(BEFORE)
    (folder / "question").write_text(_question(names.index(worker)))
    shown = run_shell(
        AIDER,
        f"aider --no-git --no-pretty --yes-always --edit-format diff {stream} "
        f"--model openai/conductor-ultra --no-show-model-warnings "
        f"--openai-api-base {site.api_url} --openai-api-key {site.key} "
        f"--message-file question greet.py",
        folder,
    )
    return shown, greeting.read_text()


def _recorded(site: Site, action: str) -> list[dict[str, Any]]:
    entries = entry_list(site.cast.team.id)
    return [dict(entry.data) for entry in entries if entry.action == action]


@pytest.mark.parametrize("stream", ["--stream", "--no-stream"])
def test_aider_applies_the_edits_that_a_run_answers(
    site: Site, tmp_path: Path, stream: str
) -> None:
    site.add_worker("scripted")
    shown, held = _edit(site, tmp_path, worker="scripted", stream=stream)
    assert shown.count("Applied edit to greet.py") == 1
    assert held == AFTER


@pytest.mark.parametrize("goes_on", [True, False])
@pytest.mark.parametrize("tokens", [FENCE_OPENED, EDIT_HALF_SAID, LAST_LINE_LEFT])
@pytest.mark.parametrize("way", ["cut", "cut-quiet", "error"])
def test_D2_an_edit_that_breaks_off_is_applied_once_after_a_rescue(
    site: Site, tmp_path: Path, way: str, tokens: int, goes_on: bool
) -> None:
    broken = f"{way}-{tokens}"
    site.add_worker(broken)
    site.add_worker("scripted")
    pool = site.cast.team.pools.get(is_default=True)
    pool.workers.update(accepts_prefill=goes_on)
    pool.fallback = pool.workers.get(name="scripted")
    pool.save()

    shown, held = _edit(site, tmp_path, worker=broken, stream="--stream")

    assert shown.count("Applied edit to greet.py") == 1
    assert held == AFTER
    [failed] = _recorded(site, "step.attempt_failed")
    assert (failed["worker"], failed["fault"]) == (broken, FAULTS[way])
    [completed] = _recorded(site, "step.completed")
    assert completed["worker"] == "scripted"
