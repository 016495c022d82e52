"""Starts and stops what is measured: loopback only, each with a fresh folder."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PEERS = ROOT / "bench" / "peers"
READY_S = 90.0
STOP_S = 10.0
JOB_S = 120.0
STREAM_MODEL = "clock-200-50"
POOL = """\
pool: {{name: bench, fallback: a, default: true}}
conductor: {{name: planner, base_url: "{url}", model: plan-50}}
workers:
  - {{name: a, base_url: "{url}", model: delay-100}}
  - {{name: b, base_url: "{url}", model: delay-100}}
  - {{name: c, base_url: "{url}", model: delay-100}}
  - {{name: instant, base_url: "{url}", model: instant}}
  - {{name: clock, base_url: "{url}", model: {stream_model}}}
"""


@dataclass(frozen=True)
class Server:
    """A running competitor and how to ask it."""

    name: str
    url: str
    pids: list[int]
    headers: dict[str, str] = field(default_factory=dict)
    models: dict[str, str] = field(default_factory=dict)
    """What it calls `instant`, `clock` and the like."""


def free_port() -> int:
    """Return a free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def process(
    command: list[str], *, probe: str, folder: Path, env: dict[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Run `command` until the block ends; enter it when `probe` answers."""
    log_path = folder / f"log-{time.monotonic_ns()}"
    with log_path.open("wb") as log:
        child = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, **(env or {})},
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            _wait_until_ready(child, probe, log_path)
            yield child
        finally:
            child.terminate()
            try:
                child.wait(STOP_S)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()


def _wait_until_ready(
    child: subprocess.Popen[bytes], probe: str, log_path: Path
) -> None:
    deadline = time.monotonic() + READY_S
    while time.monotonic() < deadline and child.poll() is None:
        try:
            with urllib.request.urlopen(probe, timeout=2):
                return
        except urllib.error.HTTPError:
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    tail = log_path.read_text(errors="replace")[-1500:]
    raise RuntimeError(f"exit status {child.poll()}, its last words:\n{tail}")


@contextmanager
def folder() -> Iterator[Path]:
    """Give a fresh folder and remove it."""
    path = Path(tempfile.mkdtemp(prefix="conductor-bench-"))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


@contextmanager
def upstream() -> Iterator[Server]:
    """The model server of bench/upstream.py."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "bench.upstream", "--port", str(port)]
    with ExitStack() as stack:
        path = stack.enter_context(folder())
        child = stack.enter_context(process(command, probe=url, folder=path))
        yield Server(
            "upstream alone",
            f"{url}/v1/chat/completions",
            [child.pid],
            models={"instant": "instant", "clock": STREAM_MODEL},
        )


def base_url(model_server: Server) -> str:
    """Return what clients of the model server take as its address."""
    return model_server.url.removesuffix("/chat/completions")


@contextmanager
def conductor(model_server: Server) -> Iterator[Server]:
    """The site: one process, SQLite, ledger on, a team with a pool and a key."""
    with ExitStack() as stack:
        path = stack.enter_context(folder())
        env = {"DATABASE_URL": f"sqlite:///{path / 'bench.sqlite3'}"}
        key = prepare(env, path, base_url(model_server))
        url, child = stack.enter_context(web(env, path))
        yield Server(
            "Conductor",
            f"{url}/v1/chat/completions",
            [child.pid],
            {"authorization": f"Bearer {key}"},
            {
                "instant": "worker/instant",
                "clock": "worker/clock",
                "plan": "conductor-ultra",
            },
        )


@contextmanager
def web(
    env: dict[str, str], path: Path, *, core: int | None = None
) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Start the site on a prepared database; give its address and process.

    `core`: the one it and its children are kept on, as docs/operations.md has it.
    """
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "conductor_site", "--port", str(port)]
    if core is not None:
        command = ["taskset", "--cpu-list", str(core), *command]
    env = {**env, "CONDUCTOR_URL": url}
    with process(command, probe=f"{url}/healthz", folder=path, env=env) as child:
        yield url, child


def prepare(
    env: dict[str, str], path: Path, model_url: str, stream_model: str = STREAM_MODEL
) -> str:
    """Make a team with a pool in the database of `env` and return a key of it.

    Adds to `env` what the site's processes need besides.
    """
    env |= {"CONDUCTOR_VAR_DIR": str(path), "LOG_LEVEL": "WARNING"}
    (path / "static").mkdir()
    pool = path / "pool.yaml"
    pool.write_text(POOL.format(url=model_url, stream_model=stream_model))
    manage(env, "migrate", "--verbosity", "0")
    manage(env, "team_create", "Bench", "--slug", "bench")
    manage(env, "pool_import", str(pool), "--team", "bench")
    return manage(env, "api_key_issue", "--team", "bench", "--name", "bench")


def manage(env: dict[str, str], *arguments: str) -> str:
    """Run a management command and return what it prints."""
    done = subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env={**os.environ, **env},
        check=True,
        capture_output=True,
    )
    return done.stdout.decode().strip()


def family(pid: int) -> list[int]:
    """Return a process and its children: what they use is used by the server."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(each for child in children for each in family(int(child)))]


def load(server: Server, model: str, mode: str = "closed", **job: Any) -> Any:
    """Put one round of load on a server and return what was seen."""
    body = {
        "model": server.models[model],
        "messages": [{"role": "user", "content": "What is 17 * 23 + 4?"}],
        **job.pop("body", {}),
    }
    document = {
        "mode": mode,
        "url": server.url,
        "headers": server.headers,
        "pids": [pid for each in server.pids for pid in family(each)],
        "body": body,
        **job,
    }
    done = subprocess.run(
        [sys.executable, "-m", "bench.generator"],
        cwd=ROOT,
        input=json.dumps(document).encode(),
        stdout=subprocess.PIPE,
        timeout=JOB_S,
        check=True,
    )
    seen = json.loads(done.stdout)
    if seen.get("failed"):
        raise RuntimeError(f"{server.name}: {seen['failed']} failed: {seen['failure']}")
    return seen
