"""Each module of a system is in the one list, and says all that others ask of it."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import string

import pytest

import apps.evaluation.systems as folder
from apps.core.errors import InvalidInput
from apps.evaluation.systems.base import BaseSystem, MeasuredSystem, VersionedSystem
from apps.evaluation.systems.kinds import KINDS
from apps.evaluation.systems.repeated_worker import RepeatedWorkerSystem
from apps.evaluation.systems.short_names import PAGE_CHOICES, systems_named
from apps.pools.selectors import pool_snapshot
from tests.conftest import make_pool

ID = "0199c0de-0000-7000-8000-00000000000a"


def test_every_system_of_the_folder_is_in_the_list():
    found = set()
    for module in pkgutil.iter_modules(folder.__path__):
        loaded = importlib.import_module(f"{folder.__name__}.{module.name}")
        for _, kind in inspect.getmembers(loaded, inspect.isclass):
            if issubclass(kind, BaseSystem) and kind.__module__ == loaded.__name__:
                found.add(kind)
    shared = {BaseSystem, MeasuredSystem, RepeatedWorkerSystem, VersionedSystem}
    assert found - shared == set(KINDS)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "conductor:ultra:rounds=2:conductor=x:workers=a,b",
            {
                "kind": "tier",
                "tier": "ultra",
                "max_rounds": 2,
                "conductor": "x",
                "workers": ["a", "b"],
            },
        ),
        (
            "moa:sim-birch:2",
            {
                "kind": "mixture_of_agents",
                "workers": ["sim-delta"],
                "aggregator": "sim-birch",
            },
        ),
        ("samples:a:4", {"kind": "samples", "worker": "a", "samples": 4}),
        (
            f"cascade:a:b:{ID}",
            {"kind": "cascade", "cheap": "a", "strong": "b", "measured_by": ID},
        ),
        (f"smoothie:{ID}", {"kind": "smoothie", "measured_by": ID}),
    ],
)
def test_short_names_stand_for_settings(cast, simulator_url, name, expected):
    make_pool(cast.team, simulator_url)
    assert systems_named([name], pool_snapshot(cast.team.id)) == [expected]


@pytest.mark.parametrize(
    "name", ["conductor:mega", "conductor:ultra:colour=red", "cascade:a:b", "moa:a:x"]
)
def test_other_names_are_refused_with_those_there_are(cast, simulator_url, name):
    make_pool(cast.team, simulator_url)
    with pytest.raises(InvalidInput, match="expected conductor:mini"):
        systems_named([name], pool_snapshot(cast.team.id))


def test_what_the_page_offers_are_names_of_systems(cast, simulator_url):
    make_pool(cast.team, simulator_url)
    snapshot = pool_snapshot(cast.team.id)
    values = [choice.value for choice in PAGE_CHOICES]
    assert len(set(values)) == len(values)
    for choice in PAGE_CHOICES:
        parts = [*choice.parts, *choice.again]
        names = [n for p in parts for _, n, _, _ in string.Formatter().parse(p)]
        filled = choice.short_names({name: "3" for name in names if name})
        assert len(filled) == 1 + len(choice.again)
        assert systems_named(filled, snapshot)
