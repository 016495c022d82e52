"""D2: what a client that writes all it gets into a file would write, rescue or not."""

from __future__ import annotations

import pytest

from tests.conftest import Site
from tests.factories import issue_key
from tests.runs.asking import Stage, planned
from tests.runs.clients import Said, ask_all, request


def told_after_content(said: Said) -> list[str]:
    """Return what follows the first piece of the answer and is none itself."""
    deltas = [c["delta"] for chunk in said.chunks for c in chunk.get("choices", ())]
    first = next(at for at, delta in enumerate(deltas) if delta.get("content"))
    return [d["reasoning_content"] for d in deltas[first:] if "reasoning_content" in d]


def ask(site: Site, first: str) -> Said:
    names = site.cast.team.pools.get(is_default=True).places.values_list(
        "worker__name", flat=True
    )
    question = f"{planned([list(names).index(first)])} [[say one two three four]]"
    body = request("conductor-ultra", question, is_streamed=True)
    [said] = ask_all(site, [("", "", body)])
    return said


@pytest.mark.parametrize("first", ["sim-delta", "cut-3"])
def test_the_answer_is_not_interrupted_by_progress(stage: Stage, first: str) -> None:
    site = stage.site
    site.add_worker("cut-3")
    pool = site.cast.team.pools.get(is_default=True)
    pool.workers.update(accepts_prefill=True)
    said = ask(site, first)
    assert said.error is None, said.text
    assert said.answer
    assert told_after_content(said) == []
    assert "reasoning_content" in said.text
    is_rescued = said.chunks[-1]["conductor"]["steps"][0]["attempts"] > 1
    assert is_rescued is (first == "cut-3")


def test_a_key_can_do_without(site: Site) -> None:
    key = issue_key(site.cast.team, progress="off")
    quiet = Site(
        site.url,
        type(site.cast)(**{**vars(site.cast), "key": key}),
        site.simulator_url,
    )
    body = request("conductor-ultra", "What is 2 + 2?", is_streamed=True)
    [said] = ask_all(quiet, [("", "", body)])
    assert "reasoning" not in said.text.replace("reasoning_tokens", "")
