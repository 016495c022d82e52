"""The example of docs/embeddings.md runs as it stands, but for address and key."""

from __future__ import annotations

from typing import Any

from tests.docs.reading import run, snippets
from tests.factories import WorkerFactory


def test_example_prints_how_many_vectors_and_numbers_there_are(site, capsys):
    pool = site.cast.team.pools.get(is_default=True)
    worker = WorkerFactory.create(
        team=site.cast.team,
        name="sim-embedding",
        base_url=site.simulator_url,
        model="sim-embedding",
        kind="embedding",
    )
    pool.places.create(team=site.cast.team, worker=worker, position=9)
    (example,) = snippets("docs/embeddings.md", "python")
    filled = example.replace("http://127.0.0.1:8000", site.url)
    defined: dict[str, Any] = run(filled.replace("cdk_…", site.key), "example")
    defined["client"].close()
    assert capsys.readouterr().out == "2 64\n"
