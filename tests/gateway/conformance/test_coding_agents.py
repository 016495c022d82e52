"""The real Claude Code and Codex at work with the demo's models.

`make test-js` installs them from npm.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from apps.engine import events as ev
from apps.runs.models import Run
from apps.runs.records.run_params import params_of
from apps.runs.selectors import run_events
from tests.conftest import Site
from tests.gateway.conformance.environments import (
    JAVASCRIPT,
    LONGEST_S,
    WITHIN_THIS_MACHINE,
)

COMMANDS = JAVASCRIPT / "node_modules" / ".bin"
SERVER = Path(__file__).with_name("many_tools.py")
MANY_TOOLS = 300
QUESTION = "What is 17 * 23 + 4?"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (COMMANDS / "claude").exists(), reason="`make test-js` installs it"
    ),
]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """Return an empty folder to work in, beside the home of the agents."""
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def run(site: Site, work: Path, *command: str, **environment: str) -> str:
    """Return what an agent prints."""
    done = subprocess.run(
        [COMMANDS / command[0], *command[1:]],
        cwd=work,
        env={
            **os.environ,
            **WITHIN_THIS_MACHINE,
            "HOME": str(work.parent),
            "ANTHROPIC_BASE_URL": site.url,
            "ANTHROPIC_AUTH_TOKEN": site.key,
            "ANTHROPIC_MODEL": "conductor-ultra",
            "ANTHROPIC_DEFAULT_HAIKU_MODEL": "conductor-mini",
            "CONDUCTOR_API_KEY": site.key,
            **environment,
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LONGEST_S,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def claude(site: Site, work: Path, *options: str, **environment: str) -> Any:
    """Return how Claude Code answered the question."""
    asked = ("claude", "--print", QUESTION, "--output-format", "json")
    return json.loads(run(site, work, *asked, *options, **environment))


def codex(site: Site, work: Path, question: str, config: str = "") -> list[Any]:
    """Return the items that Codex made of a question, without its warnings."""
    settings = work.parent / ".codex" / "config.toml"
    settings.parent.mkdir()
    settings.write_text(
        'model = "conductor-ultra"\nmodel_provider = "conductor"\n'
        '[model_providers.conductor]\nname = "Conductor"\n'
        f'base_url = "{site.api_url}"\nenv_key = "CONDUCTOR_API_KEY"\n'
        f'wire_api = "responses"\n{config}'
    )
    options = (
        "--skip-git-repo-check",
        "--json",
        "--dangerously-bypass-approvals-and-sandbox",  # nobody is there to approve
    )
    printed = run(site, work, "codex", "exec", *options, question)
    events = [json.loads(line) for line in printed.splitlines()]
    items = [e["item"] for e in events if e["type"] == "item.completed"]
    # It warns that it has no metadata of models that are not OpenAI's.
    return [item for item in items if item["type"] != "error"]


def tools_of(site: Site) -> list[int]:
    """Return how many tools each run was offered."""
    counts = []
    for run in Run.objects.for_team(site.cast.team.id):
        created = run_events(run)[0].event
        assert isinstance(created, ev.RunCreated)
        counts.append(len(params_of(created).get("tools", ())))
    return counts


def test_c3_claude_code_gets_its_answer_and_does_nothing_else(
    site: Site, work: Path
) -> None:
    answer = claude(site, work)
    assert "395" in answer["result"]
    assert (answer["num_turns"], list(work.iterdir())) == (1, [])


def test_c1_claude_code_with_many_mcp_servers_gets_its_answer(
    site: Site, work: Path
) -> None:
    server = {"command": sys.executable, "args": [str(SERVER), str(MANY_TOOLS)]}
    config = work.parent / "servers.json"
    config.write_text(json.dumps({"mcpServers": {"many": server}}))
    options = ("--mcp-config", str(config), "--strict-mcp-config")
    answer = claude(site, work, *options, ENABLE_TOOL_SEARCH="false")
    assert "395" in answer["result"]
    assert max(tools_of(site)) > MANY_TOOLS


def test_c3_codex_gets_its_answer_and_does_nothing_else(site: Site, work: Path) -> None:
    items = codex(site, work, QUESTION)
    assert {item["type"] for item in items} == {"reasoning", "agent_message"}
    assert "395" in items[-1]["text"]
    assert list(work.iterdir()) == []


def test_c1_codex_calls_one_of_many_tools_of_an_mcp_server(
    site: Site, work: Path
) -> None:
    config = (
        f'[mcp_servers.many]\ncommand = "{sys.executable}"\n'
        f'args = ["{SERVER}", "{MANY_TOOLS}"]\n'
    )
    name = "mcp__many__look_0123"
    items = codex(site, work, f'Look: [[call {name} {{"subject": "bees"}}]]', config)
    assert "mcp_tool_call" in {item["type"] for item in items}
    assert "look_0123 knows that it is 4711" in items[-1]["text"]
    assert max(tools_of(site)) > MANY_TOOLS
