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
    return run_verifier(tmp_path, "run.zip", *options)


def run_verifier(folder: Path, *arguments: str) -> tuple[int, str]:
    """Run the `verify.py` of a folder there; return its code and words."""
    done = subprocess.run(
        [sys.executable, "-I", "verify.py", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        env={},
        check=False,
    )
    return done.returncode, done.stdout + done.stderr
