"""The base of all forms: the look of fields, and errors from services."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms

from apps.core.errors import InvalidFields, InvalidInput
from apps.web.formats import sentence

PLAIN_TYPES = {"checkbox", "radio", "hidden", "file"}
"""Inputs that are not drawn as a box."""


class ConsoleForm(forms.Form):
    """A form whose fields look like the site's and that can take a service's errors."""

    error_names: ClassVar[dict[str, str]] = {}
    """Fields that a service calls by another name than the form."""
    folded: ClassVar[tuple[str, ...]] = ()
    """Fields that are seldom needed; pages show them on demand."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("label_suffix", "")
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            widget = field.widget
            if getattr(widget, "input_type", "text") not in PLAIN_TYPES:
                widget.attrs.setdefault("class", "input")

    @property
    def main_fields(self) -> list[forms.BoundField]:
        """Return the fields that pages show at once."""
        return [field for field in self if field.name not in self.folded]

    @property
    def folded_fields(self) -> list[forms.BoundField]:
        """Return the fields that pages show on demand."""
        return [self[name] for name in self.folded if name in self.fields]

    @property
    def is_unfolded(self) -> bool:
        """Say whether a folded field differs from its default or has a fault."""
        return any(map(is_changed, self.folded_fields))

    def take(self, error: InvalidInput) -> None:
        """Show a service's complaint beside the field it is about."""
        if isinstance(error, InvalidFields):
            complaints = error.fields
        else:
            complaints = {error.param or "": [error.message]}
        for name, messages in complaints.items():
            own = self.error_names.get(name, name)
            is_known = own in self.fields and not self.fields[own].widget.is_hidden
            for message in messages:
                text = sentence(message)
                if is_known:
                    self.add_error(own, text)
                else:
                    self.add_error(None, f"{name}: {text}" if name else text)


def is_changed(field: forms.BoundField) -> bool:
    """Say whether a field differs from its default or has a fault."""
    return bool(field.errors) or _text(field.value()) != _text(field.field.initial)


def _text(value: object) -> str:
    return "" if value in (None, []) else str(value)
