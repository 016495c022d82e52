"""aider applies the edits that a run answers with (D2)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Site
from tests.gateway.conformance.environments import installed, run_shell
from tests.gateway.conformance.pages import FOLDER, read

AIDER = read(FOLDER / "aider.md")
EDIT = """greet.py
```python
<<<<<<< SEARCH
print("hello")
=======
print("good morning")
>>>>>>> REPLACE
```
"""


def _question() -> str:
    # The plan ends with the first ">>", so those of the edit are spelled out.
    subtask = json.dumps(f"[[say {EDIT}]]").replace(">", "\\u003e")
    return (
        f"Greet the morning.\n<<plan\n"
        f"model_id = [2]\nsubtasks = [{subtask}]\naccess_list = [[]]\n>>"
    )


@pytest.mark.skipif(not installed(AIDER), reason="`make test-clients` installs it")
@pytest.mark.parametrize("stream", ["--stream", "--no-stream"])
def test_aider_applies_the_edits_that_a_run_answers(
    site: Site, tmp_path: Path, stream: str
) -> None:
    site.set_conductor("scripted-conductor")
    site.add_worker("scripted")
    greeting = tmp_path / "greet.py"
    greeting.write_text('print("hello")\n')
    (tmp_path / "question").write_text(_question())

    shown = run_shell(
        AIDER,
        f"aider --no-git --no-pretty --yes-always --edit-format diff {stream} "
        f"--model openai/conductor-ultra --no-show-model-warnings "
        f"--openai-api-base {site.api_url} --openai-api-key {site.key} "
        f"--message-file question greet.py",
        tmp_path,
    )

    assert "Applied edit to greet.py" in shown
    assert greeting.read_text() == 'print("good morning")\n'
