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
    gettext_noop("Diagram"),
    gettext_noop("Diagram, whose source can be shown as text"),
    gettext_noop("Source code"),
    gettext_noop("Enlarge"),
    gettext_noop("Make smaller"),
    gettext_noop("Make larger"),
    gettext_noop("Close"),
    gettext_noop("This diagram is too large to be drawn."),
    gettext_noop("This diagram takes too long to be drawn."),
    gettext_noop("This diagram cannot be drawn; its source may have a mistake."),
    gettext_noop("Nothing found. Try fewer or other words."),
    gettext_noop("The search did not work. Check the connection, or reload the page."),
    gettext_noop(
        "Passkeys do not work in this browser or at this address. They need https or "
        "localhost."
    ),
    gettext_noop("That was cancelled, or took too long. Nothing has changed."),
    gettext_noop("This device has a passkey for your account already."),
    gettext_noop("That did not work. Try again, or use another way."),
    gettext_noop("At most {number} files can be attached to a prompt."),
    gettext_noop("the file is too large (limit {limit})."),
    gettext_noop("reading …"),
    gettext_noop("{name} could not be uploaded. Try again."),
    gettext_noop("Pasted image"),
    gettext_noop("Remove {name}"),
    gettext_noop("{count} chosen."),
    gettext_noop("Choose at least two."),
    gettext_noop("Choose {number} at most."),
    gettext_noop("The cost of at least one is unknown."),
    gettext_noop("Together typically under {typical}."),
    gettext_noop("Together typically under {typical}, at most {most}."),
    gettext_noop("≈ {time} left"),
    gettext_noop("longer than usual"),
    gettext_noop("Waiting for approval"),
    gettext_noop("Usually about {time}; {rest}."),
    gettext_noop("The rating could not be saved. Try again."),
    gettext_noop("Run completed"),
    gettext_noop("Run failed"),
    gettext_noop("Run stopped"),
    gettext_noop("You will be notified"),
    gettext_noop("Notify me"),
    gettext_noop("Leave full screen"),
    gettext_noop("Plan in full screen"),
    gettext_noop("The prompt is too long: {length} (limit {limit})."),
    gettext_noop(
        "A run is in progress. Stop it, or wait until it ends, before you start "
        "another one."
    ),
    gettext_noop("at most {number}"),
    gettext_noop("no limit"),
    gettext_noop("{count} set"),
    gettext_noop("The run could not be started."),
    gettext_noop("Add prices"),
    gettext_noop(
        "The server could not be reached. Your prompt is still here; try again."
    ),
    gettext_noop("Use variables"),
    gettext_noop("Edit text"),
    gettext_noop("No preset matches."),
    gettext_noop(
        "No presets yet. Write a prompt, with {{name}} for what changes, and save it."
    ),
    gettext_noop(
        "The presets could not be loaded. Check the connection, and try again."
    ),
    gettext_noop("This preset could not be loaded. Try again."),
    gettext_noop(
        "The verification could not be run. This says nothing about the entries; try "
        "again."
    ),
    gettext_noop("Connection lost, reconnecting. The run continues and is on record."),
    gettext_noop(
        "The server has not answered for a while. The run continues and is on record."
    ),
    gettext_noop(
        "The server cannot be reached, so the run is not stopped yet. Stop is sent "
        "again until it arrives."
    ),
    gettext_noop(
        "The run could not be stopped and goes on. Try again, or reload the page."
    ),
    gettext_noop("Live updates are not available any more. Reload the page to go on."),
    gettext_noop("Run: {state}"),
    gettext_noop("Of the marked ones that would be {name}."),
    gettext_noop("Select all"),
    gettext_noop("Select none"),
    gettext_noop("The first {most} are marked; more are not tested at a time."),
    gettext_noop("Testing: {done} of {total} done."),
    gettext_noop("Asking…"),
    gettext_noop(
        "The server could not be reached. Type the model’s name, or try again."
    ),
    gettext_noop("Testing…"),
    gettext_noop("{name} is number {place} of {total}. Save to keep it."),
    gettext_noop("It is filled in above: save to keep it."),
    gettext_noop("This is not JSON:"),
    gettext_noop("receiving"),
    gettext_noop("Open run"),
    gettext_noop("Stopped."),
    gettext_noop("The server could not be reached, or the connection was cut."),
    gettext_noop("Step {reader} now reads step {read}."),
    gettext_noop("Step {reader} no longer reads step {read}."),
    gettext_noop("Step {number}"),
    gettext_noop("Up"),
    gettext_noop("Down"),
    gettext_noop("Move step {number} up"),
    gettext_noop("Move step {number} down"),
    gettext_noop("Remove"),
    gettext_noop("Remove step {number}"),
    gettext_noop("Subtask of step {number}"),
    gettext_noop("Worker of step {number}"),
    gettext_noop("Step {number} reads"),
    gettext_noop("Reads"),
    gettext_noop("step {number}"),
    gettext_noop("Step {number}, {worker}"),
    gettext_noop("{name}, chosen"),
    gettext_noop("{name}, read by step {number}"),
    gettext_noop(
        "Your reservation could not be renewed. Copy your reason, then reload the page."
    ),
)
COUNTED: dict[str, Callable[[int], str]] = {
    "{count} result": lambda n: ngettext("{count} result", "{count} results", n),
    "{count} preset": lambda n: ngettext("{count} preset", "{count} presets", n),
    "{count} new run": lambda n: ngettext("{count} new run", "{count} new runs", n),
    "{count} run selected": lambda n: ngettext(
        "{count} run selected", "{count} runs selected", n
    ),
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
