"""Faults in the language of a page: each has its words, whichever page shows it."""

from __future__ import annotations

import pytest
from django.template import Context, Template
from django.utils import translation

from apps.engine.errors import CallFault, PlanFault
from apps.web.recorded_words import FAULTS

PAGES = ("console_figures", "playground")


@pytest.mark.parametrize("library", PAGES)
def test_pages_have_the_same_words_for_a_fault(library: str) -> None:
    shown = Template("{% load " + library + ' %}{{ "limit_cost"|fault_word }}')
    with translation.override("de"):
        assert shown.render(Context()) == translation.gettext("limit of cost")


def test_every_fault_of_calls_and_plans_has_words() -> None:
    assert {*CallFault, *PlanFault} <= set(FAULTS)
