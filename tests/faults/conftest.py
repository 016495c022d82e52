"""What tests of faults share. Those with real processes run by `make test-faults`."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterator

import pytest
import pytest_asyncio

from tests.faults.site import FaultySite, Servers, faulty_site, servers

RUNS = int(os.environ.get("FAULT_RUNS", "0"))
"""Runs of the chaos; 0: the tests with real processes are left out."""
SEED = int(os.environ.get("FAULT_SEED", "5"))
PARTS = (
    "chaos",
    "evaluations",
    "processes",
    "servers",
    "standstill",
    "suspension",
    "teeth",
    "waiting",
    "webhooks",
)
REAL = [f"test_{part}.py" for part in PARTS]
collect_ignore = [] if RUNS else REAL


@pytest.fixture(scope="session")
def shared_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    with servers(tmp_path_factory.mktemp("servers")) as found:
        yield found


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site(
    shared_servers: Servers, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[FaultySite]:
    """A running site for the tests of one file."""
    folder = tmp_path_factory.mktemp("site")
    async with faulty_site(shared_servers, folder) as running:
        yield running


@pytest.fixture
def figure(record_property: Callable[[str, object], None]) -> Callable[..., None]:
    """Keep figures; they are shown when all tests are over."""

    def inner(**figures: object) -> None:
        for name, value in figures.items():
            record_property(name, value)

    return inner


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show the figures that tests have kept."""
    for state in ("passed", "failed"):
        for report in terminalreporter.getreports(state):
            if report.user_properties:
                terminalreporter.write_line(f"\n{report.nodeid.split('::')[-1]}")
            for name, value in report.user_properties:
                terminalreporter.write_line(f"    {name.replace('_', ' ')}: {value}")
