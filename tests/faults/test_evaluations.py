"""Evaluations, calibrations and shadow tests outlive the processes that drive them.

All of them are started over REST and killed at the same moment, with the code of an
answer in its sandbox. Meanwhile the same ones run undisturbed, with the same seed.
"""

from __future__ import annotations

import asyncio
import csv
import io
import random
import uuid
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import pytest_asyncio

from apps.audit.jobs import DEAD_AFTER
from apps.evaluation.jobs import TURN_S
from tests.evaluation.programs import PROGRAMS
from tests.faults.checker import CALL_ENDS
from tests.faults.conftest import SEED
from tests.faults.members import POLL_S, Member
from tests.faults.sabotage import SHORT_TURNS
from tests.faults.scenes import ask, chain, restarted, unharmed
from tests.faults.site import FaultySite, Servers, faulty_site
from tests.faults.test_waiting import person

pytestmark = pytest.mark.asyncio(loop_scope="module")
Figure = Callable[..., None]
Json = dict[str, Any]
Sums = Mapping[uuid.UUID, int]
CHEAP = "bench-language"
SINGLES = (CHEAP, "bench-coding", "bench-planning", "bench-checking")
COMPARED: tuple[Json, ...] = (
    {"kind": "tier", "tier": "ultra"},
    {"kind": "worker", "worker": CHEAP},
    {"kind": "samples", "worker": CHEAP, "samples": 2},
    {"kind": "random_plan"},
)
COMPARISON, CALIBRATION, CODE, SHADOW = NAMES = (
    "comparison",
    "calibration",
    "programs",
    "shadow test",
)
EVALUATIONS = NAMES[:3]
MIRRORED = 6
"""Runs of callers, which a candidate repeats."""
FEW, MANY = 2, 16
"""Runs at the same time: where processes are killed, and where none is."""
LONGEST_S = 180.0
"""Longest that the jobs take without a fault, on a machine with much to do."""
TAKE_OVER_S = TURN_S + 15.0
"""So long after a job counts as lost another process has it, which may be busy."""
SAME = ("task", "system", "state", "steps", "tokens", "cost_micros")
"""What is equal of a result with and without faults."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site(
    shared_servers: Servers, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[FaultySite]:
    """A site in which all evaluations are under way, although one process has them."""
    folder = tmp_path_factory.mktemp("site")
    async with faulty_site(shared_servers, folder, sabotage=SHORT_TURNS) as running:
        yield running


def evaluations(parallel: int) -> dict[str, Json]:
    """Return the orders of evaluations, by what they are."""
    benchmark = {"pool": "benchmark", "seed": 3, "parallel_runs": parallel}
    singles = [{"kind": "worker", "worker": name} for name in SINGLES]
    calibration = {"systems": singles, "split": "training", "is_calibration": True}
    scripted = [{"kind": "worker", "worker": "scripted"}]
    return {
        COMPARISON: {
            "suite": "benchmark",
            "settings": {**benchmark, "systems": COMPARED, "max_tasks": 12},
        },
        CALIBRATION: {
            "suite": "benchmark",
            "settings": {**benchmark, **calibration, "max_tasks": 24},
        },
        CODE: {
            "suite": "programs",
            "settings": {"pool": "code", "systems": scripted},
        },
    }


def shadow(name: str) -> Json:
    """Return the order of a shadow test that repeats the runs of the last hour."""
    return {
        "settings": {
            "name": name,
            "pool": "pool-0",
            "tier": "ultra",
            "candidate": {"kind": "worker", "worker": "delay-5000"},
            "since": (datetime.now(UTC) - timedelta(hours=1)).isoformat(),
            "max_runs": MIRRORED,
            "max_cost_micros": 10_000_000,
            "parallel_runs": 1,
        }
    }


class Jobs:
    """Evaluations and a shadow test on a site, by name, as REST shows them."""

    def __init__(self, site: FaultySite, name: str, parallel: int) -> None:
        self._site = site
        self._orders = {
            each: ("evaluations", order)
            for each, order in evaluations(parallel).items()
        }
        self._orders[SHADOW] = ("shadow-tests", shadow(name))
        self._paths: dict[str, str] = {}

    async def start(self, *names: str) -> None:
        async with person(self._site, self._site.webs[0]) as http:
            for name in names:
                path, order = self._orders[name]
                answer = await http.post(f"/{path}/", json=order)
                assert answer.status_code in (201, 202), answer.text
                self._paths[name] = f"/{path}/{answer.json()['id']}/"

    def id(self, name: str) -> uuid.UUID:
        return uuid.UUID(self._paths[name].split("/")[-2])

    async def get(self, name: str) -> Json:
        async with person(self._site, self._site.webs[0]) as http:
            answer = await http.get(self._paths[name])
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    async def all(self) -> dict[str, Json]:
        return {name: await self.get(name) for name in self._paths}

    async def results(self, name: str) -> list[dict[str, str]]:
        """Return the results of an evaluation as they can be downloaded."""
        async with person(self._site, self._site.webs[0]) as http:
            answer = await http.get(f"{self._paths[name]}results/")
        assert answer.status_code == 200, answer.text
        return list(csv.DictReader(io.StringIO(answer.text)))

    async def pairs(self) -> list[Json]:
        """Return what the shadow test has mirrored, in the order of the runs."""
        async with person(self._site, self._site.webs[0]) as http:
            answer = await http.get(f"{self._paths[SHADOW]}runs/")
        assert answer.status_code == 200, answer.text
        found = answer.json()["data"]
        return sorted(found, key=lambda pair: str(pair["original_run_id"]))

    async def driver(self, name: str) -> str:
        """Return the process that took a job last."""
        hands = await asyncio.to_thread(self._site.witness.drivers, self.id(name))
        return hands[-1].process if hands else ""


async def until(
    is_so: Callable[[], Awaitable[bool]], patience_s: float = LONGEST_S
) -> None:
    async with asyncio.timeout(patience_s):
        while not await is_so():  # noqa: ASYNC110
            await asyncio.sleep(POLL_S)


async def ended(jobs: Jobs, patience_s: float = LONGEST_S) -> dict[str, Json]:
    """Return all jobs once all have ended, as they should."""

    async def is_over() -> bool:
        return all(job["finished_at"] for job in (await jobs.all()).values())

    await until(is_over, patience_s)
    found = await jobs.all()
    assert {job["state"] for job in found.values()} == {"completed"}, found
    return found


async def profiles(site: FaultySite, jobs: Jobs) -> list[Any]:
    """Return what a calibration has measured, once it has ended."""

    async def is_over() -> bool:
        return bool((await jobs.get(CALIBRATION))["finished_at"])

    await until(is_over)
    found = await asyncio.to_thread(site.witness.profiles, jobs.id(CALIBRATION))
    assert found
    return list(found)


async def begun(jobs: Jobs, name: str) -> None:
    """Return when a job has its first result."""

    async def has_result() -> bool:
        return bool((await jobs.get(name))["progress"]["graded"])

    await until(has_result)


async def halfway(jobs: Jobs, least: int) -> None:
    """Return when each job has some results, and goes on to others."""

    async def is_halfway() -> bool:
        found = await jobs.all()
        test = found.pop(SHADOW)
        every = {**found, SHADOW: test}
        ended = [name for name, job in every.items() if job["finished_at"]]
        assert ended == [], [(n, j["progress"]) for n, j in found.items()]
        progress = {name: job["progress"] for name, job in found.items()}
        return (
            all(each["graded"] and each["started"] for each in progress.values())
            and progress[COMPARISON]["graded"] >= least
            and test["report"]["compared"] >= 1
            and test["report"]["open"] >= 1
        )

    await until(is_halfway)


async def kill_drivers(site: FaultySite, jobs: Jobs) -> list[Member]:
    """Kill each process that drives one of the jobs; return them."""
    places = {member.name: member for member in site.members}
    holders = {await jobs.driver(name) for name in NAMES}
    victims = [places[name] for name in holders]
    for victim in victims:
        await victim.kill()
    return victims


async def taken_over(site: FaultySite, jobs: Jobs, killed_at: datetime) -> float:
    """Return the seconds until another process had each job, the slowest of them."""
    slowest = 0.0
    for name in NAMES:
        hands = await asyncio.to_thread(site.witness.drivers, jobs.id(name))
        former, later = (
            [hand for hand in hands if (hand.at > killed_at) == is_later]
            for is_later in (False, True)
        )
        assert later[0].process != former[-1].process
        slowest = max(slowest, (later[0].at - killed_at).total_seconds())
    return round(slowest, 1)


async def graded(jobs: Jobs) -> set[tuple[str, ...]]:
    """Return what has been graded: of which run, and how."""
    return {
        (name, row["run_id"], row["state"], row["cost_micros"])
        for name in EVALUATIONS
        for row in await jobs.results(name)
        if row["state"] in ("right", "wrong")
    }


def same_of(results: Sequence[Mapping[str, str]]) -> list[tuple[str, ...]]:
    return sorted(tuple(row[name] for name in SAME) for row in results)


async def recorded_costs(site: FaultySite) -> Sums:
    """Return what the entries of each run's calls come to, in micro-dollars."""
    history = await asyncio.to_thread(site.witness.history, (), frozenset(), 0, "")
    sums: dict[uuid.UUID, int] = defaultdict(int)
    for entry in history.entries:
        if entry.action in CALL_ENDS:
            cost = entry.data["cost_micros"]
            assert isinstance(cost, int)
            sums[entry.run_id] += cost
    return sums


async def assert_sums(jobs: Jobs, recorded: Sums) -> set[str]:
    """Check each cost against the ledger; return the ids of all runs."""
    run_ids: list[str] = []
    for name in EVALUATIONS:
        rows = await jobs.results(name)
        for row in rows:
            assert int(row["cost_micros"]) == recorded[uuid.UUID(row["run_id"])], row
        cost = (await jobs.get(name))["progress"]["cost_micros"]
        assert cost == sum(int(row["cost_micros"]) for row in rows) > 0
        run_ids += [row["run_id"] for row in rows]
    pairs = await jobs.pairs()
    spent = (await jobs.get(SHADOW))["report"]["spent_micros"]
    assert spent == sum(recorded[uuid.UUID(pair["run_id"])] for pair in pairs) > 0
    run_ids += [pair["run_id"] for pair in pairs]
    assert len(set(run_ids)) == len(run_ids)
    return set(run_ids)


async def test_g1_evaluations_of_killed_processes_end_like_undisturbed_ones(
    site: FaultySite, figure: Figure
) -> None:
    originals = {
        await ask(site, site.webs[0], chain(1, 0), f"original-{n}")
        for n in range(MIRRORED)
    }
    jobs = Jobs(site, "Killed", FEW)
    await jobs.start(COMPARISON, CALIBRATION, SHADOW)
    least = random.Random(SEED).randint(4, 12)
    await halfway(jobs, least)
    await jobs.start(CODE)  # last: it does not take long
    await begun(jobs, CODE)
    killed_at = await asyncio.to_thread(site.witness.now)
    victims = await kill_drivers(site, jobs)
    await asyncio.gather(*map(restarted, victims))
    before = await graded(jobs)

    others = Jobs(site, "Undisturbed", MANY)
    await others.start(*NAMES)
    measured = await profiles(site, others)  # until the other calibration ends
    undisturbed = await ended(others)
    killed = await ended(jobs, DEAD_AFTER.total_seconds() + LONGEST_S)

    assert before < await graded(jobs)
    seconds = await taken_over(site, jobs, killed_at)
    for name in EVALUATIONS:
        assert same_of(await jobs.results(name)) == same_of(await others.results(name))
    states = [row["state"] for row in await jobs.results(CODE)]
    assert states == ["right" if is_right else "wrong" for is_right in PROGRAMS]
    assert await profiles(site, jobs) == measured
    for found in (killed, undisturbed):
        report = found[SHADOW]["report"]
        assert (report["compared"], report["agreement"]["value"]) == (MIRRORED, 1.0)
    recorded = await recorded_costs(site)
    run_ids = await assert_sums(jobs, recorded) | await assert_sums(others, recorded)
    every = await asyncio.to_thread(site.witness.run_ids)
    assert {str(run_id) for run_id in every} == run_ids | originals
    await unharmed(site)
    figure(
        killed=len(victims),
        evaluations_taken_over_s=seconds,
        results_before_the_kill=len(before),
    )
    assert seconds <= DEAD_AFTER.total_seconds() + TAKE_OVER_S
