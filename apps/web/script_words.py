"""The words of the scripts of all pages, for `static/js/words.js`.

A script names its words in English. A page in another language carries their
translations; words that are not listed here stay English.
"""

from __future__ import annotations

from collections.abc import Callable

from django.utils.translation import get_language, gettext, gettext_noop, ngettext

ENGLISH = "en"
"""The language that all words are written in; others are translations."""
TEXTS = (
    gettext_noop("Theme: automatic"),
    gettext_noop("Theme: light"),
    gettext_noop("Theme: dark"),
    gettext_noop("Copy"),
    gettext_noop("Copied"),
    gettext_noop("Copying is blocked"),
    gettext_noop("Nothing found. Try fewer or other words."),
    gettext_noop("The search did not work. Check the connection, or reload the page."),
    gettext_noop(
        "This browser, or this address, has no passkeys. They need https or localhost."
    ),
    gettext_noop("That was cancelled, or took too long. Nothing has changed."),
    gettext_noop("This device has a passkey for your account already."),
    gettext_noop("That did not work. Try again, or use another way."),
)
COUNTED: dict[str, Callable[[int], str]] = {
    "{count} result": lambda n: ngettext("{count} result", "{count} results", n),
    "{count} new run": lambda n: ngettext("{count} new run", "{count} new runs", n),
}
SAMPLES = {"zero": 0, "one": 1, "two": 2, "few": 3, "many": 11, "other": 100}
"""A number of each category of CLDR that whole numbers may fall into. In a language
without a category its number takes the form that the language has for it."""


def script_words() -> dict[str, str | dict[str, str]]:
    """Return translations by their English words; empty if the page is in English.

    Of words with a number: forms by their categories of `Intl.PluralRules`.
    """
    if get_language() == ENGLISH:
        return {}
    counted = {one: _forms(form) for one, form in COUNTED.items()}
    return {text: gettext(text) for text in TEXTS} | counted


def _forms(form: Callable[[int], str]) -> dict[str, str]:
    forms = {category: form(number) for category, number in SAMPLES.items()}
    other = forms["other"]
    return {
        category: text
        for category, text in forms.items()
        if category == "other" or text != other
    }
