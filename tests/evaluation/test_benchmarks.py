"""Public benchmarks, in the formats they are published in. The samples are our own."""

from __future__ import annotations

import json

import pytest

from apps.evaluation.suites.files import UnreadableSuite, tasks_read
from tests.evaluation.samples import command

GPQA = {
    "Question": "Which of these metals is liquid at room temperature?",
    "Correct Answer": "Mercury ",
    "Incorrect Answer 1": "Iron",
    "Incorrect Answer 2": "Zinc",
    "Incorrect Answer 3": "Gold",
    "High-level domain": "Chemistry",
    "Subdomain": "Chemistry (general)",
}
JSON_SAMPLES = {
    "gsm8k": {
        "question": "Ann has 1,000 pens and buys 234. How many has she?",
        "answer": "1000 + 234 = <<1000+234=1234>>1234\n#### 1,234",
    },
    "aime": {"ID": "2024-I-0", "Problem": "Find 7 times 29.", "Answer": 203},
    "math-500": {
        "problem": "Halve one.",
        "solution": "We get $\\boxed{\\frac{1}{2}}$.",
        "answer": "\\frac{1}{2}",
        "subject": "Algebra",
        "level": 1,
        "unique_id": "test/algebra/0.json",
    },
    "mmlu": {
        "question": "Which is a prime?",
        "subject": "number_theory",
        "choices": ["4", "6", "7", "8"],
        "answer": 2,
    },
}
ANSWERS = {
    "gsm8k": ("So \\boxed{1234}", "\\boxed{1235}"),
    "aime": ("\\boxed{203}", "\\boxed{202}"),
    "math-500": ("It is $\\boxed{\\dfrac12}$.", "\\boxed{\\frac{1}{3}}"),
    "mmlu": ("Answer: C", "Answer: B"),
}


def read(kind: str, content: str, name: str = "x.jsonl"):
    return tasks_read(content.encode(), name, kind)


@pytest.mark.parametrize("kind", JSON_SAMPLES)
def test_a_row_becomes_a_task_that_grades(kind):
    (task,) = read(kind, json.dumps(JSON_SAMPLES[kind]))
    right, wrong = ANSWERS[kind]
    assert task.verifier.grade(right).is_right
    assert not task.verifier.grade(wrong).is_right
    assert read(kind, json.dumps(JSON_SAMPLES[kind])) == (task,)


@pytest.mark.parametrize(
    ("truth", "ability", "kind", "right"),
    [
        ("B", "Biology", "choice", "\\boxed{B}"),
        ("1,500", "Physics", "numeric", "\\boxed{1500}"),
        ("\\boxed{\\frac12}", "Math", "latex", "\\boxed{\\frac{1}{2}}"),
        ("x^2+1", "MATH", "latex", "\\boxed{x^2 + 1}"),
        ("It rises.", "Economics", "model_graded", '{"is_right": true}'),
    ],
)
def test_rlpr_is_graded_by_the_form_of_its_answer(truth, ability, kind, right):
    row = {
        "data_source": "openbmb/WebInstruct",
        "prompt": [
            {"role": "system", "content": "Think first."},
            {"role": "user", "content": "What follows?"},
        ],
        "ability": ability,
        "reward_model": {"ground_truth": truth, "style": "rule"},
        "extra_info": {"index": 0, "split": "test"},
    }
    (task,) = read("rlpr", json.dumps(row))
    assert (task.verifier.kind, task.family) == (kind, "WebInstruct")
    assert task.prompt == "What follows?\n\nPut the final answer in \\boxed{}."
    assert task.verifier.grade(right).is_right


def test_ids_and_families_are_those_of_the_file():
    (math,) = read("math-500", json.dumps(JSON_SAMPLES["math-500"]))
    assert (math.id, math.family) == ("test/algebra/0.json", "Algebra")
    (aime,) = read("aime", json.dumps(JSON_SAMPLES["aime"]))
    assert aime.id == "2024-I-0"


def test_original_files_of_mmlu_have_no_header():
    content = '"Which is a prime, or none?",4,6,7,8,C\nWhich is even?,1,2,3,5,B\n'
    tasks = read("mmlu", content, "number_theory_test.csv")
    assert [task.verifier.answer for task in tasks] == ["C", "B"]
    assert {task.family for task in tasks} == {"number_theory"}
    assert "C. 7" in tasks[0].prompt


def test_choices_of_gpqa_are_shuffled_the_same_each_time():
    columns = ",".join(f'"{name}"' for name in GPQA)
    content = f"{columns}\n" + ",".join(f'"{value}"' for value in GPQA.values()) + "\n"
    (task,) = read("gpqa", content, "gpqa_main.csv")
    assert task == read("gpqa", content, "gpqa_main.csv")[0]
    assert task.verifier.choices[ord(task.verifier.answer) - ord("A")] == "Mercury"
    assert task.verifier.grade("**Mercury**").is_right
    firsts = {
        read("gpqa", content.replace("metals", f"{n} metals"), "g.csv")[
            0
        ].verifier.answer
        for n in range(40)
    }
    assert firsts == set("ABCD")


@pytest.mark.parametrize(
    ("kind", "content", "why"),
    [
        ("gsm8k", '{"question": "x"}', "it has no field 'answer', as gsm8k has"),
        ("gsm8k", '{"question": "x", "answer": "12"}', "the answer has no ####"),
        ("gsm8k", '{"question": "x", "answer": "#### many"}', "must be a number"),
        ("mmlu", '{"question": "x"}', "it has no field 'A'"),
        ("aime", "{", "it is not JSON"),
    ],
)
def test_other_files_are_refused_by_line(kind, content, why):
    with pytest.raises(UnreadableSuite) as refused:
        read(kind, content)
    (fault,) = refused.value.faults
    assert fault.line == 1
    assert why in fault.why


def test_the_command_takes_the_name_of_the_benchmark(cast, tmp_path):
    path = tmp_path / "test.jsonl"
    path.write_text(json.dumps(JSON_SAMPLES["gsm8k"]))
    arguments = ("--team=orchestra", "--name=GSM8K", "--benchmark=gsm8k")
    out, _ = command("suite_import", path, *arguments)
    assert out == "suite 'GSM8K', version 1: 1 tasks\n"
