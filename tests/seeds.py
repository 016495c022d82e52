"""Random numbers of tests: one seed for each run, by which it can be repeated.

`pytest-randomly` orders the tests by the seed and seeds `random` with it before each
test. Hypothesis makes the same examples in every run, except in `make test-all`, which
makes more of them from the seed.
"""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, core, settings

from tests.tiers import ALL

USUAL, EXHAUSTIVE = "usual", "exhaustive"
EXHAUSTIVE_EXAMPLES = 1_000

settings.register_profile(USUAL, derandomize=True, deadline=None)
settings.register_profile(
    EXHAUSTIVE,
    max_examples=EXHAUSTIVE_EXAMPLES,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(USUAL)


def new_dice() -> random.Random:
    """Return random numbers of a test's own, which the seed of the run decides."""
    return random.Random(random.getrandbits(64))


def pytest_configure(config: pytest.Config) -> None:
    """Load the profile of the tier before test modules read it."""
    settings.load_profile(EXHAUSTIVE if config.option.tier == ALL else USUAL)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Let Hypothesis draw from the seed of this run."""
    if session.config.option.tier == ALL:
        core.global_force_seed = session.config.getoption("randomly_seed", None)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Show the seed, without which a failure could not be repeated."""
    seed = config.getoption("randomly_seed", None)
    if seed is not None:
        terminalreporter.write_line(
            f"Seed {seed}: SEED={seed} repeats the order and the random numbers."
        )
