"""The documentation as pages of the site, for everybody who is signed in."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from apps.web.documentation.library import doc_find, doc_groups
from apps.web.documentation.rendering import doc_html

LISTED_LEVEL = 3
"""Headings down to this level are listed beside a page."""


@require_safe
@login_required
def doc_index(request: HttpRequest) -> HttpResponse:
    """List the pages of the documentation."""
    return render(request, "web/docs.html", {"groups": doc_groups()})


@require_safe
@login_required
def doc_page(request: HttpRequest, name: str) -> HttpResponse:
    """Show a page of the documentation."""
    doc = doc_find(name)
    headings = [each for each in doc.headings if each.level <= LISTED_LEVEL]
    context = {"doc": doc, "headings": headings, "html": doc_html(name)}
    return render(request, "web/doc.html", context)
