"""Starts the software the product is compared with, each in its own environment.

`make bench-peers` installs the environments from bench/peers. A peer that is not there
or does not start raises Unavailable, and the results say so.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bench.servers import PEERS, ROOT, Server, base_url, folder, free_port, process

LANGGRAPH = ROOT / ".venv-bench-langgraph" / "bin" / "python"
LITELLM = ROOT / ".venv-bench-litellm" / "bin" / "litellm"
PORTKEY = (
    ROOT / "var/bench/portkey/node_modules/@portkey-ai/gateway/build/start-server.js"
)
OFFLINE = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_BLOG_POSTS": "True",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
    "LITELLM_LOCAL_AUTOROUTER_PRESETS": "True",
    "LITELLM_LOCAL_POLICY_TEMPLATES": "True",
    "LITELLM_MODE": "PRODUCTION",
    "LITELLM_LOG": "ERROR",
    "DISABLE_ADMIN_UI": "True",
    "NO_DOCS": "True",
}
"""What keeps the LiteLLM proxy from fetching anything, and its production settings."""


class Unavailable(Exception):
    """The peer is not installed here or does not start."""


def _require(path: Path) -> str:
    if not path.exists():
        raise Unavailable(f"{path.relative_to(ROOT)} is not installed")
    return str(path)


@contextmanager
def _started(
    name: str, command: list[str], stack: ExitStack, path: Path, url: str, **more: str
) -> Iterator[int]:
    try:
        child = stack.enter_context(
            process(command, probe=url, folder=path, env=dict(more))
        )
    except RuntimeError as exc:
        # The last line says why; the rest may tell where things lie on this machine.
        why = str(exc).strip().splitlines()[-1].replace(str(ROOT), ".")
        raise Unavailable(f"{name} did not start: {why}") from exc
    yield child.pid


@contextmanager
def langgraph(model_server: Server) -> Iterator[Server]:
    """LangGraph behind Starlette, checkpoints in SQLite, one process."""
    port = free_port()
    url = f"http://127.0.0.1:{port}/v1/chat/completions"
    with ExitStack() as stack:
        path = stack.enter_context(folder())
        command = [
            _require(LANGGRAPH),
            str(PEERS / "langgraph_server.py"),
            *("--port", str(port)),
            *("--upstream", base_url(model_server)),
            *("--database", str(path / "checkpoints.sqlite3")),
        ]
        pid = stack.enter_context(
            _started("LangGraph", command, stack, path, url, LANGSMITH_TRACING="false")
        )
        yield Server("LangGraph", url, [pid], models={"plan": "graph"})


@contextmanager
def litellm(model_server: Server) -> Iterator[Server]:
    """The LiteLLM proxy: one worker, no database."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with ExitStack() as stack:
        path = stack.enter_context(folder())
        config = path / "config.yaml"
        text = (PEERS / "litellm.yaml").read_text()
        config.write_text(text.replace("UPSTREAM", base_url(model_server)))
        command = [
            _require(LITELLM),
            *("--config", str(config)),
            *("--host", "127.0.0.1", "--port", str(port)),
            *("--num_workers", "1", "--telemetry", "False"),
        ]
        probe = f"{url}/health/liveliness"
        pid = stack.enter_context(
            _started("LiteLLM", command, stack, path, probe, **OFFLINE)
        )
        yield Server(
            "LiteLLM proxy",
            f"{url}/v1/chat/completions",
            [pid],
            {"authorization": "Bearer sk-bench"},
            {"instant": "instant"},
        )


@contextmanager
def portkey(model_server: Server) -> Iterator[Server]:
    """The Portkey gateway: one Node process, no log of requests, no console."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with ExitStack() as stack:
        path = stack.enter_context(folder())
        script = _require(PORTKEY)
        command = ["node", script, f"--port={port}", "--headless"]
        pid = stack.enter_context(
            _started("Portkey", command, stack, path, url, NODE_ENV="production")
        )
        yield Server(
            "Portkey gateway",
            f"{url}/v1/chat/completions",
            [pid],
            {
                "authorization": "Bearer none",
                "x-portkey-provider": "openai",
                "x-portkey-custom-host": base_url(model_server),
            },
            {"instant": "instant"},
        )
