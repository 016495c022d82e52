"""Every word that is marked has its translation, in text and in the compiled file."""

from __future__ import annotations

import gettext
import re
from collections import Counter
from importlib import import_module

import pytest
from django.conf import settings
from django.utils import formats, translation

from apps.web.script_words import COUNTED, TEXTS, script_words
from tests.web.catalogues import PLACEHOLDER, ROOT, marked_words, messages_of

OTHERS = [code for code, name in settings.LANGUAGES if code != "en"]
pytestmark = pytest.mark.parametrize("code", OTHERS)
SAID = re.compile(
    r'\b(?:say|sayCount)\((?:[^"()]*\([^"]*\) \? )?"([^"]+)"(?: : "([^"]+)")?'
)


def folder(code):
    return ROOT / "locale" / code / "LC_MESSAGES"


def no_words(words, fault):
    """Fail with all words that have a fault, if there are some."""
    lines = "".join(f"\n  {word!r}" for word in sorted(words))
    assert not words, f"{len(words)} words {fault}:{lines}"


def messages(code):
    return messages_of(folder(code) / "django.po")


@pytest.mark.release
def test_every_marked_word_is_translated(code):
    known = [each.key for each in messages(code)]
    no_words(marked_words() - set(known), "have no translation")
    no_words(set(known) - marked_words(), "are translated and marked nowhere")
    assert len(known) == len(set(known))


@pytest.mark.release
def test_no_translation_is_empty_or_a_guess(code):
    found = messages(code)
    empty = {m.key for m in found if not all(m.translations)}
    no_words(empty, "have no translation")
    guesses = {m.key for m in found if "fuzzy" in m.flags}
    no_words(guesses, "have a translation that was guessed")


def test_translations_have_the_same_values_and_elements(code):
    for message in messages(code):
        wanted = [Counter(PLACEHOLDER.findall(text)) for text in message.english]
        for text in message.translations:
            assert Counter(PLACEHOLDER.findall(text)) in wanted, message.english


@pytest.mark.release
def test_compiled_catalogue_is_up_to_date(code):
    with (folder(code) / "django.mo").open("rb") as file:
        compiled = gettext.GNUTranslations(file)
    for message in messages(code):
        texts = message.texts
        if "msgid_plural" in texts:
            pair = texts["msgid"], texts["msgid_plural"]
            said = [compiled.ngettext(*pair, 1), compiled.ngettext(*pair, 2)]
        else:
            said = [compiled.gettext(message.key)]
        assert said == message.translations


def test_figures_dates_and_forms_are_those_of_english(code):
    names = import_module("django.conf.locale.en.formats").__dict__
    for name in filter(str.isupper, names):
        assert formats.get_format(name, code) == formats.get_format(name, "en"), name


def test_scripts_say_listed_words_only(code):
    said = set()
    for path in (ROOT / "static" / "js").glob("*.js"):
        text = path.read_text("utf-8")
        if 'from "./words.js"' in text:
            said |= {word for pair in SAID.findall(text) for word in pair if word}
    assert {
        word for word in (*TEXTS, *COUNTED) if not word.startswith("Theme:")
    } == said


@pytest.mark.release
def test_scripts_get_forms_for_one_and_many(code):
    with translation.override(code):
        forms = script_words()["{count} new run"]
    assert forms == {"one": "{count} neuer Lauf", "other": "{count} neue Läufe"}
