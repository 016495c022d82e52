"""The example of docs/batches.md runs as it stands, but for address and key."""

from __future__ import annotations

from typing import Any

from tests.docs.reading import run, snippets


def test_example_prints_an_answer_for_every_request(site, capsys):
    (example,) = snippets("docs/batches.md", "python")
    filled = example.replace("http://127.0.0.1:8000", site.url)
    defined: dict[str, Any] = run(filled.replace("cdk_…", site.key), "example")
    defined["client"].close()
    assert defined["batch"].status == "completed"
    lines = capsys.readouterr().out.splitlines()
    assert {f"q{n}" for n in range(3)} <= {line.split(" ")[0] for line in lines if line}
