"""What conductors write, good and bad, and what it means."""

import pytest

from apps.engine.errors import PlanFault, PlanRejected
from apps.engine.plan import validate
from apps.planners.list_plan_parser import parse_lists
from apps.planners.plan_formats import render_lists
from tests.planners.builders import WORKERS, result_of


def lists(models, subtasks, access):
    return f"model_id = {models}\nsubtasks = {subtasks}\naccess_list = {access}"


ONE = [(2, "Answer it.", ())]
TWO = [(0, "Solve it.", ()), (3, "Check it.", (0,))]
TWO_LISTS = """\
model_id = [0, 3]
subtasks = ["Solve it.", "Check it."]
access_list = [[], "all"]"""

GOOD = {
    "plain": (TWO_LISTS, TWO),
    "with reasoning": (f"Two models should do.\n\n{TWO_LISTS}", TWO),
    "text after": (f"{TWO_LISTS}\n\nThe second model checks the first one.", TWO),
    "python fence": (f"Plan:\n```python\n{TWO_LISTS}\n```", TWO),
    "anonymous fence": (f"```\n{TWO_LISTS}\n```\nDone.", TWO),
    "bullets": ("- " + TWO_LISTS.replace("\n", "\n- "), TWO),
    "numbered": (
        'Lists:\n1. model_id: [2]\n2. subtasks: ["Answer it."]\n3. access_list: [[]]',
        ONE,
    ),
    "bold names": (
        '**model_id** = [2]\n**subtasks** = ["Answer it."]\n**access_list** = [[]]',
        ONE,
    ),
    "bold with colon inside": (
        '**model_id:** [2]\n**subtasks:** ["Answer it."]\n**access_list:** [[]]',
        ONE,
    ),
    "names in backticks": (
        '`model_id` = [2]\n`subtasks` = ["Answer it."]\n`access_list` = [[]]',
        ONE,
    ),
    "whole lines in backticks": (
        '`model_id = [2]`\n`subtasks = ["Answer it."]`\n`access_list = [[]]`',
        ONE,
    ),
    "headings and fences": (
        '### model_id\n```\n[2]\n```\n### subtasks\n```json\n["Answer it."]\n```\n'
        "### access_list\n```\n[[]]\n```",
        ONE,
    ),
    "escaped underscores": (
        'model\\_id = [2]\nsubtasks = ["Answer it."]\naccess\\_list = [[]]',
        ONE,
    ),
    "title case": ('Model ID: [2]\nSubtasks: ["Answer it."]\nAccess List: [[]]', ONE),
    "plural names": (
        'model_ids = [2]\nsubtasks = ["Answer it."]\naccess_lists = [[]]',
        ONE,
    ),
    "type annotations": (
        'model_id: list[int] = [2]\nsubtasks: List[str] = ["Answer it."]\n'
        "access_list: list[list[int] | str] = [[]]",
        ONE,
    ),
    "json object": (
        '{"model_id": [0, 3], "subtasks": ["Solve it.", "Check it."], '
        '"access_list": [[], "all"]}',
        TWO,
    ),
    "json object in a fence over lines": (
        'Here:\n```json\n{\n  "model_id": [\n    2\n  ],\n  "subtasks": [\n'
        '    "Answer it."\n  ],\n  "access_list": [\n    []\n  ]\n}\n```',
        ONE,
    ),
    "python dict": (
        "plan = {'model_id': [2], 'subtasks': ['Answer it.'], 'access_list': [[]]}",
        ONE,
    ),
    "other order": (
        'access_list = [[]]\nsubtasks = ["Answer it."]\nmodel_id = [2]',
        ONE,
    ),
    "one line": (
        'model_id = [2]; subtasks = ["Answer it."]; access_list = [[]]',
        ONE,
    ),
    "over lines, with comments and trailing commas": (
        "model_id = [\n  0,  # quick at algebra\n  3,  # don't trust it alone]\n]\n"
        'subtasks = [\n  "Solve it.",\n  "Check it.",  // the second\n]\n'
        'access_list = [\n  [],\n  ["all"],\n]',
        TWO,
    ),
    "smart quotes": (
        lists("[0, 3]", "[“Solve it.”, “Check it.”]", "[[], “all”]"),
        TWO,
    ),
    "single smart quotes": (
        "model_id = [2]\nsubtasks = [‘Answer it.’]\naccess_list = [[]]",
        ONE,
    ),
    "numeric strings": (
        'model_id = ["0", "3"]\nsubtasks = ["Solve it.", "Check it."]\n'
        'access_list = [[], ["0"]]',
        TWO,
    ),
    "model names by number": (
        'model_id = ["Model 0", "model_3"]\nsubtasks = ["Solve it.", "Check it."]\n'
        'access_list = [[], ["Step 0"]]',
        TWO,
    ),
    "bare words": (
        "model_id = [Model 0, Model 3]\nsubtasks = [Solve it., Check it.]\n"
        "access_list = [[], all]",
        TWO,
    ),
    "bare number as access": (
        lists([0, 3], ["Solve it.", "Check it."], "[[], 0]"),
        TWO,
    ),
    "repeated and unordered access": (
        lists([0, 1, 2], ["a", "b", "c"], "[[], [], [1, 0, 1]]"),
        [(0, "a", ()), (1, "b", ()), (2, "c", (0, 1))],
    ),
    "first step reads all": (
        'model_id = [2]\nsubtasks = ["Answer it."]\naccess_list = ["all"]',
        ONE,
    ),
    "all in capitals": (TWO_LISTS.replace('"all"', '"ALL"'), TWO),
    "all among numbers": (TWO_LISTS.replace('"all"', '[0, "all"]'), TWO),
    "brackets and commas in strings": (
        'model_id = [0]\nsubtasks = ["Sort [3, 1, 2], then \\"explain\\" a[0]]."]\n'
        "access_list = [[]]",
        [(0, 'Sort [3, 1, 2], then "explain" a[0]].', ())],
    ),
    "apostrophes in double quotes": (
        lists([0], """["Don't use Newton's method [yet]."]""", [[]]),
        [(0, "Don't use Newton's method [yet].", ())],
    ),
    "unescaped apostrophes": (
        lists(
            [0, 1], "['Don't use Newton's method.', 'Check it, it's due.']", "[[], 0]"
        ),
        [(0, "Don't use Newton's method.", ()), (1, "Check it, it's due.", (0,))],
    ),
    "unescaped double quotes": (
        lists([0], '["Explain the word "entropy" well."]', [[]]),
        [(0, 'Explain the word "entropy" well.', ())],
    ),
    "raw line break in a string": (
        "model_id = [0]\nsubtasks = ['First plan.\nThen write.']\naccess_list = [[]]",
        [(0, "First plan.\nThen write.", ())],
    ),
    "triple quotes": (
        'model_id = [0]\nsubtasks = ["""Say "hi",\nthen stop."""]\naccess_list = [[]]',
        [(0, 'Say "hi",\nthen stop.', ())],
    ),
    "strings side by side": (
        'model_id = [2]\nsubtasks = ["Answer "\n            "it."]\naccess_list = [[]]',
        ONE,
    ),
    "formulae with single backslashes": (
        r"model_id = [0]"
        "\n"
        r'subtasks = ["Show $\frac{1}{2} \times \theta \neq \beta$"]'
        "\naccess_list = [[]]",
        [(0, r"Show $\frac{1}{2} \times \theta \neq \beta$", ())],
    ),
    "escapes": (
        r"model_id = [0]"
        "\n"
        r'subtasks = ["1\u00e9\t\x41\n\U0001F600\ud83d\ude00 \\frac"]'
        "\naccess_list = [[]]",
        [(0, "1é\tA\n😀😀 \\frac", ())],
    ),
    "half a surrogate pair and a NUL": (
        r"model_id = [0]" "\n" r'subtasks = ["a\ud83d b\x00c"]' "\naccess_list = [[]]",
        [(0, "a\ufffd bc", ())],
    ),
    "draft in the reasoning": (
        'At first model_id = [1, 1] comes to mind, with access_list = [[], ["all"]].\n'
        f"Better:\n{TWO_LISTS}",
        TWO,
    ),
    "form named in the reasoning": (
        f"I write model_id = [numbers, subtasks = [texts and so on.\n{TWO_LISTS}",
        TWO,
    ),
    "thinking before": (
        f'<think>model_id = [9]\nsubtasks = ["no"]</think>\n{TWO_LISTS}',
        TWO,
    ),
    "thinking after": (f"{TWO_LISTS}\n<think>model_id = [9]</think>", TWO),
    "thinking opened by the template": (
        f"model_id = [9], perhaps.\n</think>\n\n{TWO_LISTS}",
        TWO,
    ),
    "tag in a subtask": (
        'model_id = [0]\nsubtasks = ["Explain the <think> tag."]\naccess_list = [[]]',
        [(0, "Explain the <think> tag.", ())],
    ),
    "lists in a subtask": (
        'model_id = [0]\nsubtasks = ["Print model_id = [3] and access_list = [[1]]"]\n'
        "access_list = [[]]",
        [(0, "Print model_id = [3] and access_list = [[1]]", ())],
    ),
    "windows line ends": (TWO_LISTS.replace("\n", "\r\n"), TWO),
    "keep": ("Good as it is.\nmodel_id = []\nsubtasks = []\naccess_list = []", []),
    "keep with spaces": ("model_id=[ ]\nsubtasks=[\n]\naccess_list=[ ]", []),
}

F = PlanFault
BAD = {
    "nothing": ("", F.UNPARSEABLE),
    "prose": ("I would ask the first model and then check.", F.UNPARSEABLE),
    "refusal": ("I'm sorry, but I can't help with that.", F.UNPARSEABLE),
    "one list missing": ('model_id = [0]\nsubtasks = ["Solve."]', F.UNPARSEABLE),
    "cut off in a string": ('model_id = [0]\nsubtasks = ["Solve the', F.UNPARSEABLE),
    "cut off in the last list": (TWO_LISTS[:-1], F.UNPARSEABLE),
    "unclosed thinking": (f"<think>Hm.\n{TWO_LISTS}", F.UNPARSEABLE),
    "unclosed thinking after": (f"{TWO_LISTS}\n<THINK> or rather", F.UNPARSEABLE),
    "only in thinking": (f"<thinking>{TWO_LISTS}</thinking> Done.", F.UNPARSEABLE),
    "only in thinking that the template opened": (
        f"{TWO_LISTS}\n</think> Done.",
        F.UNPARSEABLE,
    ),
    "string right after a list": (
        TWO_LISTS.replace('"all"', '[0] "all"'),
        F.UNPARSEABLE,
    ),
    "python without brackets": (
        'model_id = 0\nsubtasks = "Solve."\naccess_list = "all"',
        F.UNPARSEABLE,
    ),
    "too long": (TWO_LISTS + " " * 70_000, F.UNPARSEABLE),
    "subtask is a list": (
        'model_id = [0]\nsubtasks = [["Solve."]]\naccess_list = [[]]',
        F.UNPARSEABLE,
    ),
    "subtask is an object": (
        'model_id = [0]\nsubtasks = [{"text": "Solve."}]\naccess_list = [[]]',
        F.UNPARSEABLE,
    ),
    "lists too deep": (
        f'model_id = [0]\nsubtasks = ["Solve."]\naccess_list = [{"[" * 9}{"]" * 9}]',
        F.UNPARSEABLE,
    ),
    "lists without commas": (
        'model_id = [0, 1]\nsubtasks = ["a", "b"]\naccess_list = [[] []]',
        F.UNPARSEABLE,
    ),
    "many broken lists": ("model_id = [" * 30 + TWO_LISTS, F.UNPARSEABLE),
    "subtask missing": (
        'model_id = [0, 1]\nsubtasks = ["Solve."]\naccess_list = [[], []]',
        F.UNEQUAL_LENGTHS,
    ),
    "flat access list": (
        'model_id = [0, 1, 2]\nsubtasks = ["a", "b", "c"]\naccess_list = [0, 1]',
        F.UNEQUAL_LENGTHS,
    ),
    "only some lists empty": (
        'model_id = []\nsubtasks = ["Solve."]\naccess_list = []',
        F.UNEQUAL_LENGTHS,
    ),
    "comma forgotten between strings": (
        'model_id = [0, 1]\nsubtasks = ["a" "b"]\naccess_list = [[], []]',
        F.UNEQUAL_LENGTHS,
    ),
    "model beyond the pool": (TWO_LISTS.replace("3", "4"), F.UNKNOWN_WORKER),
    "negative model": (TWO_LISTS.replace("3", "-1"), F.UNKNOWN_WORKER),
    "model by name": (TWO_LISTS.replace("3", '"gamma"'), F.UNKNOWN_WORKER),
    "model true": (TWO_LISTS.replace("3", "True"), F.UNKNOWN_WORKER),
    "model none": (TWO_LISTS.replace("3", "None"), F.UNKNOWN_WORKER),
    "model is a list": (TWO_LISTS.replace("3", "[3]"), F.UNKNOWN_WORKER),
    "model of many digits": (TWO_LISTS.replace("3", "9" * 9000), F.UNKNOWN_WORKER),
    "hexadecimal model": (TWO_LISTS.replace("3", "0x" + "f" * 9000), F.UNKNOWN_WORKER),
    "foreign digits": (TWO_LISTS.replace("3", "'³'"), F.UNKNOWN_WORKER),
    "expression": (TWO_LISTS.replace("3", "__import__('os')"), F.UNKNOWN_WORKER),
    "chain of signs": (TWO_LISTS.replace("3", "-" * 20_000 + "1"), F.UNKNOWN_WORKER),
    "empty subtask": (TWO_LISTS.replace("Check it.", " \\n "), F.EMPTY_SUBTASK),
    "null subtask": (TWO_LISTS.replace('"Check it."', "null"), F.EMPTY_SUBTASK),
    "reads itself": (TWO_LISTS.replace('"all"', "[1]"), F.FORWARD_REFERENCE),
    "reads a later step": (TWO_LISTS.replace("[[],", "[[1],"), F.FORWARD_REFERENCE),
    "bare forward number": (TWO_LISTS.replace("[[],", "[0,"), F.FORWARD_REFERENCE),
    "empty text as access": (TWO_LISTS.replace('"all"', '""'), F.BAD_ACCESS),
    "none as access": (TWO_LISTS.replace('"all"', "None"), F.BAD_ACCESS),
    "missing access": (
        'model_id = [0, 1, 2]\nsubtasks = ["a", "b", "c"]\naccess_list = [[], , "all"]',
        F.BAD_ACCESS,
    ),
    "empty text in an access list": (TWO_LISTS.replace('"all"', '[""]'), F.BAD_ACCESS),
    "word as access": (TWO_LISTS.replace('"all"', '"some"'), F.BAD_ACCESS),
    "negative access": (TWO_LISTS.replace('"all"', "[-1]"), F.BAD_ACCESS),
    "list in an access list": (TWO_LISTS.replace('"all"', "[[0]]"), F.BAD_ACCESS),
    "a plan of 1000 steps": (
        f"model_id = [{'0,' * 1000}]\nsubtasks = [{'a,' * 1000}]\n"
        f"access_list = [{'all,' * 1000}]",
        F.TOO_MANY_STEPS,
    ),
}


@pytest.mark.parametrize(("text", "steps"), GOOD.values(), ids=GOOD)
def test_readable_output_means_its_steps(text, steps):
    assert result_of(text) == steps


@pytest.mark.parametrize(("text", "fault"), BAD.values(), ids=BAD)
def test_unusable_output_is_rejected_with_its_fault(text, fault):
    assert result_of(text) is fault


@pytest.mark.parametrize(("text", "steps"), GOOD.values(), ids=GOOD)
def test_accepted_plans_pass_the_rules_of_the_engine(text, steps):
    plan = parse_lists(text, WORKERS)
    assert (plan is not None) == bool(steps)
    if plan is not None:
        validate(plan, workers=WORKERS, max_steps=3)


@pytest.mark.parametrize(
    ("before", "reasoning"),
    [
        ("", ""),
        (
            "Two models.\nThey check each other.\n\n",
            "Two models.\nThey check each other.",
        ),
        ("Two models.\n```python\n", "Two models."),
        ('Two models.\n\n{"', "Two models."),
        ("Two models.\n- **", "Two models."),
        ("<think>Secret.</think>Two models.\n", "Two models."),
        ("Two <think>a</think>small<think>b</think> models.\n", "Two small models."),
        ("Secret.</think>\nTwo models.\n", "Two models."),
        ("Two models: model_id = [1].\nNo.\n", "Two models: model_id = [1].\nNo."),
        ("Ends in \udc80 and \0.\n", "Ends in \ufffd and ."),
    ],
)
def test_reasoning_is_the_visible_text_before_the_first_list(before, reasoning):
    plan = parse_lists(before + TWO_LISTS, WORKERS)
    assert plan is not None and plan.reasoning == reasoning


def test_thinking_after_the_lists_is_no_reasoning():
    plan = parse_lists(f"Why.\n{TWO_LISTS}\n<think>Hm.</think>", WORKERS)
    assert plan is not None and plan.reasoning == "Why."


def test_rejection_names_the_missing_lists():
    with pytest.raises(PlanRejected, match="list subtasks and access_list"):
        parse_lists("model_id = [0]", WORKERS)


def test_rejection_counts_the_entries():
    with pytest.raises(PlanRejected, match="1 entries, subtasks 2 and access_list 0"):
        parse_lists('model_id=[0]\nsubtasks=["a", "b"]\naccess_list=[]', WORKERS)


def test_rejection_of_a_huge_number_stays_short():
    with pytest.raises(PlanRejected) as caught:
        parse_lists(TWO_LISTS.replace("3", "9" * 50_000), WORKERS)
    assert len(caught.value.message) < 200


def test_lines_with_unicode_digits_are_not_numbers():
    assert result_of(TWO_LISTS.replace("3", "٣")) is PlanFault.UNKNOWN_WORKER


HANDED = """\
model_id = [0, "planner 3"]
subtasks = ["Solve it.", "Plan what is left."]
access_list = [[], [0]]"""


def test_the_last_model_may_be_a_planner():
    plan = parse_lists(HANDED, WORKERS, may_delegate=True)
    assert plan is not None and plan.plans_rest
    assert [step.worker for step in plan.steps] == [WORKERS[0], WORKERS[3]]
    assert parse_lists(render_lists(plan, WORKERS), WORKERS, may_delegate=True) == plan


@pytest.mark.parametrize(
    "text",
    [
        HANDED.replace('[0, "planner 3"]', '["planner 0", 3]'),
        HANDED.replace("planner 3", "planner"),
        HANDED.replace("planner 3", "planner 9"),
        HANDED.replace("planner 3", "planner planner 3"),
    ],
    ids=["not the last", "no number", "not in the pool", "twice"],
)
def test_other_planners_are_no_models(text):
    with pytest.raises(PlanRejected) as caught:
        parse_lists(text, WORKERS, may_delegate=True)
    assert caught.value.fault is PlanFault.UNKNOWN_WORKER


def test_where_nothing_may_be_left_to_a_planner_there_is_none():
    with pytest.raises(PlanRejected) as caught:
        parse_lists(HANDED, WORKERS)
    assert caught.value.fault is PlanFault.UNKNOWN_WORKER


@pytest.mark.parametrize("where", ["subtasks", "reasoning"])
def test_words_elsewhere_make_no_planner(where):
    said = 'Write model_id as "planner 3", plans_rest = True.'
    text = f"{said}\n{TWO_LISTS}"
    if where == "subtasks":
        text = TWO_LISTS.replace("Check it.", said.replace('"', "'"))
    plan = parse_lists(text, WORKERS, may_delegate=True)
    assert plan is not None and not plan.plans_rest
