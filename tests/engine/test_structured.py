"""Structured output: what fits, what is said of what does not, hostile schemas."""

import json
import re
import time
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.engine import structured
from apps.engine.ports import Messages
from apps.engine.schemas import MAX_REFERENCES
from apps.engine.structured import (
    MAX_KEPT_WEIGHT,
    check_schema,
    problem_of,
    repair_messages,
)

PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
TREE = {
    "$defs": {
        "node": {
            "type": "object",
            "properties": {
                "value": {"type": "integer"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
            },
            "required": ["value"],
        }
    },
    "$ref": "#/$defs/node",
}
JSON_OBJECT = {"type": "json_object"}


def shaped(schema: object) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}


@pytest.mark.parametrize("wanted", [None, {"type": "text"}])
def test_plain_text_has_no_problem(wanted):
    assert problem_of("anything at all", wanted) is None


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('{"a": 1}', JSON_OBJECT),
        (' \n{"a": [1, null]}\n', JSON_OBJECT),
        ('{"name": "Ada", "age": 36}', shaped(PERSON)),
        ('{"value": 1, "children": [{"value": 2}]}', shaped(TREE)),
        ("[]", {"type": "json_schema", "json_schema": {"name": "x"}}),
    ],
)
def test_what_fits_has_no_problem(text, wanted):
    assert problem_of(text, wanted) is None


@pytest.mark.parametrize(
    ("text", "wanted", "problem"),
    [
        ("", JSON_OBJECT, "it is not JSON"),
        ("Here you are: {}", JSON_OBJECT, "it is not JSON"),
        ("```json\n{}\n```", JSON_OBJECT, "it is not JSON"),
        ('{"a": NaN}', JSON_OBJECT, "it is not JSON"),
        ('{"a": 1} {}', JSON_OBJECT, "it is not JSON"),
        ("[1]", JSON_OBJECT, "it is JSON, but not an object"),
        ("{}", shaped(PERSON), '"name" is a required property; "age" is a required'),
        ('{"name": 1, "age": 2}', shaped(PERSON), "at /name: the value is not of type"),
        ('{"value": 1, "children": [{}]}', shaped(TREE), "at /children/0: "),
    ],
)
def test_what_does_not_fit_is_told_with_its_place(text, wanted, problem):
    assert problem in (problem_of(text, wanted) or "")


def test_values_of_the_answer_are_not_repeated():
    problem = problem_of('{"name": "secret-one", "age": "secret-two"}', shaped(PERSON))
    assert problem is not None and "secret" not in problem


@pytest.mark.parametrize("depth", [300, 500, 900, 5000])
def test_an_answer_that_is_nested_very_deep_has_a_problem(depth):
    """T10: no depth of an answer is a crash, and none that nobody checked is right."""
    answer = '{"a":' * depth + "1" + "}" * depth
    assert problem_of(
        answer, shaped({"type": "object", "properties": {"a": {"$ref": "#"}}})
    )


def test_a_problem_has_a_bounded_length():
    answer = json.dumps({f"field-{n}" * 50: n for n in range(1000)})
    assert len(problem_of(answer, shaped(PERSON)) or "") < 2500


def test_the_repair_names_the_problem_and_keeps_the_conversation():
    question: Messages = ({"role": "user", "content": "Who?"},)
    first, answer, request = repair_messages(question, "Ada", "it is not JSON")
    assert first == question[0]
    assert answer == {"role": "assistant", "content": "Ada"}
    assert request["role"] == "user" and "it is not JSON" in request["content"]


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ([], "as an object"),
        ({"type": "strin"}, "/type"),
        ({"properties": {"a": 3}}, "/properties/a"),
        ({"pattern": "(?=a)b"}, "/pattern"),
        ({"pattern": "a{1000}{1000}"}, "/pattern"),
        ({"$ref": "https://example.org/schema"}, "$ref"),
        ({"$ref": "file:///etc/passwd"}, "$ref"),
        ({"$ref": "#name"}, "$ref"),
        ({"$ref": "#/allOf/1", "allOf": [True]}, "does not lead to a schema"),
        ({"$ref": "#/title/x", "title": "t"}, "does not lead to a schema"),
        ({"$ref": "#/$defs/none"}, "does not lead to a schema"),
        ({"$ref": "#/default/x", "default": {"x": {}}}, "does not lead to a schema"),
        ({"$ref": "#/$defs", "$defs": {"a": {}}}, "does not lead to a schema"),
        ({"properties": {"a": {"$id": "https://example.org/a"}}}, "$id"),
        ({"$ref": "#"}, "for ever"),
        ({"properties": {"a": {"anyOf": [{"$ref": "#/properties/a"}]}}}, "for ever"),
        ({"$dynamicRef": "#a"}, "$dynamicRef"),
        ({"$schema": "http://json-schema.org/draft-04/schema#"}, "$schema"),
        ({"enum": ["x" * 300_000]}, "bytes of schema"),
        ({"patternProperties": {f"^{n}": {} for n in range(33)}}, "32 patterns"),
        (
            {"properties": {str(n): {"pattern": f"^{n}"} for n in range(33)}},
            "32 patterns",
        ),
    ],
)
def test_a_schema_that_cannot_be_used_is_refused(schema, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        check_schema(schema)


@pytest.mark.parametrize("depth", [101, 5000])
def test_a_schema_that_is_nested_too_deep_is_refused(depth):
    schema: dict[str, Any] = {}
    for _ in range(depth):
        schema = {"not": schema}
    with pytest.raises(ValueError, match=r"deep|[Rr]ecursion"):
        check_schema(schema)


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        (PERSON, '{"name": "a", "age": 1}', '{"name": "a"}'),
        (TREE, '{"value": 1, "children": [{"value": 2}]}', '{"children": []}'),
        (
            {
                "$schema": "http://json-schema.org/draft-07/schema#",
                "definitions": {"n": {"type": "integer"}},
                # A sibling of $ref means nothing in draft 7.
                "properties": {"a": {"$ref": "#/definitions/n", "minimum": 5}},
            },
            '{"a": 1}',
            '{"a": "1"}',
        ),
        (
            {
                "$defs": {"n": {"type": "integer"}},
                "properties": {"a": {"$ref": "#/$defs/n", "minimum": 5}},
            },
            '{"a": 6}',
            '{"a": 1}',
        ),
        (
            {
                "$defs": {"n": {"properties": {"a": True}}},
                "$ref": "#/$defs/n",
                "unevaluatedProperties": False,
            },
            '{"a": 1}',
            '{"b": 1}',
        ),
        (
            {"properties": {"$ref": {"type": "string"}, "enum": {"type": "null"}}},
            '{"$ref": "x", "enum": null}',
            '{"$ref": 1}',
        ),
        (
            {"$defs": {"a/b %": {"type": "null"}}, "$ref": "#/$defs/a~1b%20%25"},
            "null",
            "1",
        ),
        (
            {
                "allOf": [{"type": "integer"}],
                "properties": {"a": {"$ref": "#/allOf/0"}},
            },
            "1",
            "{}",
        ),
        ({"$id": "https://example.org/x", "type": "object"}, "{}", "[]"),
    ],
)
def test_schemas_mean_what_they_say(schema, good, bad):
    check_schema(schema)
    assert problem_of(good, shaped(schema)) is None
    assert problem_of(bad, shaped(schema)) is not None


# --- schemas that ask for more work than anybody has time for ------------------------


def doubling(levels: int, last: dict[str, Any]) -> dict[str, Any]:
    """Return a schema that looks at its last rule 2 ** levels times."""
    names = [f"#/$defs/a{level}" for level in range(levels + 1)]
    rules = {
        f"a{level}": {"allOf": [{"$ref": names[level + 1]}, {"$ref": names[level + 1]}]}
        for level in range(levels)
    }
    return {"$defs": {**rules, f"a{levels}": last}, "$ref": names[0]}


def union(depth: int) -> tuple[dict[str, Any], str]:
    """Return a union that asks each of its kinds for every child, and an answer."""
    kinds = [
        {
            "properties": {"left": {"$ref": "#/$defs/e"}, "op": {"const": op}},
            "required": ["op"],
        }
        for op in "abc"
    ]
    answer = '{"op": "c", "left": ' * depth + '{"op": "none"}' + "}" * depth
    return {"$defs": {"e": {"anyOf": kinds}}, "$ref": "#/$defs/e"}, answer


HOSTILE = [
    (doubling(40, {"type": "integer"}), "1"),
    (doubling(24, {"properties": {"x": {"$ref": "#/$defs/a0"}}}), '{"x": {"x": 1}}'),
    union(60),
    ({"required": [f"p{n}" for n in range(3000)]}, json.dumps({"q" * 20_000: 1})),
    ({"items": {"anyOf": [{"type": "string"}] * 200}}, json.dumps([1] * 20_000)),
]


@pytest.mark.parametrize(("schema", "answer"), HOSTILE)
def test_a_hostile_schema_takes_no_long_time(schema, answer):
    check_schema(schema)
    began = time.process_time()
    problem_of(answer, shaped(schema))
    assert time.process_time() - began < 2


def test_what_takes_too_long_to_check_is_not_called_right():
    problem = problem_of("1", shaped(doubling(40, {"type": "integer"})))
    assert problem is not None and "too deeply nested to be checked" in problem


def test_an_answer_too_long_for_its_schema_is_not_called_right():
    schema = {"enum": ["x" * 100_000]}
    check_schema(schema)
    problem = problem_of(json.dumps(["y" * 60_000]), shaped(schema))
    assert problem is not None and "too long" in problem


@pytest.mark.parametrize("answer", ["1", '{"a": "' + "x" * 2_000 + '"}'])
def test_of_mistakes_that_are_hard_to_find_the_place_is_not_told(answer):
    """The rule behind `not` is followed more often than for telling mistakes."""
    schema = doubling(10, {"type": ["integer", "object"]})
    wanted = shaped({"$defs": schema["$defs"], "not": {"$ref": schema["$ref"]}})
    assert problem_of(answer, wanted) == (
        "it does not fit the schema: a part of it breaks the rules it refers to"
    )


def test_as_much_work_as_allowed_is_done():
    levels = MAX_REFERENCES.bit_length() - 3
    assert problem_of("1", shaped(doubling(levels, {"type": "integer"}))) is None


# --- our checker says what the plain library says ------------------------------------

leaves = st.sampled_from(
    [
        {"type": "integer"},
        {"type": "string", "maxLength": 2},
        {"const": 1},
        {"enum": ["a", None]},
        {},
        True,
        False,
    ]
)
refs = st.sampled_from([{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b", "minimum": 1}])


def grown(inner):
    some = st.lists(inner, min_size=1, max_size=2)
    return st.one_of(
        st.builds(lambda p, r: {"properties": p, "required": r}, named(inner), names),
        st.builds(lambda x: {"items": x}, inner),
        st.builds(lambda x: {"anyOf": x}, some),
        st.builds(lambda x: {"oneOf": x}, some),
        st.builds(lambda x, y: {"allOf": x, **y}, some, refs),
        st.builds(lambda x: {"not": x}, inner),
        st.builds(
            lambda p: {"properties": p, "additionalProperties": False}, named(inner)
        ),
    )


def named(inner):
    return st.dictionaries(st.sampled_from(["x", "y", "enum"]), inner, max_size=2)


names = st.lists(st.sampled_from(["x", "y"]), max_size=1)
schemas = st.recursive(leaves | refs, grown, max_leaves=6)
values = st.recursive(
    st.sampled_from([1, 0, "a", "abc", None, True]),
    lambda inner: st.lists(inner, max_size=2) | named(inner),
    max_leaves=6,
)


@settings(max_examples=300, deadline=None)
@given(schemas, schemas, schemas, values)
def test_counting_references_changes_no_verdict(root, a, b, value):
    schema = {"$defs": {"a": a, "b": b}, "allOf": [root]}
    try:
        check_schema(schema)
    except ValueError as exc:
        assert "for ever" in str(exc)
        return
    expected = jsonschema_rs.Draft202012Validator(schema).is_valid(value)
    problem = problem_of(json.dumps(value), shaped(schema))
    assert (problem is None) == expected


def test_checkers_of_many_patterns_are_not_all_kept():
    for number in range(20):
        names: dict[str, Any] = {f"^{number}-{n}$": {} for n in range(32)}
        check_schema({"patternProperties": names})
    kept = structured._checker._kept
    assert sum(1 + checker.patterns for checker in kept.values()) <= MAX_KEPT_WEIGHT
    assert kept


def test_checkers_of_large_schemas_are_not_all_kept():
    for number in range(10):
        check_schema({"title": str(number), "enum": ["x" * 100_000]})
    assert len(structured._checker._kept) <= 3
