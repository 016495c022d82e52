"""Providers that harm their clients: floods, endless lines, nesting, false lengths.

Each is a model called `hostile-…`; what it does is the same in every protocol.
"""

from __future__ import annotations

from apps.simulator.faulty.hostile import bodies, connections, errors, streams
from apps.simulator.faulty.hostile.sending import Send

PREFIX = "hostile-"


def ways() -> dict[str, Send]:
    """Return the hostile models by name.

    The second part of a name says where the harm is: `http` in the connection, `error`
    in an error, `stream` in events, `body` in an answer that is not streamed.
    """
    parts = {
        "http": connections.WAYS,
        "error": errors.WAYS,
        "stream": streams.WAYS,
        "body": bodies.WAYS,
    }
    return {
        f"{PREFIX}{part}-{name}": way
        for part, group in parts.items()
        for name, way in group.items()
    }
