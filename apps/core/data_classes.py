"""Data classes, from public to restricted. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from apps.core.errors import InvalidInput

DataClassName = Literal["public", "internal", "confidential", "restricted"]
DATA_CLASSES: tuple[DataClassName, ...] = (
    "public",
    "internal",
    "confidential",
    "restricted",
)
"""In ascending order."""
DEFAULT_CLASS: DataClassName = "internal"
"""Of a prompt of which nothing is said and in which nothing is found."""


def data_class_read(value: object, *, param: str) -> DataClassName:
    """Return a data class that was sent. Raises: InvalidInput."""
    for name in DATA_CLASSES:
        if value == name:
            return name
    known = ", ".join(DATA_CLASSES)
    raise InvalidInput(f"{param}: expected one of {known}", param=param)


def highest(classes: Iterable[DataClassName]) -> DataClassName:
    """Return the highest of some classes; public if there is none."""
    return max(classes, key=DATA_CLASSES.index, default=DATA_CLASSES[0])


def classes_from(lowest: DataClassName) -> tuple[DataClassName, ...]:
    """Return a class and all that are higher."""
    return DATA_CLASSES[DATA_CLASSES.index(lowest) :]


def is_at_least(data_class: DataClassName, other: DataClassName) -> bool:
    """Say whether a class is as high as another one, or higher."""
    return DATA_CLASSES.index(data_class) >= DATA_CLASSES.index(other)
