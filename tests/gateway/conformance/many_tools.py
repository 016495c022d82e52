"""An MCP server on standard input with as many tools as it is told, for real clients.

Run: python many_tools.py 300
"""

from __future__ import annotations

import json
import sys
from typing import Any

ABOUT = "Looks up what is known about a subject, with every detail that there is. " * 24


def tools(count: int) -> list[dict[str, Any]]:
    """Return the tools, with descriptions of some 1,700 characters each."""
    schema = {"type": "object", "properties": {"subject": {"type": "string"}}}
    return [
        {"name": f"look_{n:04}", "description": ABOUT, "inputSchema": schema}
        for n in range(count)
    ]


def answer(request: dict[str, Any], count: int) -> dict[str, Any]:
    """Return the result of a request."""
    method, params = request["method"], request.get("params", {})
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "many", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": tools(count)}
    if method == "tools/call":
        text = f"{params['name']} knows that it is 4711"
        return {"content": [{"type": "text", "text": text}]}
    return {}


def main() -> None:
    """Answer requests until the input ends."""
    count = int(sys.argv[1])
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            reply = {
                "jsonrpc": "2.0",
                "id": request["id"],
                "result": answer(request, count),
            }
            sys.stdout.write(json.dumps(reply) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
