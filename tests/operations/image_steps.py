"""Executes the build stage of deploy/Dockerfile without Docker: `make test-image`.

Not part of the suite: it downloads every package. COPY and RUN lines are done in order
in scratch folders that stand for those of the image, then the process is started from
them with nothing else on its path.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.operations.deploying import Step, stages

ROOT = Path(__file__).resolve().parent.parent.parent
STEP_S = 900


class Scratch:
    """Folders that stand for the image's."""

    def __init__(self, folder: Path) -> None:
        self.places = {"/app": folder / "app", "/opt/conductor": folder / "conductor"}
        self.places["/app"].mkdir()
        (folder / "bin").mkdir()
        (folder / "bin" / "python").symlink_to(sys.executable)
        kept = {k: v for k, v in os.environ.items() if k in {"HOME", "LANG"}}
        pip = {k: v for k, v in os.environ.items() if k.startswith("PIP_")}
        path = f"{folder / 'bin'}:/usr/bin:/bin"
        self.environment = {**kept, **pip, "PATH": path}

    def placed(self, text: str) -> str:
        """Return `text` with the image's folders replaced by ours."""
        pattern = "|".join(map(re.escape, self.places))
        return re.sub(
            rf"(?<![\w/.])({pattern})(?![\w-])",
            lambda found: str(self.places[found[1]]),
            text,
        )

    def do(self, step: Step) -> None:
        """Execute one line of the build stage."""
        if step.word == "COPY":
            *sources, target = shlex.split(step.rest)
            for source in sources:
                self._copy(ROOT / source, self.places["/app"] / target)
        elif step.word == "ENV":
            values = dict(part.split("=", 1) for part in shlex.split(step.rest))
            self.environment |= values
        elif step.word == "RUN":
            subprocess.run(
                self.placed(step.rest),
                shell=True,
                cwd=self.places["/app"],
                env=self.environment,
                check=True,
                timeout=STEP_S,
            )

    def _copy(self, source: Path, target: Path) -> None:
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
            shutil.copytree(source, target, ignore=ignored)
        else:
            target = target / source.name if target.is_dir() else target
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)


def test_the_build_stage_makes_something_that_starts(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    scratch = Scratch(tmp_path)
    build, final = stages()
    for step in build:
        scratch.do(step)
    python = scratch.places["/opt/conductor"] / "bin" / "python"
    assert not list(python.parent.glob("pip*"))
    assert list(scratch.places["/app"].rglob("static/css/*.css"))
    variables = final.variables | {"CONDUCTOR_VAR_DIR": scratch.placed("/app/var")}
    refused = subprocess.run(
        [python, "-m", "conductor_site"],
        cwd=scratch.places["/app"],
        env={"PATH": str(python.parent), **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert refused.stderr.splitlines() == [
        "error: SECRET_KEY is not set, in production",
        "error: CONDUCTOR_ENCRYPTION_KEYS is not set, in production",
        "error: ALLOWED_HOSTS is not set, in production",
    ]
