"""Paths of API clients that are configured for another server, and what to tell them.

Such a client reads no page: its errors must be JSON, and say what its user has to
change.
"""

from __future__ import annotations

from typing import Final

ROOT: Final = "/v1"
FIRST_PARTS = frozenset(
    {
        "batches",
        "chat",
        "completions",
        "embeddings",
        "files",
        "messages",
        "models",
        "responses",
    }
)
"""What paths of an API like this one begin with, behind their root."""
OLLAMA_PARTS = frozenset(
    {"chat", "embed", "embeddings", "generate", "ps", "pull", "show", "tags", "version"}
)
"""What follows `/api/` in paths of Ollama's own protocol."""
LACKS_ROOT = f"add {ROOT} to the base URL"
TWO_SLASHES = "the path has two slashes in a row, so the base URL ends in one too many"
TWO_ROOTS = f"the client adds {ROOT} by itself, so its base URL has none"
AZURE = (
    "Azure's paths are not served; use a client for OpenAI itself, with a base URL "
    f"that ends in {ROOT} and the deployment's name as `model`"
)
GEMINI = (
    "Gemini's protocol is not served; use a client for OpenAI, with a base URL that "
    f"ends in {ROOT}"
)
OLLAMA = (
    "Ollama's own protocol is not served; choose an OpenAI-compatible provider, with a "
    f"base URL that ends in {ROOT}"
)
MCP = "there is no MCP server here"


def is_of_api_client(path: str) -> bool:
    """Return True for a path outside `/v1` that only an API client asks for."""
    if path.startswith("//"):
        path = "/" + path.lstrip("/")
        return path.startswith(f"{ROOT}/") or is_of_api_client(path)
    first, _, rest = path[1:].partition("/")
    if first == "api":
        return rest.rstrip("/") in OLLAMA_PARTS
    return first in FIRST_PARTS or first in ("mcp", "openai")


def hint_for(path: str) -> str:
    """Return what is wrong with the base URL that leads to a path; empty if unknown."""
    if "//" in path:
        return TWO_SLASHES
    if path.startswith(f"{ROOT}{ROOT}/"):
        return TWO_ROOTS
    if path.startswith(f"{ROOT}beta"):
        return GEMINI
    if path == ROOT or path.startswith(f"{ROOT}/"):
        return ""
    first = path[1:].partition("/")[0]
    return {"api": OLLAMA, "mcp": MCP, "openai": AZURE}.get(first, LACKS_ROOT)
