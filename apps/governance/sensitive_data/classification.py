"""The data class of a prompt: what was stated and what was found; the highest wins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from apps.core.data_classes import (
    DEFAULT_CLASS,
    DataClassName,
    highest,
)
from apps.governance.sensitive_data.detection import CLASS_OF, Kind, findings_in


@dataclass(frozen=True, slots=True)
class Classification:
    """The class of some texts, and what was found in them."""

    data_class: DataClassName
    findings: Mapping[Kind, int]
    """How many of each kind; kinds that were not found are left out."""


def classify(
    texts: Iterable[str], stated: Iterable[DataClassName] = ()
) -> Classification:
    """Return the class of texts. `stated` is what the key, caller or person says."""
    counts: Counter[Kind] = Counter()
    for text in texts:
        counts.update(each.kind for each in findings_in(text))
    said = tuple(stated) or (DEFAULT_CLASS,)
    data_class = highest((*said, *(CLASS_OF[kind] for kind in counts)))
    return Classification(data_class, dict(counts))
