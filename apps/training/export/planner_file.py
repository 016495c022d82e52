"""The file of a light planner: its fitted arrays, and how they were fitted.

A ZIP archive of `model.npz`, as `LightModel.to_bytes` writes it, and `fit.json`. The
arrays hold words of the prompts that it learned from, so a file is as secret as these.
It does not say which models its workers were: addresses differ from site to site.
"""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass
from typing import Annotated, Any

import orjson
from pydantic import Field, ValidationError

from apps.core.errors import InvalidInput
from apps.core.input_parts import InputPart, faults_of
from apps.core.keyring import unseal
from apps.planners.answer_worth import MOST_MICROS
from apps.planners.light.sources import ModelSource
from apps.pools.models import PlannerVersion
from apps.pools.services import PlannerFit

MODEL, FIT = "model.npz", "fit.json"
MAX_BYTES = 64 << 20
"""Of the arrays, and of the file."""
MAX_FIT_BYTES = 1 << 20
WRITTEN_AT = (1980, 1, 1, 0, 0, 0)
"""Of every file, so that equal planners have equal files."""
Count = Annotated[int, Field(ge=0, lt=2**31)]
Names = tuple[Annotated[str, Field(max_length=100)], ...]


class RecordedFit(InputPart):
    """How a planner was fitted, as its file says."""

    runs: Count
    graded_steps: Count
    kinds: Count
    workers: Annotated[Names, Field(min_length=1, max_length=200)]
    data_digest: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    source: ModelSource = ModelSource.FITTED
    embedding: dict[str, Any] | None = None
    answer_worth_micros: Annotated[int, Field(ge=1, le=MOST_MICROS)] | None = None
    best_by_family: dict[str, str] = Field(default_factory=dict)
    """The worker that was right most often alone, by family of tasks."""


@dataclass(frozen=True, slots=True)
class PlannerFile:
    """A planner that was read from a file."""

    stored: bytes
    """As `LightModel.to_bytes` returns it."""
    fit: PlannerFit
    best_by_family: dict[str, str]


def planner_written(version: PlannerVersion, best_by_family: dict[str, str]) -> bytes:
    """Return the file of a version. Raises: SecretUnreadable."""
    values = {k: v for k, v in version.fit.items() if k != "fingerprints"}
    fit = RecordedFit(
        **values, data_digest=version.data_digest, best_by_family=best_by_family
    )
    model = unseal(bytes(version.sealed), context=version.context)
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo(MODEL, WRITTEN_AT), model)
        archive.writestr(
            zipfile.ZipInfo(FIT, WRITTEN_AT),
            orjson.dumps(fit.model_dump(mode="json"), option=orjson.OPT_INDENT_2),
        )
    return content.getvalue()


def planner_read(content: bytes) -> PlannerFile:
    """Return the planner in a file. Raises: InvalidInput if it holds none."""
    # Brings NumPy with it, which a process without light planners does not need.
    from apps.planners.light.model import LightModel, UnreadableModel

    if len(content) > MAX_BYTES:
        raise InvalidInput(f"the file has more than {MAX_BYTES >> 20} MiB")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            stored = _part(archive, MODEL, MAX_BYTES)
            recorded = RecordedFit.model_validate_json(
                _part(archive, FIT, MAX_FIT_BYTES)
            )
        model = LightModel.from_bytes(stored)
    except ValidationError as exc:
        path, why = next(faults_of(exc))
        raise InvalidInput(f"{FIT}: {path}: {why}") from None
    except (UnreadableModel, zipfile.BadZipFile, KeyError, OSError) as exc:
        raise InvalidInput("the file is not that of a light planner") from exc
    if model.workers != recorded.workers:
        raise InvalidInput(f"{FIT} and {MODEL} are of different workers")
    values = recorded.model_dump(exclude={"best_by_family"})
    return PlannerFile(stored, PlannerFit(**values), recorded.best_by_family)


def _part(archive: zipfile.ZipFile, name: str, most: int) -> bytes:
    """Return a file of an archive. Raises: KeyError, BadZipFile if it is too large."""
    with archive.open(name) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise zipfile.BadZipFile(f"{name} is too large")
    return content
