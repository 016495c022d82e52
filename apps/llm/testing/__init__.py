"""A scripted provider on loopback, for tests of everything that calls a model.

`FakeProvider` is the server. What it says is a list of scripts: made by hand, or of an
`Answer` by one of the `DIALECTS`, one per protocol. The functions without a dialect
speak chat completions.
"""

from apps.llm.testing.answers import Answer, Dialect, stream_of
from apps.llm.testing.dialects import DIALECTS
from apps.llm.testing.openai import (
    DONE_EVENT,
    answer_script,
    chunk_event,
    refusal_script,
    stream_script,
    usage_event,
)
from apps.llm.testing.server import (
    FakeProvider,
    Framing,
    Recorded,
    Script,
    event,
    events_script,
    json_script,
)

__all__ = [
    "DIALECTS",
    "DONE_EVENT",
    "Answer",
    "Dialect",
    "FakeProvider",
    "Framing",
    "Recorded",
    "Script",
    "answer_script",
    "chunk_event",
    "event",
    "events_script",
    "json_script",
    "refusal_script",
    "stream_of",
    "stream_script",
    "usage_event",
]
