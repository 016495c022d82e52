"""A scripted provider on loopback, for tests of everything that calls a model.

`FakeProvider` is the server. What it says is a list of scripts: made by hand, or of a
`ModelAnswer` by one of the `DIALECTS`, one per protocol. The functions without a
dialect speak chat completions.
"""

from apps.llm.testing.answers import AnswerProtocol, ModelAnswer, stream_of
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
    BodyFraming,
    FakeProvider,
    Recorded,
    Script,
    event,
    events_script,
    json_script,
)

__all__ = [
    "DIALECTS",
    "DONE_EVENT",
    "AnswerProtocol",
    "BodyFraming",
    "FakeProvider",
    "ModelAnswer",
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
