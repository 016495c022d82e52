"""The data class of a prompt: what was stated and what was found; the highest wins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from apps.core.data_classes import (
    DEFAULT_CLASS,
    DataClassName,
    highest,
)
from apps.governance.sensitive_data.detection import CLASS_OF, KINDS, findings_in
from apps.governance.sensitive_data.own_patterns import OwnPattern


@dataclass(frozen=True, slots=True)
class Classification:
    """The class of some texts, and what was found in them."""

    data_class: DataClassName
    findings: Mapping[str, int]
    """How many of each kind, in the text that has most of it; kinds that were not found
    are left out."""

    def joined(self, other: Classification) -> Classification:
        """Return the class of the texts of both, and what was found in them."""
        counts = Counter(self.findings) | Counter(other.findings)
        return Classification(
            highest((self.data_class, other.data_class)), dict(counts)
        )


def classify(
    texts: Iterable[str],
    stated: Iterable[DataClassName] = (),
    patterns: Sequence[OwnPattern] = (),
) -> Classification:
    """Return the class of texts. `stated` is what the key, caller or person says.

    Two `patterns` of the same name count together, in the higher of their classes.
    """
    counts: Counter[str] = Counter()
    for text in texts:
        own = (each for pattern in patterns for each in pattern.findings(text))
        # Texts of a run repeat each other, so their findings are not added up.
        counts |= Counter(each.kind for each in (*findings_in(text), *own))
    said = tuple(stated) or (DEFAULT_CLASS,)
    found = [CLASS_OF[kind] for kind in KINDS if kind in counts]
    found += [pattern.data_class for pattern in patterns if pattern.name in counts]
    return Classification(highest((*said, *found)), dict(counts))
