"""Any plan survives any way of writing it; any text is read quickly or rejected."""

import json
import time

from hypothesis import example, given, settings
from hypothesis import strategies as st

from apps.engine.errors import PlanRejected
from apps.engine.plan import Plan, PlannedStep, validate
from apps.planners.list_plan_parser import parse_lists
from apps.planners.plan_formats import render_example, render_json, render_lists
from apps.planners.schema import parse_json
from tests.planners.builders import WORKERS, read

untimed = settings(deadline=None)
"""A busy machine is no failure; the tests of speed bring a generous limit."""

LINE = st.characters(codec="utf-8", exclude_categories=["Cc", "Zl", "Zp"])
SUBTASKS = st.text(LINE, min_size=1, max_size=60).filter(str.strip).map(str.strip)
TRAPS = (
    'model_id = [3]', '"', "'", "]", "[", ", ", "# ", "```", "\\", "'all'", "\n", "”",
    "</think>", "access_list = []",
)  # fmt: skip
TRAPPED = st.lists(st.one_of(SUBTASKS, st.sampled_from(TRAPS)), min_size=1).map(
    lambda parts: f"a{''.join(parts)}z"
)
PLAIN = st.from_regex(r"[A-Za-z][a-z ]{0,30}[a-z.]", fullmatch=True).filter(
    lambda text: text.lower() not in ("none", "null")
)


@st.composite
def plans(draw, subtasks=SUBTASKS):
    count = draw(st.integers(1, 6))
    steps = []
    for index in range(count):
        earlier = st.sets(st.integers(0, index - 1)) if index else st.just(set())
        access = tuple(sorted(draw(earlier)))
        steps.append(
            PlannedStep(draw(subtasks), draw(st.sampled_from(WORKERS)), access)
        )
    return Plan(tuple(steps))


def parts(plan):
    return (
        [WORKERS.index(step.worker) for step in plan.steps],
        [step.subtask for step in plan.steps],
        [list(step.access) for step in plan.steps],
    )


def joined(models, subtasks, access, sign=" = ", between="\n"):
    return between.join(
        f"{name}{sign}{text}"
        for name, text in zip(
            ("model_id", "subtasks", "access_list"),
            (models, subtasks, access),
            strict=True,
        )
    )


def spread(items):
    return "[\n" + "".join(f"    {item},  # it's one]\n" for item in items) + "]"


def as_python(plan):
    return joined(*map(repr, parts(plan)))


def as_json_object(plan):
    names = ("model_id", "subtasks", "access_list")
    return json.dumps(dict(zip(names, parts(plan), strict=True)), indent=2)


def as_spread_lists(plan):
    models, subtasks, access = parts(plan)
    return joined(
        spread(models),
        spread(map(json.dumps, subtasks)),
        spread(map(repr, access)),
        ": ",
    )


def as_bullets_of_text(plan):
    models, subtasks, access = parts(plan)
    numbers = [f"Model {model}" for model in models]
    texts = [[str(step) for step in entry] for entry in access]
    return "- " + joined(repr(numbers), repr(subtasks), repr(texts), " = ", "\n- ")


QUOTED_FORMS = (
    lambda plan: render_lists(plan, WORKERS),
    as_python,
    as_json_object,
    as_spread_lists,
    as_bullets_of_text,
    lambda plan: f"```python\n{as_python(plan)}\n```\nThat is all.",
    lambda plan: f"<think>{as_python(plan)}</think>First this:\n{as_python(plan)}",
    lambda plan: f"model_id = [9], no:\n{as_python(plan)}",
    lambda plan: as_python(plan).replace("\n", "\r\n"),
    lambda plan: f"`{as_python(plan).replace(chr(10), '`' + chr(10) + '`')}`",
)
SLOPPY_FORMS = (
    lambda plan: joined(*(str(part).replace("'", "") for part in parts(plan))),
    lambda plan: joined(*(str(part).replace("'", "”") for part in parts(plan))),
    lambda plan: joined(*(str(part).replace("'", "’") for part in parts(plan))),
    lambda plan: joined(*(str(part).replace(" ", "  \n") for part in parts(plan))),
)


def spaces_folded(plan):
    """Forms without quotes cannot keep runs of white space."""
    steps = (
        PlannedStep(" ".join(s.subtask.split()), s.worker, s.access) for s in plan.steps
    )
    return Plan(tuple(steps))


@untimed
@given(plans(), st.sampled_from(QUOTED_FORMS))
def test_a_plan_survives_every_quoted_form(plan, form):
    assert read(form(plan)).steps == plan.steps


@untimed
@given(plans(TRAPPED), st.sampled_from(QUOTED_FORMS[:6]))
def test_traps_inside_subtasks_are_text(plan, form):
    assert read(form(plan)).steps == plan.steps


@untimed
@given(plans(PLAIN), st.sampled_from(SLOPPY_FORMS))
def test_a_plan_of_plain_words_survives_sloppy_forms(plan, form):
    assert spaces_folded(read(form(plan))).steps == spaces_folded(plan).steps


@untimed
@given(plans(st.from_regex(r"[a-z]+( [a-z]+'s? [a-z]+)*\.", fullmatch=True)))
def test_unescaped_apostrophes_do_no_harm(plan):
    models, subtasks, access = parts(plan)
    careless = "[" + ", ".join(f"'{text}'" for text in subtasks) + "]"
    text = joined(repr(models), careless, repr(access))
    assert read(text).steps == plan.steps


@untimed
@given(plans(), PLAIN)
def test_reasoning_and_steps_survive_our_own_rendering(plan, reasoning):
    whole = Plan(plan.steps, reasoning)
    assert parse_lists(render_example(whole, WORKERS), WORKERS) == whole


@untimed
@given(plans(TRAPPED), PLAIN)
def test_a_plan_survives_the_json_form(plan, reasoning):
    whole = Plan(plan.steps, reasoning)
    assert parse_json(render_json(whole, WORKERS), WORKERS) == whole


def read_or_reject(parse, text):
    """Return the plan if there is one; check that it is sound and took no time."""
    started = time.thread_time()
    try:
        plan = parse(text, WORKERS)
    except PlanRejected as exc:
        assert len(exc.message) < 300
        plan = None
    assert time.thread_time() - started < 2
    if plan is not None:
        validate(plan, workers=WORKERS, max_steps=64)
        json.dumps(plan.steps[-1].subtask, ensure_ascii=False).encode()


FRAGMENTS = st.lists(
    st.one_of(
        st.sampled_from(
            [
                "model_id = [",
                "subtasks: [",
                '"access_list": [',
                "]",
                "[[], ",
                '"all"',
                "0, ",
                "<think>",
                "</think>",
                '"',
                "'",
                "\\",
                ",",
                "\n",
                "```",
                "# ",
                "“",
                "”",
                "None",
            ]
        ),
        st.text(max_size=5),
    ),
    max_size=60,
).map("".join)


@untimed
@given(st.text())
@example("model_id=[0]subtasks=[a]access_list=[")
def test_arbitrary_text_is_read_or_rejected(text):
    read_or_reject(parse_lists, text)


@settings(max_examples=400, deadline=None)
@given(FRAGMENTS)
def test_broken_pieces_of_plans_are_read_or_rejected(text):
    read_or_reject(parse_lists, text)


@untimed
@given(plans(TRAPPED), st.sampled_from(QUOTED_FORMS), st.data())
def test_damaged_plans_are_read_or_rejected(plan, form, data):
    text = form(plan)
    start = data.draw(st.integers(0, len(text)))
    stop = data.draw(st.integers(start, min(len(text), start + 20)))
    piece = data.draw(st.one_of(st.sampled_from(TRAPS), st.text(max_size=8)))
    read_or_reject(parse_lists, text[:start] + piece + text[stop:])


@untimed
@given(
    st.one_of(
        st.text(), FRAGMENTS, plans().map(lambda plan: render_json(plan, WORKERS)[:-9])
    )
)
def test_arbitrary_json_replies_are_read_or_rejected(text):
    read_or_reject(parse_json, text)


HOSTILE_UNITS = (
    "[", "]", "model_id = [", "model_id = [0] ", "model_id\n\n\n\n", "<think>", '"',
    "</think>", "<think></think>", "model_id = ['", "'a' ", "\\", " ", "\n", "# ", "a,",
    "model_id: list[", "-", "“", 'access_list = ["\\', "subtasks = [a //", "`" * 8,
    "model_id = [[", "subtasks = ['a", "{",
)  # fmt: skip


@untimed
@given(
    st.sampled_from(HOSTILE_UNITS), st.sampled_from(HOSTILE_UNITS), st.integers(0, 3)
)
def test_long_repetitions_take_no_time(prefix, unit, tail):
    text = prefix + unit * ((65_000 - len(prefix)) // len(unit)) + "]" * tail
    read_or_reject(parse_lists, text)


@untimed
@given(st.text(LINE, max_size=80))
def test_a_json_string_is_read_as_json_reads_it(text):
    text = f"a{text}z"
    lists = f"model_id=[0]\nsubtasks=[{json.dumps(text)}]\naccess_list=[[]]"
    assert read(lists).steps[0].subtask == text
