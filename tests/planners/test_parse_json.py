"""Plans under a schema: what is asked of the server, and what is made of its reply."""

import json

import pytest

from apps.engine.errors import PlanFault, PlanRejected
from apps.planners.plan_formats import render_json
from apps.planners.schema import parse_json, response_format
from tests.planners.builders import WORKERS, result_of

GOOD_STEPS = [
    {"subtask": "Solve it.", "worker": 0, "access": []},
    {"subtask": "Try it too.", "worker": 1, "access": [0, 0]},
    {"subtask": "Check it.", "worker": 3, "access": "all"},
]


def reply(*steps, reasoning="Because.", **more):
    return json.dumps({"reasoning": reasoning, "steps": steps, **more})


def step(**changes):
    return {**GOOD_STEPS[0], **changes}


def without(name):
    return {key: value for key, value in GOOD_STEPS[0].items() if key != name}


def schema_of(**changes):
    options = {"workers": 4, "max_steps": 3, "may_keep": False, **changes}
    return response_format(**options)["json_schema"]["schema"]


def test_a_good_reply_is_a_plan():
    plan = parse_json(reply(*GOOD_STEPS), WORKERS)
    assert plan is not None and plan.reasoning == "Because."
    assert [(s.worker, s.subtask, s.access) for s in plan.steps] == [
        ("alpha", "Solve it.", ()),
        ("beta", "Try it too.", (0,)),
        ("delta", "Check it.", (0, 1)),
    ]


def test_D13_a_reply_between_fences_is_a_plan():
    text = f"```json\n{reply(*GOOD_STEPS)}\n```"
    assert parse_json(text, WORKERS) == parse_json(reply(*GOOD_STEPS), WORKERS)


def test_no_steps_means_keep():
    assert parse_json(reply(), WORKERS) is None


def test_raw_line_breaks_in_strings_are_read():
    text = reply(step(subtask="a#b"), reasoning="c#d").replace("#", "\n")
    assert result_of(text, parse_json) == [(0, "a\nb", ())]


def test_half_a_surrogate_pair_is_replaced():
    text = reply(step(subtask="a\udc80"))
    assert result_of(text, parse_json) == [(0, "a\ufffd", ())]


F = PlanFault


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", F.UNPARSEABLE),
        ("I would ask two models.", F.UNPARSEABLE),
        (reply(step())[:-20], F.UNPARSEABLE),
        ("[" * 60_000, F.UNPARSEABLE),
        ("9" * 60_000, F.UNPARSEABLE),
        (reply(step()) + " " * 70_000, F.UNPARSEABLE),
        ("[]", F.UNPARSEABLE),
        ("NaN", F.UNPARSEABLE),
        ('{"steps": []}', F.UNPARSEABLE),
        (reply(step(), budget=9), F.UNPARSEABLE),
        (reply(step(tool="shell")), F.UNPARSEABLE),
        (reply(step(**{"x" * 9000: 1})), F.UNPARSEABLE),
        (reply(without("worker")), F.UNPARSEABLE),
        (reply(step(worker="0")), F.UNPARSEABLE),
        (reply(step(worker=True)), F.UNPARSEABLE),
        (reply(step(worker=0.5)), F.UNPARSEABLE),
        (reply(step(access="none")), F.UNPARSEABLE),
        (reply(step(access=None)), F.UNPARSEABLE),
        (reply(step(access=["all"])), F.UNPARSEABLE),
        (reply(step(subtask=["a"])), F.UNPARSEABLE),
        (reply(step(subtask=" \0 ")), F.EMPTY_SUBTASK),
        (reply(step(worker=4)), F.UNKNOWN_WORKER),
        (reply(step(worker=-1)), F.UNKNOWN_WORKER),
        (reply(step(worker=10**4000)), F.UNKNOWN_WORKER),
        (reply(step(access=[0])), F.FORWARD_REFERENCE),
        (reply(step(), step(access=[1])), F.FORWARD_REFERENCE),
        (reply(step(), step(access=[-1])), F.BAD_ACCESS),
        (reply(*[step()] * 65), F.TOO_MANY_STEPS),
    ],
)
def test_unusable_replies_are_rejected_with_their_fault(text, fault):
    assert result_of(text, parse_json) is fault


def test_the_rejection_says_where_the_schema_is_broken():
    with pytest.raises(PlanRejected, match=r"'steps\.1\.worker': Input should be"):
        parse_json(reply(step(), step(worker="0")), WORKERS)


def test_the_schema_says_exactly_this():
    step_schema = {
        "type": "object",
        "properties": {
            "subtask": {"type": "string"},
            "worker": {"type": "integer", "enum": [0, 1, 2, 3]},
            "access": {
                "anyOf": [
                    {"type": "string", "enum": ["all"]},
                    {
                        "type": "array",
                        "items": {"type": "integer", "enum": [0, 1]},
                        "maxItems": 2,
                    },
                ]
            },
        },
        "required": ["subtask", "worker", "access"],
        "additionalProperties": False,
    }
    assert schema_of() == {
        "type": "object",
        "properties": {
            "reasoning": {"type": "string"},
            "steps": {
                "type": "array",
                "items": step_schema,
                "minItems": 1,
                "maxItems": 3,
            },
        },
        "required": ["reasoning", "steps"],
        "additionalProperties": False,
    }


def test_the_server_is_asked_to_be_strict():
    asked = response_format(workers=4, max_steps=3, may_keep=False)
    assert asked["type"] == "json_schema" and asked["json_schema"]["strict"] is True


def test_no_steps_are_allowed_if_there_is_an_answer_to_keep():
    assert schema_of(may_keep=True)["properties"]["steps"]["minItems"] == 0


def test_a_schema_of_one_step_has_no_empty_enum():
    # An empty enum is no valid schema, and servers refuse it.
    assert '"enum": []' not in json.dumps(schema_of(max_steps=1))


def test_reasoning_is_written_before_the_steps():
    assert list(schema_of()["properties"]) == ["reasoning", "steps"]


def test_strings_have_no_length_limits():
    assert "Length" not in json.dumps(schema_of())


def test_the_rest_is_left_to_a_worker_only_where_it_may_be():
    text = reply(*GOOD_STEPS, plans_rest=True)
    plan = parse_json(text, WORKERS, may_delegate=True)
    assert plan is not None and plan.plans_rest
    assert parse_json(render_json(plan, WORKERS), WORKERS, may_delegate=True) == plan
    plain = parse_json(reply(*GOOD_STEPS), WORKERS, may_delegate=True)
    assert plain is not None and not plain.plans_rest
    with pytest.raises(PlanRejected):
        parse_json(text, WORKERS)


def test_the_schema_asks_for_it_only_where_it_may_be():
    assert "plans_rest" not in schema_of()["properties"]
    schema = schema_of(may_delegate=True)
    assert schema["properties"]["plans_rest"] == {"type": "boolean"}
    assert schema["required"] == ["reasoning", "steps", "plans_rest"]
