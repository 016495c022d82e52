"""Code that tries to get out, to use up the machine, or to pass without being right."""

from __future__ import annotations

import ctypes
import os
import secrets
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from django.conf import settings

from apps.evaluation.verifiers.unit_tests import CodeCase, UnitTestsVerifier
from apps.sandbox.availability import sandbox_problem
from tests.evaluation.sandbox.attacks import (
    BEFORE_TESTS,
    ESCAPED,
    ON_FILES,
    ON_OTHERS,
    ON_RESOURCES,
    ON_THE_KERNEL,
    ON_THE_NETWORK,
    ONLY_IN_ONE_PROCESS,
    WITHIN_TESTS,
    Attack,
)
from tests.patience import PATIENCE_S, eventually

pytestmark = [
    pytest.mark.timeout(PATIENCE_S),  # an attack that does not end succeeds
    pytest.mark.skipif(
        sandbox_problem() is not None, reason=f"no sandboxes here: {sandbox_problem()}"
    ),
]
PR_SET_CHILD_SUBREAPER = 36
CHECK = "def check(candidate):\n    assert candidate(4) == 8\n"
CLASSES = (
    "import unittest\n\n\nclass TestCases(unittest.TestCase):\n"
    "    def test_it(self):\n        self.assertEqual(double(4), 8)\n"
)
ABSTRACT = f"conductor-attack-{os.getpid()}"


@pytest.fixture(scope="module", autouse=True)
def _orphans_come_here() -> Iterator[None]:
    """Processes that outlive their parent become children of this one."""
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    yield
    libc.prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """A server on loopback and one at an abstract address, which nobody may reach."""
    with (
        closing(socket.create_server(("127.0.0.1", 0))) as server,
        closing(socket.socket(socket.AF_UNIX)) as abstract,
    ):
        abstract.bind(f"\0{ABSTRACT}")
        abstract.listen()
        yield server.getsockname()[1]


@pytest.fixture(scope="module")
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    """A process of the user that a sandbox is outside of it."""
    user = 65_534 if os.geteuid() == 0 else None
    with subprocess.Popen(["sleep", "600"], user=user) as process:
        yield process
        process.kill()


def children() -> set[str]:
    found = Path("/proc/self/task").glob("*/children")
    return {child for each in found for child in each.read_text().split()}


def mounts() -> int:
    return len(Path("/proc/self/mountinfo").read_text().splitlines())


def left_files() -> list[Path]:
    folders = ("/", "/tmp", "/var/tmp", "/dev", "/dev/shm", "/usr/lib")
    return [path for each in folders for path in Path(each).glob("conductor-attack*")]


def require_failure(verifier: UnitTestsVerifier, code: str, causes: str) -> None:
    """Grade an answer that must not be right, and of which nothing must stay."""
    before, mounted = children(), mounts()
    descriptors = len(os.listdir("/proc/self/fd"))
    grade = verifier.grade(f"```python\n{code}\n```")
    assert not grade.is_right
    assert any(grade.why.startswith(cause) for cause in causes.split("|")), grade.why
    assert children() <= before
    assert mounts() == mounted
    assert len(os.listdir("/proc/self/fd")) <= descriptors
    assert left_files() == []


def by_name(attack: Attack) -> str:
    return attack.name.replace(" ", "-")


@pytest.mark.parametrize(
    "attack",
    [*ON_RESOURCES, *ON_THE_NETWORK, *ON_FILES, *ON_THE_KERNEL, *ON_OTHERS],
    ids=by_name,
)
def test_no_attack_gets_out(attack, port, bystander):
    code = attack.code
    for name, value in {
        "{port}": str(port),
        "{name}": ABSTRACT,
        "{database}": str(settings.DATABASES["default"]["NAME"]),
        "{home}": str(settings.BASE_DIR),
    }.items():
        code = code.replace(name, value)
    verifier = UnitTestsVerifier(
        kind="unit_tests",
        cases=(CodeCase(output=ESCAPED),),
        time_s=1,
        memory_mb=192,
    )
    require_failure(verifier, code, attack.causes)
    assert bystander.poll() is None


@pytest.mark.parametrize("tests", [CHECK, CLASSES], ids=["check", "classes"])
@pytest.mark.parametrize("attack", [*BEFORE_TESTS, *WITHIN_TESTS], ids=by_name)
def test_no_answer_passes_without_being_right(attack, tests):
    if tests is CLASSES and attack.name in ONLY_IN_ONE_PROCESS:
        pytest.skip("tests in the process of the answer cannot prevent it")
    verifier = UnitTestsVerifier(
        kind="unit_tests", tests=tests, entry_point="double", time_s=1, memory_mb=192
    )
    require_failure(verifier, attack.code, attack.causes)


def test_what_is_expected_is_not_in_the_sandbox():
    code = (
        "import gc, glob, os, re, sys\n"
        "texts = [sys.stdin.read(), repr(os.environ), repr(gc.get_objects())]\n"
        "for path in glob.glob('/sandbox/*') + glob.glob('/sandbox/work/**'):\n"
        "    if os.path.isfile(path): texts.append(open(path).read())\n"
        "for found in re.findall('[0-9a-f]{32}', ''.join(texts)): print(found)\n"
    )
    expected = CodeCase(output=secrets.token_hex(16))
    verifier = UnitTestsVerifier(kind="unit_tests", cases=(expected,))
    require_failure(verifier, code, "failed: another output")


def test_the_sandbox_ends_with_the_process_that_made_it():
    code = (
        "import django; django.setup()\n"
        "from apps.sandbox.running import sandbox_run\n"
        "from apps.sandbox.types import SandboxLimits, SandboxProgram\n"
        "print('begins', flush=True)\n"
        "limits = SandboxLimits(wall_s=600.0)\n"
        "sandbox_run({'x': 'import time; time.sleep(600)'}, "
        "[SandboxProgram('x')], limits)\n"
    )
    before = children()
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as site:
        assert site.stdout
        site.stdout.readline()
        own = Path(f"/proc/{site.pid}/task/{site.pid}/children")
        wait(lambda: own.read_text().split() != [])
        site.kill()
    reaped = threading.Thread(target=reap, args=(before,), daemon=True)
    reaped.start()
    wait(lambda: children() == before)


def reap(before: set[str]) -> None:
    """Collect what has ended, as the first process of a machine does."""
    for child in children() - before:
        os.waitpid(int(child), 0)


def wait(is_done) -> None:
    assert eventually(is_done)
