"""What people and programs send about presets, in its shape."""

from __future__ import annotations

from typing import Annotated, Literal

from django.conf import settings
from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from apps.core.input_parts import InputPart, one_line
from apps.core.plain_text import is_plain
from apps.engine.limits import MAX_TIME_S
from apps.presets.models import DESCRIPTION_LENGTH, PRESET_NAME_LENGTH
from apps.presets.templates import TemplateError, template_read

MODEL_LENGTH = 200
MOST_STEPS = 1_000
"""More than any tier allows."""
MOST_COST_MICROS = 10**15
MAX_TEMPERATURE = 2


def _name(value: str) -> str:
    text = value.strip()
    if not text:
        raise PydanticCustomError("name", "it needs a name")
    if not is_plain(text):
        raise PydanticCustomError(
            "name",
            "a name holds no control characters, and none that turn the direction of "
            "text around",
        )
    return text


def _text(value: str) -> str:
    text = value.replace("\r\n", "\n")
    if "\0" in text:
        raise PydanticCustomError("text", "a text has no NUL")
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise PydanticCustomError("text", "it is not valid Unicode") from None
    if size > settings.MAX_PROMPT_BYTES:
        raise PydanticCustomError(
            "text",
            "it has {size} bytes; at most {most} are accepted",
            {"size": f"{size:,}", "most": f"{settings.MAX_PROMPT_BYTES:,}"},
        )
    return text


def _lines(value: str) -> str:
    text = _text(value).strip()
    if not all(each.isprintable() or each in "\n\t" for each in text):
        raise PydanticCustomError("text", "it holds control characters")
    return text


def _template(value: str) -> str:
    text = _text(value)
    if not text.strip():
        raise PydanticCustomError("template", "write a prompt")
    try:
        template_read(text)
    except TemplateError as exc:
        raise PydanticCustomError("template", "{why}", {"why": str(exc)}) from None
    return text


Name = Annotated[str, Field(max_length=PRESET_NAME_LENGTH), AfterValidator(_name)]
Description = Annotated[
    str, Field(max_length=DESCRIPTION_LENGTH), AfterValidator(_lines)
]
PromptTemplate = Annotated[str, AfterValidator(_template)]
SystemPrompt = Annotated[str, AfterValidator(_text)]
ClassName = Literal["public", "internal", "confidential", "restricted"]


class PresetSettings(InputPart):
    """How a prompt is to be answered. None, or empty: nothing is said about it."""

    model: Annotated[str, Field(max_length=MODEL_LENGTH), AfterValidator(one_line)] = ""
    """As the API takes it: a tier of a pool, or a worker that is asked directly."""
    temperature: Annotated[float, Field(ge=0, le=MAX_TEMPERATURE)] | None = None
    max_steps: Annotated[int, Field(ge=1, le=MOST_STEPS)] | None = None
    max_cost_micros: Annotated[int, Field(ge=1, le=MOST_COST_MICROS)] | None = None
    max_time_s: Annotated[int, Field(ge=1, le=MAX_TIME_S)] | None = None
    data_class: ClassName | None = None


class PresetContent(InputPart):
    """What a version of a preset says."""

    prompt: PromptTemplate
    system: SystemPrompt = ""
    settings: PresetSettings = PresetSettings()


class PresetValues(PresetContent):
    """A new preset."""

    name: Name
    description: Description = ""
    is_shared: bool = False


class PresetChanges(InputPart):
    """What changes of a preset; None: it stays. Other texts make a new version."""

    name: Name | None = None
    description: Description | None = None
    is_shared: bool | None = None
    is_archived: bool | None = None
    prompt: PromptTemplate | None = None
    system: SystemPrompt | None = None
    settings: PresetSettings | None = None
    version: int | None = None
    """The newest one, as the sender knows it. None: whatever it is."""
