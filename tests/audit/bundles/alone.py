"""Runs the verifier of an export as somebody does who has nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.audit.bundles.forging import unzipped


def verify_alone(tmp_path: Path, content: bytes, *options: str) -> tuple[int, str]:
    """Run it in an empty folder, without the product; return its code and words."""
    (tmp_path / "verify.py").write_bytes(unzipped(content)["verify.py"])
    (tmp_path / "run.zip").write_bytes(content)
    done = subprocess.run(
        [sys.executable, "-I", "verify.py", "run.zip", *options],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={},
        check=False,
    )
    return done.returncode, done.stdout + done.stderr
