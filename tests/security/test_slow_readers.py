"""Readers of foreign text that are more than one regular expression are linear too."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

import pytest

from apps.core.errors import ConductorError
from apps.engine.text import strip_thinking, thinking_in
from apps.evaluation.verifiers.answer_code import answer_code
from apps.governance.sensitive_data.detection import findings_in
from apps.governance.sensitive_data.plain_form import plain_words
from apps.planners.escaping import quoted
from apps.planners.final_answer import final_answer
from apps.presets.templates import TemplateError, template_escape, template_read
from apps.training.learning_data.subtask_texts import general_words

MAX_CPU_S = 5.0
"""Linear readers take up to one second; quadratic ones took ten and more."""
CHARS = 200_000
UNITS = (
    "\n",
    "\\",
    "{{",
    "\\{{",
    "{{a}}",
    "\\boxed{",
    "}",
    "Answer: ",
    "**",
    "<think>",
    "</think>",
    "```\n",
    "``` ",
    "«",
    "“",
    "\n— simulated worker a",
    "| - ",
    "4 ",
    "é\u200b",
    "e\u0301",
    "\u00ad \n",
)
READERS: tuple[Callable[[str], object], ...] = (
    template_read,
    template_escape,
    final_answer,
    answer_code,
    strip_thinking,
    thinking_in,
    general_words,
    quoted,
    findings_in,
    plain_words,
)


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.__name__)
@pytest.mark.parametrize("unit", UNITS, ids=repr)
def test_no_text_is_slow_to_read(reader: Callable[[str], object], unit: str) -> None:
    text = unit * (CHARS // len(unit))
    begun = time.thread_time()
    with suppress(TemplateError, ConductorError):
        reader(text)
    assert time.thread_time() - begun < MAX_CPU_S
