"""The use cases of docs/examples do what their pages say, by their own commands."""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal
from pathlib import Path

import httpx
import pytest

from apps.accounts.models import Role
from apps.core.money import MICROS
from apps.evaluation.models import ResultState
from apps.evaluation.selectors import access_suite, newest_version, results_of
from apps.evaluation.services import evaluation_estimate
from apps.evaluation.settings import EvaluationSettings
from apps.evaluation.suites.files import tasks_read
from apps.evaluation.suites.tasks import SuiteTask
from apps.evaluation.systems.short_names import systems_named
from apps.pools.pool_file import document_parse
from apps.pools.selectors import pool_snapshot
from apps.runs.models import Run
from apps.runs.selectors import run_events
from apps.sandbox.availability import sandbox_problem
from apps.simulator.answers import SimulatedAnswer, signed
from apps.simulator.benchmark.tasks import recognise
from apps.simulator.cases.catalog import CASES
from apps.simulator.cases.figures import case_figures, case_scores
from apps.simulator.cases.suite import case_lines
from tests.conftest import Cast, Site
from tests.docs.examples import (
    EARLIER,
    FOLDER,
    TEAM,
    TEAM_OF_TESTS,
    Example,
    columns,
    rows_of,
)
from tests.docs.reading import ROOT, page
from tests.evaluation.samples import command, newest
from tests.governance.approval_runs import approve, colleague, ended, pending, waiting
from tests.patience import eventually
from tests.rest.conftest import member
from tests.simulator.benchmark.served import Z

SIMULATOR = "http://127.0.0.1:8100/v1"
NEEDED_SANDBOX = pytest.mark.skipif(
    sandbox_problem() is not None, reason=f"no sandboxes here: {sandbox_problem()}"
)
EXAMPLES = [
    pytest.param(
        Example(name), id=name, marks=NEEDED_SANDBOX if name == "coding" else ()
    )
    for name in CASES
]
each_example = pytest.mark.parametrize("example", EXAMPLES)


# --- the files ------------------------------------------------------------------------


def test_index_leads_to_every_case() -> None:
    assert {path.parent.name for path in FOLDER.glob("*/README.md")} == set(CASES)
    links = set(re.findall(r"\]\((\w+)/README\.md\)", page("docs/examples/README.md")))
    assert links == set(CASES)


@each_example
def test_suite_is_what_the_command_writes(example: Example) -> None:
    written = b"".join(case_lines(CASES[example.name]))
    assert (example.folder / "suite.jsonl").read_bytes() == written
    assert f"python -m apps.simulator.cases {example.name} --out" in page(example.path)


@pytest.mark.slow
@pytest.mark.spread
@each_example
def test_right_answers_pass_and_wrong_ones_do_not(example: Example) -> None:
    path = example.folder / "suite.jsonl"
    tasks = tasks_read(path.read_bytes(), path.name)
    if example.name == "coding":
        tasks = _one_for_each_function(tasks)
    for task in tasks:
        found = recognise(task.prompt, CASES[example.name].forms)
        assert found is not None, task.prompt
        assert task.verifier.grade(_written(found.answer, found.is_code)).is_right
        for wrong in (*found.near_misses, *found.far_off):
            said = _written(wrong, found.is_code)
            assert not task.verifier.grade(said).is_right, (task.prompt, wrong)


def _one_for_each_function(tasks: tuple[SuiteTask, ...]) -> tuple[SuiteTask, ...]:
    """Return few tasks of code, because each grade takes a sandbox."""
    found = {
        task.verifier.entry_point: task
        for task in tasks
        if task.verifier.kind == "unit_tests"
    }
    assert len(found) == 6
    return tuple(found.values())


def _written(short: str, is_code: bool) -> str:
    shown = f"```python\n{short}\n```" if is_code else f"**{short}**"
    return signed(SimulatedAnswer(short, f"{shown}\n\nI checked it."), "some-worker")


@each_example
def test_pool_has_the_workers_of_the_case(example: Example) -> None:
    case = CASES[example.name]
    document = document_parse((example.folder / "pool.yaml").read_text("utf-8"))
    assert [
        (
            w.name,
            w.model,
            w.description,
            _micros(w.price.input),
            _micros(w.price.output),
        )
        for w in document.workers
        if w.price is not None
    ] == [
        (w.name, w.name, w.description, w.input_micros, w.output_micros)
        for w in case.workers
    ]
    assert document.pool.fallback == case.fallback


def _micros(dollars: Decimal) -> int:
    return int(dollars * MICROS)


@each_example
def test_page_has_the_expected_figures(example: Example) -> None:
    assert case_figures(CASES[example.name]) in page(example.path)


# --- the walk-through -----------------------------------------------------------------


def _run(example: Example, words: list[str], tmp_path: Path, site: Site) -> str:
    """Run a command of a page, and return all that it says.

    The team is that of the tests, the calibration the newest evaluation, and the pool
    has its models on the simulator of the tests.
    """
    evaluation = str(newest(site.cast.team).id) if EARLIER in " ".join(words) else ""
    given = []
    for word in words:
        word = TEAM_OF_TESTS if word == TEAM else word.replace(EARLIER, evaluation)
        if word == f"docs/examples/{example.name}/pool.yaml":
            text = (ROOT / word).read_text("utf-8")
            copy = tmp_path / "pool.yaml"
            copy.write_text(text.replace(SIMULATOR, site.simulator_url))
            word = str(copy)
        elif word.startswith("docs/"):
            word = str(ROOT / word)
        given.append(word)
    return "".join(command(*given))


def _walk(example: Example, tmp_path: Path, site: Site, until: str = "") -> str:
    """Run the commands of a page up to the first `until`; return the last output."""
    said = ""
    for words in example.commands(is_real=False):
        if words[0] == until:
            break
        said = _run(example, words, tmp_path, site)
    return said


MEASURED_BY = re.compile(r" \(by [0-9a-f]{8}\)")
"""What a router's label says of the evaluation that it learned from."""


@pytest.mark.slow
@pytest.mark.spread
@each_example
def test_commands_give_the_table_of_the_page(
    example: Example, site: Site, tmp_path: Path
) -> None:
    said = _walk(example, tmp_path, site)
    table = example.table("system")
    said = MEASURED_BY.sub("", said)
    assert columns(rows_of(said, "system"), table[0]) == table
    assert not {"p50, p95", "tasks"} & set(table[0])
    assert "**Simulated**" in said
    _assert_as_expected(example, site)


def _assert_as_expected(example: Example, site: Site) -> None:
    """Each system is within an interval of 99.9 % around its exact expectation."""
    evaluation = newest(site.cast.team)
    settings = EvaluationSettings.model_validate(evaluation.settings)
    scores = case_scores(CASES[example.name])
    known = [s for s in settings.systems if s.kind != "worker_per_family"]
    assert {system.label for system in known} <= set(scores)
    for place, system in enumerate(settings.systems):
        if system.kind == "worker_per_family":
            continue  # which worker it asks was measured, and depends on chance
        rows = results_of(evaluation).filter(system=place)
        results = list(rows.values_list("task__family", "state"))
        right = sum(state == ResultState.RIGHT for _, state in results)
        shares = [scores[system.label][family] for family, _ in results]
        half = Z * math.sqrt(sum(share * (1 - share) for share in shares)) + 0.5
        assert len(results) == 45
        assert abs(right - sum(shares)) <= half, system.label


def _ask(site: Site, path: str, body: dict[str, object]) -> httpx.Response:
    headers = {"Authorization": f"Bearer {site.key}"}
    return httpx.post(f"{site.url}{path}", json=body, headers=headers, timeout=30)


@pytest.mark.slow
@pytest.mark.spread
@each_example
def test_first_request_of_the_page_is_answered(
    example: Example, site: Site, tmp_path: Path
) -> None:
    _walk(example, tmp_path, site, until="evaluate")
    path, body = example.requests[0]
    prompt = body["messages"][0]["content"]
    suite = tasks_read((example.folder / "suite.jsonl").read_bytes(), "suite.jsonl")
    task = next(task for task in suite if task.prompt == prompt)
    answered = _ask(site, path, body)
    assert answered.status_code == 200, answered.text
    said = answered.json()["choices"][0]["message"]["content"]
    assert task.verifier.grade(said).is_right, said


def _sent(run: Run) -> str:
    """Return all that models were sent in a run, as text."""
    events = [each.event for each in run_events(run)]
    return repr([getattr(event, "messages", ()) for event in events])


@pytest.mark.slow
@pytest.mark.spread
def test_support_holds_refunds_and_hides_customers(site: Site, tmp_path: Path) -> None:
    example = Example("support")
    _walk(example, tmp_path, site, until="evaluate")
    _, order = example.requests[1]
    customer = re.search(r"K-\d{6}", order["prompt"])
    assert customer is not None
    started = _ask(site, "/api/v1/runs/", order)
    assert started.status_code == 201, started.text
    run = Run.objects.across_teams().get(id=started.json()["id"])
    assert eventually(lambda: waiting(run.id))
    rita = member(colleague(site, "rita", Role.REVIEWER))
    digest = pending(rita, run.id)["plan_digest"]
    assert approve(rita, run.id, digest).status_code == 200
    assert ended(run.id).state == "completed"
    assert customer[0] not in _sent(run)
    assert "[CUSTOMER_NUMBER_1]" in _sent(run)


@pytest.mark.slow
@pytest.mark.spread
def test_finance_keeps_account_numbers_in_the_eu(site: Site, tmp_path: Path) -> None:
    example = Example("finance")
    _walk(example, tmp_path, site, until="evaluate")
    path, body = example.requests[0]
    assert _ask(site, path, body).status_code == 200
    run = Run.objects.across_teams().latest("id")
    iban = re.search(r"DE\d{20}", str(body))
    assert iban is not None
    assert iban[0] not in _sent(run)
    assert "[IBAN_1]" in _sent(run)
    path, body = example.requests[1]
    refused = _ask(site, path, body)
    assert refused.status_code == 403
    assert refused.json()["error"]["code"] == "policy_denied"


# --- real models ----------------------------------------------------------------------


@each_example
def test_commands_for_real_models_are_accepted(
    example: Example, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pool is imported; its evaluations are accepted, but not started."""
    source = (example.folder / "pool-real.yaml").read_text("utf-8")
    for name in re.findall(r"api_key_env: (\w+)", source):
        monkeypatch.setenv(name, "sk-example")
    suite = example.folder / "suite.jsonl"
    command("suite_import", suite, f"--team={TEAM_OF_TESTS}", f"--name={example.name}")
    importing, *evaluations = example.commands(is_real=True)
    assert importing[1] == f"docs/examples/{example.name}/pool-real.yaml"
    for _ in range(2):
        said = "".join(command("pool_import", ROOT / importing[1], "--team=orchestra"))
    assert "nothing to change" in said
    pool = pool_snapshot(cast.team.id, f"{example.name}-real")
    version = newest_version(access_suite(team_id=cast.team.id, name=example.name))
    assert len(evaluations) == 2
    for words in evaluations:
        assert words[:6] == [
            *("evaluate", example.name, "--team", TEAM, "--pool", pool.name)
        ]
        places = [place for place, word in enumerate(words) if word == "--system"]
        named = [words[place + 1] for place in places]
        fixed = [name for name in named if EARLIER not in name]
        values = {"pool": pool.name, "systems": systems_named(fixed, pool)}
        assert evaluation_estimate(version=version, values=values).runs > 0


@each_example
def test_prices_of_real_models_are_those_of_the_pools(example: Example) -> None:
    known = {
        worker.model: worker.price
        for path in (ROOT / "docs" / "pools").glob("*.yaml")
        for worker in document_parse(path.read_text("utf-8")).workers
        if path.stem in ("openai", "anthropic", "gemini")
    }
    document = document_parse((example.folder / "pool-real.yaml").read_text("utf-8"))
    assert document.conductor is not None
    models = [document.conductor, *document.workers]
    assert any(model.price for model in models)
    for model in models:
        assert model.price == known.get(model.model), model.model


@each_example
def test_policy_is_where_the_page_says(example: Example) -> None:
    path = example.folder / "policy.json"
    used = [
        words[1] for words in example.commands(is_real=False) if "policy" in words[0]
    ]
    assert used == (
        [f"docs/examples/{example.name}/policy.json"] if path.exists() else []
    )
    assert path.exists() == (example.name in ("support", "finance"))
    if path.exists():
        rules = json.loads(path.read_bytes())["rules"]
        assert all(rule["name"] in page(example.path) for rule in rules)
