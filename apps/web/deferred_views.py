"""Views that are imported when they are first asked for, not when the process starts.

For apps that much comes with and that few requests need. A name that does not exist is
found by the tests, which ask for every address.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.module_loading import import_string

Page = Callable[..., HttpResponseBase]


def deferred_page(path: str) -> Page:
    """Return a view that imports the function at a dotted path and calls it."""

    def page(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        view: Page = import_string(path)
        return view(request, *args, **kwargs)

    page.__module__, _, page.__name__ = path.rpartition(".")
    page.__qualname__ = page.__name__
    return page


class DeferredOperations:
    """A view that imports a class of REST operations and calls it.

    It has what Django and the API's description look for at views of that kind.
    """

    csrf_exempt = True
    """The classes check it themselves, for sessions."""
    login_required = False

    def __init__(self, path: str) -> None:
        self._path = path
        self.initkwargs: dict[str, Any] = {}

    @cached_property
    def cls(self) -> Any:
        """Return the class."""
        return import_string(self._path)

    @cached_property
    def _view(self) -> Page:
        view: Page = self.cls.as_view()
        return view

    def __call__(
        self, request: HttpRequest, *args: Any, **kwargs: Any
    ) -> HttpResponseBase:
        """Answer a request."""
        return self._view(request, *args, **kwargs)
