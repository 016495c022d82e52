"""One task of a suite, as files, the REST API and the database have it. Pure."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, StringConstraints

from apps.core.input_parts import InputPart, one_line
from apps.evaluation.verifiers.kinds import Verifier

MAX_PROMPT = 200_000
"""Characters."""
NO_FAMILY = "all"
Split = Literal["held_out", "training"]
Label = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=60),
    AfterValidator(one_line),
]


class SuiteTask(InputPart):
    """A prompt, and the verifier that says whether an answer to it is right."""

    id: Annotated[
        str,
        StringConstraints(strip_whitespace=True, min_length=1, max_length=100),
        AfterValidator(one_line),
    ]
    """Unique in the suite; the same in later versions for the same task."""
    family: Label = NO_FAMILY
    """The kind of task, by which reports are broken down."""
    split: Split = "held_out"
    """training: planners may learn from it, so comparisons leave it out."""
    prompt: Annotated[str, StringConstraints(min_length=1, max_length=MAX_PROMPT)]
    verifier: Verifier

    @property
    def needs_grader(self) -> bool:
        """Say whether a model judges its answers."""
        return self.verifier.kind == "model_graded"

    @property
    def needs_sandbox(self) -> bool:
        """Say whether the code of its answers is run."""
        return self.verifier.kind == "unit_tests"
