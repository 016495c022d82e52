"""Prompt templates: what is a variable, what is text, and what is refused."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.presets.templates import (
    DEFAULT_LENGTH,
    MOST_PLACES,
    MOST_VARIABLES,
    NAME_LENGTH,
    Template,
    TemplateError,
    template_escape,
    template_read,
)

NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)
BRACES = st.text(alphabet="\\{}|ab \n", max_size=30)
TEXTS = BRACES | st.text(max_size=30)


def names(template: Template) -> list[str]:
    return [each.name for each in template.variables]


@pytest.mark.parametrize(
    ("text", "values", "filled"),
    [
        ("Hello", {}, "Hello"),
        ("Hello {{name}}!", {"name": "Bob"}, "Hello Bob!"),
        ("{{ name }}", {"name": "Bob"}, "Bob"),
        ("{{a}}{{b}}{{a}}", {"a": "1", "b": "2"}, "121"),
        ("{{tone|friendly}}", {}, "friendly"),
        ("{{tone|friendly}}", {"tone": ""}, ""),
        ("{{tone|}}", {}, ""),
        ("{{a}} {{a|x}}", {}, "x x"),
        ("{{a|x|y}}", {}, "x|y"),
        (r"\{{name}}", {}, "{{name}}"),
        (r"\\{{name}}", {"name": "Bob"}, r"\Bob"),
        (r"\\\{{name}}", {}, r"\{{name}}"),
        (r"C:\new {a} }}", {}, r"C:\new {a} }}"),
        ("{{_1}}", {"_1": "x"}, "x"),
        ("{{{a}}}", {"a": "x"}, "{x}"),
        (r"\{{{{a}}", {"a": "x"}, "{{x"),
    ],
)
def test_variables_are_filled_in(text, values, filled):
    assert template_read(text).fill(values) == filled


def test_variables_come_in_the_order_of_their_places():
    template = template_read("{{b}} {{a|1}} {{b}}")
    assert names(template) == ["b", "a"]
    assert template.missing({}) == ["b"]
    assert template.unknown({"c": "", "b": ""}) == ["c"]


def test_a_value_is_never_read_as_a_template():
    values = {"a": "{{b}}", "b": r"\{{a}}"}
    assert template_read("{{a}} {{b}}").fill(values) == r"{{b}} \{{a}}"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a\nb {{name", "line 2: a variable is not closed"),
        ("{{", "line 1: a variable is not closed"),
        ("{{}}", "line 1: '' is no name"),
        ("{{1st}}", "'1st' is no name"),
        ("{{first name}}", "'first name' is no name"),
        ("{{naïve}}", "'naïve' is no name"),
        ("{{{{name}}", "'{{name' is no name"),
        ("{{a|x {{b}}", "the default of 'a' holds {{"),
        ("{{a|x}} {{a|y}}", "'a' has two different defaults"),
        (f"{{{{{'n' * (NAME_LENGTH + 1)}}}}}", "is no name"),
        (f"{{{{a|{'x' * (DEFAULT_LENGTH + 1)}}}}}", "more than 1,000 characters"),
        (
            "".join(f"{{{{a{n}}}}}" for n in range(MOST_VARIABLES + 1)),
            "at most 20 variables; this one has 21",
        ),
        ("{{a}} " * (MOST_PLACES + 1), "at most 500 places"),
        ("{{a}}" * (MOST_PLACES + 1), "at most 500 places"),
    ],
)
def test_a_bad_template_is_refused_with_the_reason(text, why):
    with pytest.raises(TemplateError) as caught:
        template_read(text)
    assert why in str(caught.value)
    assert len(str(caught.value)) < 300


@given(TEXTS)
def test_an_escaped_text_is_a_template_of_itself(text):
    template = template_read(template_escape(text))
    assert template.variables == ()
    assert template.fill({}) == text


@given(st.lists(st.tuples(TEXTS, NAMES), max_size=10), TEXTS, st.data())
def test_texts_and_values_stay_as_they_are(pieces, end, data):
    values = {name: data.draw(TEXTS) for _, name in pieces}
    source = "".join(_before_variable(t) + f"{{{{{n}}}}}" for t, n in pieces)
    filled = template_read(source + template_escape(end)).fill(values)
    assert filled == "".join(text + values[name] for text, name in pieces) + end


def test_texts_between_variables_are_no_places():
    assert template_read("{{a}} b\\{{ c" * MOST_PLACES).fill({"a": "1"})


@given(st.lists(TEXTS, max_size=3), TEXTS)
def test_the_size_is_known_before_the_text_is_made(values, end):
    source = "".join(f"{{{{v{n}}}}}{{{{v{n}}}}}" for n in range(len(values)))
    template = template_read(source + template_escape(end))
    named = {f"v{n}": value for n, value in enumerate(values)}
    filled = template.fill(named).encode(errors="surrogatepass")
    assert template.filled_bytes(named) == len(filled)


@given(TEXTS)
def test_any_text_is_read_or_refused(text):
    try:
        template = template_read(text)
    except TemplateError as exc:
        assert str(exc)
    else:
        values = {each.name: "v" for each in template.variables}
        assert not template.missing(values) and not template.unknown(values)
        template.fill(values)


def _before_variable(text: str) -> str:
    """Return the template of a text that a variable follows at once."""
    end = re.search(r"(\\*)(\{*)\Z", text)
    assert end is not None
    pairs, single = divmod(len(end[2]), 2)
    tail = end[1] * 2 + r"\{{" * pairs + "{" * single
    return template_escape(text[: end.start()]) + tail
