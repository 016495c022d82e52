"""The OpenAPI document: valid, complete, with examples that fit; its pages."""

from __future__ import annotations

from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from django.core.management import call_command
from django.test import Client
from drf_spectacular.validation import validate_schema

from apps.rest.openapi_30 import as_openapi_30
from tests.rest.test_access import operations, operator_operations

METHODS = {"get", "post", "put", "patch", "delete"}


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    answer: dict[str, Any] = Client().get("/api/v1/schema/").json()
    return answer


def described(document: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (path, method, operation)
        for path, item in document["paths"].items()
        for method, operation in item.items()
        if method in METHODS
    ]


def test_the_document_is_valid_and_made_without_a_warning(tmp_path):
    target = tmp_path / "schema.yaml"
    call_command("spectacular", validate=True, fail_on_warn=True, file=str(target))
    assert target.read_text("utf-8").startswith("openapi: 3.1")


def test_the_document_is_also_valid_as_openapi_30(document):
    older: dict[str, Any] = Client().get("/api/v1/schema/3.0/").json()
    validate_schema(older)
    assert older["openapi"].startswith("3.0")
    assert older.keys() == document.keys()
    assert older["paths"].keys() == document["paths"].keys()
    assert (
        older["components"]["schemas"].keys()
        == document["components"]["schemas"].keys()
    )


@pytest.mark.parametrize(
    ("newer", "older"),
    [
        ({"type": ["string", "null"]}, {"type": "string", "nullable": True}),
        ({"type": "null"}, {"nullable": True, "enum": [None]}),
        (
            {"oneOf": [{"$ref": "#/a"}, {"type": "null"}]},
            {"nullable": True, "oneOf": [{"$ref": "#/a"}]},
        ),
        ({"type": "string", "examples": ["a"]}, {"type": "string", "example": "a"}),
        (
            {"properties": {"value": {"type": ["integer", "null"]}}},
            {"properties": {"value": {"type": "integer", "nullable": True}}},
        ),
        (
            {"examples": {"one": {"value": {"type": ["string", "null"]}}}},
            {"examples": {"one": {"value": {"type": ["string", "null"]}}}},
        ),
    ],
)
def test_schema_is_written_as_openapi_30(newer, older):
    assert as_openapi_30({"schema": newer})["schema"] == older


def test_several_types_at_once_cannot_be_written_as_openapi_30():
    with pytest.raises(ValueError, match="integer"):
        as_openapi_30({"schema": {"type": ["integer", "string"]}})


def test_every_operation_is_described(document):
    expected = [*operations(), *operator_operations()]
    assert len(described(document)) == len(expected)


def test_every_operation_has_a_name_a_summary_a_heading_and_who_may_call_it(document):
    names = []
    for path, method, operation in described(document):
        names.append(operation["operationId"])
        assert operation["summary"], (method, path)
        assert operation["tags"] != [""], (method, path)
        words = "For members: "
        ways: list[dict[str, list[str]]] = [{"apiKey": []}, {"session": []}]
        if path.startswith("/api/v1/site/"):
            words, ways = "For operators of the site", [{"session": []}]
        assert words in operation["description"], (method, path)
        assert operation["security"] == ways, (method, path)
    assert len(set(names)) == len(names)


def test_every_error_has_the_one_shape(document):
    for path, method, operation in described(document):
        errors = {code: r for code, r in operation["responses"].items() if code >= "4"}
        assert errors.keys() >= {"401", "403", "404", "429", "503"}, (method, path)
        for answer in errors.values():
            shape = answer["content"]["application/json"]["schema"]
            assert shape == {"$ref": "#/components/schemas/Error"}


def test_every_example_fits_its_shape(document):
    tried = 0
    for _, _, operation in described(document):
        for part in [operation.get("requestBody"), *operation["responses"].values()]:
            content = (part or {}).get("content", {}).get("application/json", {})
            for example in content.get("examples", {}).values():
                shape = {**content["schema"], "components": document["components"]}
                jsonschema.Draft202012Validator(shape).validate(example["value"])
                tried += 1
    assert tried > 40


def test_no_answer_in_the_document_holds_a_secret(document):
    shapes = document["components"]["schemas"]
    holders = {
        name
        for name, shape in shapes.items()
        if shape.get("properties", {}).keys() & {"secret", "digest", "sealed", "token"}
        and not name.endswith("Request")
    }
    assert holders == {"IssuedKey", "WebhookSecret"}


def test_the_document_and_its_pages_are_for_everybody(db):
    for path in ("schema/", "schema/3.0/", "docs/", "docs/?script="):
        assert Client().get(f"/api/v1/{path}").status_code == 200


def test_the_pages_read_the_document_that_swagger_ui_is_quick_with(db):
    script = Client().get("/api/v1/docs/?script=").content.decode()
    assert "/api/v1/schema/3.0/" in script


def test_the_pages_load_nothing_from_elsewhere(db):
    page = Client().get("/api/v1/docs/").content.decode()
    assert "//" not in page.replace("http://www.w3.org", "")
    assert "<style" not in page and "style=" not in page
