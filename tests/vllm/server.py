"""A real vLLM on the CPU of this machine, with the tiny model, in processes of its own.

Started by the product's own `deploy/vllm/serve.sh`, plus what a CPU needs.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx

from apps.llm.vllm_metrics import ServerLoad, parse_load
from tests.processes.ports import ReservedPort

ROOT = Path(__file__).resolve().parents[2]
SERVE = ROOT / "deploy" / "vllm" / "serve.sh"
MAKE_MODEL = Path(__file__).with_name("tiny_model.py")
KEY = "sk-vllm-of-the-tests"
NAMES = ("conductor", "worker-0", "worker-1")
ADAPTER = "conductor-v2"
"""A version of the conductor: the same server, other weights."""
SEATS = 4
"""Requests that are answered at once; others wait."""
MAX_LENGTH = 131_072
ENDLESS_TOKENS = 100_000
"""An answer as long as this takes minutes on the fastest machine."""
PATIENCE_S = 300
"""How long tests wait for what must come: far longer than it takes anywhere."""
READY_S = 900
"""Thirty times what a start takes where nothing else runs."""
ON_CPU = (
    "--dtype=float32",
    "--enforce-eager",
    # Without it the start asks for too much; this holds what all seats can fill.
    f"--kv-cache-memory-bytes={SEATS * MAX_LENGTH * 512}",
    f"--max-num-seqs={SEATS}",
    # A prompt that is read in parts kills the engine of a CPU if the call has a seed.
    "--max-num-batched-tokens=32768",
)
FINISHED = re.compile(
    rb'^vllm:request_success_total\{.*finished_reason="(\w+)".*\} (\S+)$', re.MULTILINE
)
OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}


class VllmServer:
    """The server; `ensure` starts it, also after its engine has been killed.

    It serves the tiny model and its adapter, or a `model` that others have made, under
    one name.
    """

    def __init__(
        self,
        python: Path,
        folder: Path,
        model: Path | None = None,
        *,
        name: str = NAMES[0],
        max_length: int = MAX_LENGTH,
    ) -> None:
        self._python = python
        self._folder = folder
        self._model = model or folder / "model"
        self._max_length = max_length
        own = f"{ADAPTER}={self._model}-adapter"
        self._served = {
            "SERVE_NAMES": name if model else " ".join(NAMES),
            "SERVE_ADAPTERS": "" if model else own,
        }
        self._process: subprocess.Popen[bytes] | None = None
        self._reserved = ReservedPort()
        self.port = self._reserved.number

    @property
    def url(self) -> str:
        """Return the address that models are given."""
        return f"http://127.0.0.1:{self.port}/v1"

    def make_model(self) -> None:
        """Write the model's folder."""
        environment = {**os.environ, **OFFLINE}
        command = [self._python, MAKE_MODEL, self._model]
        subprocess.run(command, check=True, env=environment, timeout=READY_S)

    def ensure(self) -> None:
        """Return once the server answers; start it if it does not run."""
        if self._process is not None and self._process.poll() is None:
            if self._answers():
                return
            self.stop()
        self._start()

    def stop(self) -> None:
        """End the server and everything it has started."""
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(PATIENCE_S)

    def close(self) -> None:
        """End the server and let others have its port."""
        self.stop()
        self._reserved.close()

    def kill_engine(self) -> None:
        """Kill the process that holds the model; the one that speaks HTTP lives on."""
        assert self._process is not None
        for pid in descendants(self._process.pid):
            if b"EngineCore" in Path(f"/proc/{pid}/cmdline").read_bytes():
                os.kill(pid, signal.SIGKILL)
                return
        raise AssertionError("no engine among the server's processes")

    def load(self) -> ServerLoad:
        """Return how busy the server is."""
        metrics = self._metrics()
        load = parse_load(metrics)
        assert load is not None, metrics[:500]
        return load

    def finished(self) -> int:
        """Return how many answers came to their end; those left before do not count."""
        counts = FINISHED.findall(self._metrics())
        return round(sum(float(count) for why, count in counts if why != b"abort"))

    def _metrics(self) -> bytes:
        url = f"http://127.0.0.1:{self.port}/metrics"
        return httpx.get(url, timeout=PATIENCE_S).content

    def chat(self, **fields: Any) -> Any:
        """Ask the server itself."""
        body = {"model": NAMES[0], "messages": [{"role": "user", "content": "Hi"}]}
        answer = httpx.post(
            f"{self.url}/chat/completions",
            json={**body, **fields},
            headers={"Authorization": f"Bearer {KEY}"},
            timeout=PATIENCE_S,
        )
        assert answer.status_code == 200, answer.text
        return answer.json()["choices"][0]

    def _start(self) -> None:
        environment = {
            **os.environ,
            **OFFLINE,
            "SERVE_MODEL": str(self._model),
            **self._served,
            "SERVE_MAX_ADAPTER_RANK": "8",
            "SERVE_PORT": str(self.port),
            "SERVE_PYTHON": str(self._python),
            "SERVE_MAX_LENGTH": str(self._max_length),
            "VLLM_API_KEY": KEY,
            "VLLM_LOGGING_LEVEL": "WARNING",
        }
        log = self._folder / "vllm.log"
        with log.open("ab") as out:
            self._process = subprocess.Popen(
                [SERVE, *ON_CPU],
                env=environment,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        for _ in range(READY_S * 4):
            if self._answers():
                return
            with suppress(subprocess.TimeoutExpired):
                code = self._process.wait(0.25)
                raise AssertionError(f"vLLM ended with {code}:\n{_tail(log)}")
        self.stop()
        raise AssertionError(f"vLLM does not answer:\n{_tail(log)}")

    def _answers(self) -> bool:
        try:
            health = f"http://127.0.0.1:{self.port}/health"
            return httpx.get(health, timeout=PATIENCE_S).status_code == 200
        except httpx.TransportError:
            return False


def descendants(pid: int) -> list[int]:
    """Return the children of a process, and theirs."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            found += [int(child), *descendants(int(child))]
    return found


def _tail(log: Path) -> str:
    return log.read_text(errors="replace")[-4000:]
