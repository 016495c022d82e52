"""What runs took beside each other, in words."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from apps.engine.events import RunCancelled, RunCompleted, RunFailed
from apps.engine.usage import Usage
from apps.playground.comparing.words import agreement, difference
from apps.runs.records.run_view import RunView


@dataclass(frozen=True)
class Numbers:
    """What a run took, as the table below writes it."""

    ms: int = 1000
    micros: int | None = 1000
    tokens: int = 100
    state: str = "completed"

    def story(self) -> RunView:
        view = RunView()
        usage, cost = Usage(self.tokens, 0), (self.micros or 0, self.micros is None)
        sums = (usage, *cost, self.ms, 0)
        if self.state == "completed":
            view.add(RunCompleted("", "stop", *sums))
        elif self.state == "failed":
            view.add(RunFailed("worker_failed", "", "", *sums))
        elif self.state == "cancelled":
            view.add(RunCancelled("", *sums))
        return view


ONE = Numbers()
SAME = "exactly 1 × the cost and exactly 1 × the tokens"


@pytest.mark.parametrize(
    ("plan", "worker", "words"),
    [
        (Numbers(2300, 3100, 400), ONE,
         ["The plan took 2.3 × the time, 3.1 × the cost and 4.0 × the tokens of x."]),
        (Numbers(ms=430), ONE, [f"The plan took 0.43 × the time, {SAME} of x."]),
        (ONE, ONE, [f"The plan took exactly 1 × the time, {SAME} of x."]),
        (Numbers(ms=1020), ONE, [f"The plan took about 1 × the time, {SAME} of x."]),
        (Numbers(ms=999), ONE, [f"The plan took about 1 × the time, {SAME} of x."]),
        (Numbers(ms=12_499), ONE, [f"The plan took 12 × the time, {SAME} of x."]),
        (Numbers(ms=9_980), ONE, [f"The plan took 10 × the time, {SAME} of x."]),
        (Numbers(ms=2_345_678), ONE, [f"The plan took 2,346 × the time, {SAME} of x."]),
        (Numbers(ms=9), ONE,
         [f"The plan took less than 0.01 × the time, {SAME} of x."]),
        (Numbers(micros=0), ONE,
         ["The plan took exactly 1 × the time and exactly 1 × the tokens of x.",
          "The plan cost nothing, x $0.0010."]),
        (ONE, Numbers(micros=0),
         ["The plan took exactly 1 × the time and exactly 1 × the tokens of x.",
          "The plan cost $0.0010, x nothing."]),
        (Numbers(micros=0), Numbers(micros=0),
         ["The plan took exactly 1 × the time and exactly 1 × the tokens of x.",
          "Both cost nothing."]),
        (Numbers(micros=None), ONE,
         ["The plan took exactly 1 × the time and exactly 1 × the tokens of x.",
          "The cost of the plan is unknown, so costs are not compared."]),
        (Numbers(micros=None), Numbers(micros=None),
         ["The plan took exactly 1 × the time and exactly 1 × the tokens of x.",
          "The cost of the plan and of x is unknown, so costs are not compared."]),
        (Numbers(state="failed"), ONE,
         [f"The plan took exactly 1 × the time, {SAME} of x.",
          "The plan failed: its numbers go up to that moment."]),
        (ONE, Numbers(state="cancelled"),
         [f"The plan took exactly 1 × the time, {SAME} of x.",
          "x was stopped: its numbers go up to that moment."]),
        (ONE, Numbers(state="running"),
         ["x is still running. The difference follows at the end."]),
        (Numbers(state="running"), Numbers(state="running"),
         ["The plan and x are still running. The difference follows at the end."]),
        (Numbers(0, 0, 0), Numbers(0, 0, 0),
         ["There is nothing to compare the plan and x by.", "Both cost nothing."]),
    ],
)  # fmt: skip
def test_difference_in_words(plan, worker, words):
    found = difference(("the plan", plan.story()), ("x", worker.story()))
    assert list(found) == words


def story_with(answer: str) -> RunView:
    view = RunView()
    view.add(RunCompleted(answer, "stop", Usage(100, 0), 1000, False, 1000, 0))
    return view


@pytest.mark.parametrize(
    ("mine", "other", "said"),
    [
        ("It is  42.", "It\nis 42.", "Same answer."),
        ("It is 42.", "It is 43.", "The answers differ: 66 % of their words are"),
        ("Yes.", "No, 43.", "The answers differ: 0 % of their words are the same."),
    ],
)
def test_agreement_of_two_answers_in_words(mine, other, said):
    (found,) = agreement(("the plan", story_with(mine)), ("x", story_with(other)))
    assert found.startswith(said)
