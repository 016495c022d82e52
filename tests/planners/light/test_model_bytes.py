"""The stored form of a model: read back as it was, everything else refused."""

import io
import json
import pickle

import numpy as np
import pytest

from apps.planners.light.model import FORMAT, LightModel, UnreadableModel
from apps.planners.light.planner import LightPlanner
from tests.planners.light.builders import (
    SOLVE,
    STORY,
    SUM,
    asked,
    model,
    run,
    step,
    worker,
)

KNOWN = model(*[run(step("ada", SOLVE, [], 1))] * 9, run(step("ben", SOLVE, [], 0)))


def changed(**arrays) -> bytes:
    """Return the stored form with other arrays; None leaves one out."""
    with np.load(io.BytesIO(KNOWN.to_bytes())) as archive:
        kept = {name: archive[name] for name in archive.files} | arrays
    written = io.BytesIO()
    np.savez(written, **{name: a for name, a in kept.items() if a is not None})
    return written.getvalue()


def head(**more) -> np.ndarray:
    """Return a head with other values."""
    with np.load(io.BytesIO(KNOWN.to_bytes())) as archive:
        found = json.loads(archive["head"].tobytes())
    return np.frombuffer(json.dumps({**found, **more}).encode(), np.uint8)


def test_a_model_is_read_back_as_it_was():
    read = LightModel.from_bytes(KNOWN.to_bytes())
    assert read.workers == KNOWN.workers
    assert read.kinds.examples == KNOWN.kinds.examples
    assert read.kinds.kinds.tolist() == KNOWN.kinds.kinds.tolist()
    for kind in range(2):
        for mine, other in zip(KNOWN.tables(kind), read.tables(kind), strict=True):
            assert np.array_equal(mine, other)
    assert read.to_bytes() == KNOWN.to_bytes()


@pytest.mark.parametrize("prompt", [SUM, STORY])
def test_what_was_read_plans_the_same(prompt):
    request = asked(worker("ada"), worker("ben"), worker("cat"), prompt=prompt)
    rankings = [
        LightPlanner(each, 1).ranking(request)
        for each in (KNOWN, LightModel.from_bytes(KNOWN.to_bytes()))
    ]
    assert rankings[0] == rankings[1]


@pytest.mark.parametrize(
    "stored",
    [
        b"",
        b"garbage",
        b"PK\x03\x04 no archive",
        pickle.dumps({"head": 1}),
        KNOWN.to_bytes()[:-40],
        changed(head=head(format=FORMAT + 1)),
        changed(head=None),
        changed(head=np.frombuffer(b"[]", np.uint8)),
        changed(head=head(workers=5)),
        changed(seen=None),
        changed(centres=np.zeros((2, 3))),
        changed(kinds=np.array([0])),
        changed(kinds=np.array([0, 7])),
    ],
)
def test_other_bytes_are_refused(stored):
    with pytest.raises(UnreadableModel):
        LightModel.from_bytes(stored)


def test_an_array_of_objects_is_refused_and_not_unpickled():
    class Trap:
        def __reduce__(self):
            return (pytest.fail, ("it was unpickled",))

    objects = np.empty(1, object)
    objects[0] = Trap()
    with pytest.raises(UnreadableModel):
        LightModel.from_bytes(changed(centres=objects))
