"""The folders of conductors' trainings: what the trainer reads and writes.

A folder holds prompts while its training runs. Afterwards only the weights are kept,
and those until their version is deleted; a regular job deletes folders without a row.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from uuid import UUID

from django.conf import settings
from django.utils import timezone

from apps.audit.models import JobState
from apps.training.conductor.models import (
    ConductorOutcome,
    ConductorStage,
    ConductorTraining,
    ConductorVersion,
)
from apps.training.conductor.trainer_faults import LOG
from apps.training.conductor.training_folder import BASE, FITTED, MODEL, RECURSION

NOWHERE = "none"
"""There is no such folder."""
ADAPTER_FILE = "adapter_config.json"
LOG_DAYS = 7
"""How long the log of a trainer that failed is kept: it may quote prompts."""


@dataclass(frozen=True, slots=True)
class Weights:
    """What a folder of weights holds."""

    digest: str
    """SHA-256 over names and digests of all files, in hexadecimal."""
    size_bytes: int
    is_adapter: bool


def training_folder(training_id: UUID) -> Path:
    """Return the folder of a training; whether it is there is another question."""
    return Path(settings.CONDUCTOR_TRAINING_DIR) / str(training_id)


def version_folder(version: ConductorVersion) -> Path:
    """Return the folder of a version's weights."""
    return Path(settings.CONDUCTOR_TRAINING_DIR) / version.folder


def weights_settle(training_id: UUID, name: str | None) -> Path:
    """Return the folder of a training's weights, which the trainer calls `name`.

    Those that were kept from an earlier stage go there. Other names lead nowhere, and
    so does none: a trainer can name no folder outside of its own.
    """
    folder = training_folder(training_id)
    fitted, model = folder / FITTED, folder / MODEL
    if name == FITTED and fitted.is_dir() and not model.exists():
        fitted.rename(model)
    return model if name in (FITTED, MODEL) else folder / NOWHERE


def recursion_settle(training_id: UUID, name: str | None) -> Path:
    """Return the folder of a training's weights after its last part.

    `name`: `MODEL` if that part made them; `FITTED`: they are still those that it began
    with. Others, and none, lead nowhere.
    """
    folder = training_folder(training_id)
    made = folder / RECURSION / MODEL
    if name == MODEL and made.is_dir() and not made.is_symlink():
        folder_link(made, folder / MODEL)
        return folder / MODEL
    return folder / MODEL if name == FITTED else folder / NOWHERE


def recursion_folder(folder: Path) -> None:
    """Make a new folder for the last part of a training, with the weights so far.

    Call it before the training's stage is the last one; it can be called again.
    """
    rounds = folder / RECURSION
    shutil.rmtree(rounds, ignore_errors=True)
    rounds.mkdir(mode=0o700)
    folder_link(folder / MODEL, rounds / FITTED)
    if (folder / BASE).is_dir():  # a LoRA adapter is on top of it
        folder_link(folder / BASE, rounds / BASE)


def folder_link(source: Path, target: Path) -> None:
    """Let a folder be found in another place too, if possible without a copy.

    What was there goes. Interrupted, it can be done again.
    """
    half = target.with_name(f"{target.name}.linked")
    shutil.rmtree(half, ignore_errors=True)
    shutil.copytree(source, half, symlinks=True, copy_function=_link_or_copy)
    shutil.rmtree(target, ignore_errors=True)
    half.rename(target)


def _link_or_copy(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # not every file system has links
        shutil.copy2(source, target)


def weights_of(folder: Path) -> Weights | None:
    """Return what the weights in a folder are; None: there are none. Blocks."""
    if not folder.is_dir() or folder.is_symlink():
        return None
    whole, size = hashlib.sha256(), 0
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    if not files or any(path.is_symlink() for path in folder.rglob("*")):
        return None
    for path in files:
        name = path.relative_to(folder).as_posix()
        whole.update(f"{file_digest(path)}  {name}\n".encode())
        size += path.stat().st_size
    return Weights(whole.hexdigest(), size, (folder / ADAPTER_FILE).is_file())


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal. Blocks."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def folder_keep(training_id: UUID, *kept: str) -> None:
    """Delete a training's folder but what is `kept` of it: MODEL, LOG."""
    folder = training_folder(training_id)
    if not kept:
        folder_delete(training_id)
        return
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.name in kept:
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def has_log(training_id: UUID) -> bool:
    """Say whether the trainer of a training printed something, as far as is kept."""
    log = training_folder(training_id) / LOG
    return log.is_file() and log.stat().st_size > 0


def folder_delete(training_id: UUID) -> None:
    """Delete a training's folder, weights included."""
    shutil.rmtree(training_folder(training_id), ignore_errors=True)


def folders_sweep() -> Iterator[UUID]:
    """Delete the folders of which nothing is kept; yield the id of each training.

    Those of deleted teams, pools and suites, and of trainings that ended without
    weights. The log of one that failed is kept for `LOG_DAYS`.
    """
    root = Path(settings.CONDUCTOR_TRAINING_DIR)
    for folder in sorted(root.iterdir()) if root.is_dir() else ():
        training_id = _id_of(folder)
        if training_id is None:
            continue
        if _trains(training_id):
            continue
        # Once more: a process may have died before it did this.
        kept = [MODEL] if _has_weights(training_id) else []
        kept += [LOG] if _has_failed_lately(training_id) else []
        folder_keep(training_id, *kept)
        if not kept:
            yield training_id


def _id_of(folder: Path) -> UUID | None:
    try:
        return UUID(folder.name) if folder.is_dir() else None
    except ValueError:
        return None


def _has_weights(training_id: UUID) -> bool:
    """Say whether weights are kept, or waited for by a training that has them."""
    trainings = ConductorTraining.objects.across_teams().filter(id=training_id)
    if trainings.exclude(state=JobState.DONE).exists():
        return True
    versions = ConductorVersion.objects.across_teams()
    return versions.filter(folder=weights_folder_name(training_id)).exists()


def _has_failed_lately(training_id: UUID) -> bool:
    since = timezone.now() - timedelta(days=LOG_DAYS)
    rows = ConductorTraining.objects.across_teams().filter(id=training_id)
    return rows.filter(outcome=ConductorOutcome.FAILED, finished_at__gte=since).exists()


def _trains(training_id: UUID) -> bool:
    """Say whether a trainer may still need the folder."""
    rows = ConductorTraining.objects.across_teams().filter(id=training_id)
    has_weights = (ConductorStage.SERVE, ConductorStage.GATE)
    return rows.exclude(state=JobState.DONE).exclude(stage__in=has_weights).exists()


def weights_folder_name(training_id: UUID) -> str:
    """Return what `ConductorVersion.folder` is for the weights of a training."""
    return f"{training_id}/{MODEL}"
