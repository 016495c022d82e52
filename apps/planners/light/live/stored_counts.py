"""Stores the counts of a model apart from it: what graded runs changed since its fit.

No prompt and no word of one is in them, only how often who was right.
"""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import replace

import numpy as np

from apps.planners.light.model import LightModel, UnreadableModel
from apps.planners.light.profiles import Profiles
from apps.planners.light.situation_counts import SituationCounts


def counts_to_bytes(model: LightModel) -> bytes:
    """Return the counts of a model, and the fingerprints that they are of."""
    written = io.BytesIO()
    np.savez_compressed(
        written,
        allow_pickle=False,
        head=np.frombuffer(json.dumps(dict(model.fingerprints)).encode(), np.uint8),
        seen=model.profiles.seen,
        right=model.profiles.right,
        **model.counts.arrays(),
    )
    return written.getvalue()


def with_counts(model: LightModel, stored: bytes) -> LightModel:
    """Return the model with other counts than those of its fit.

    Raises: UnreadableModel if they are none, or not of this model.
    """
    try:
        with np.load(io.BytesIO(stored), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        fingerprints = json.loads(arrays.pop("head").tobytes())
        profiles = Profiles(arrays.pop("seen"), arrays.pop("right"))
        counts = SituationCounts(**arrays)
    except (EOFError, KeyError, TypeError, ValueError, zipfile.BadZipFile) as exc:
        raise UnreadableModel(f"not a light planner's counts: {exc}") from exc
    if profiles.seen.shape != model.profiles.seen.shape:
        raise UnreadableModel("the counts are of another light planner")
    return replace(model, profiles=profiles, counts=counts, fingerprints=fingerprints)
