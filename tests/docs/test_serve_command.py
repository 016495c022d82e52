"""The command that serves a conductor: what it starts, and what it refuses."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "deploy" / "vllm"
SCRIPT = FOLDER / "serve.sh"


def serve(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the script with a Python that only says what it was asked for."""
    environment = {"PATH": "/usr/bin:/bin", "SERVE_PYTHON": "echo", **variables}
    return subprocess.run(
        [SCRIPT, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=20,
    )


def test_model_names_and_further_options_reach_vllm():
    done = serve("--max-num-seqs", "64", SERVE_MODEL="/models/a", SERVE_NAMES="one two")
    said = done.stdout
    assert done.returncode == 0
    assert said.startswith("-m vllm.entrypoints.openai.api_server --model /models/a ")
    assert "--served-model-name one two --max-num-seqs 64" in said
    for option in ("--enable-prefix-caching", '"backend":"guidance"', "127.0.0.1"):
        assert option in said
    assert "lora" not in said


def test_adapters_are_versions_beside_the_model():
    said = serve(SERVE_MODEL="/m", SERVE_ADAPTERS="v1=/a/1 v2=/a/2").stdout
    assert "--enable-lora --max-loras 2 --max-lora-rank 64" in said
    assert "--lora-modules v1=/a/1 v2=/a/2 --served-model-name conductor" in said


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({}, "SERVE_MODEL is not set"),
        ({"SERVE_MODEL": "/m", "SERVE_ADAPTERS": "v1"}, "expected name=folder, got v1"),
        ({"SERVE_MODEL": "/m", "SERVE_HOST": "0.0.0.0"}, "VLLM_API_KEY is not set"),
    ],
)
def test_what_cannot_work_or_is_open_to_all_is_refused(variables, message):
    done = serve(**variables)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


def test_key_stands_on_no_command_line():
    key = "sk-canary-of-the-server"
    done = serve(SERVE_MODEL="/m", SERVE_HOST="0.0.0.0", VLLM_API_KEY=key)
    assert done.returncode == 0
    assert key not in done.stdout


def test_every_variable_is_explained_with_its_default():
    defaults = dict(re.findall(r'"\$\{(\w+):=(.*)\}"', SCRIPT.read_text()))
    rows = re.findall(
        r"^\| `(\w+)` \| ([^|]+) \|", (FOLDER / "README.md").read_text(), re.M
    )
    shown = {name: cell.strip().strip("`") for name, cell in rows}
    for name, default in defaults.items():
        assert shown[name].startswith(default or "none"), name
    assert set(shown) - set(defaults) == {"VLLM_API_KEY"}
