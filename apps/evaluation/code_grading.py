"""Grades code in threads of its own, so that an evaluation goes on meanwhile.

For the whole process: an evaluation that gives others their turn finds its grades in
the next one. Nothing is stored: another process grades the same answers again.
"""

from __future__ import annotations

import threading
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress

from apps.evaluation.verifiers.grade import Grade
from apps.evaluation.verifiers.unit_tests import UnitTestsVerifier

MAX_KEPT = 1_000
"""Grades that nobody came for, of evaluations that other processes took."""


class GradingStopped(Exception):
    """The evaluation ended before the code of an answer was graded."""


class CodeGrades:
    """The grades that threads of this process work on, by the id of the result."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._grades: dict[int, Future[Grade]] = {}

    def is_running(self, result_id: int) -> bool:
        """Say whether there is a grade to wait for."""
        with self._lock:
            grade = self._grades.get(result_id)
        return grade is not None and not grade.done()

    def take(
        self, result_id: int, verifier: UnitTestsVerifier, text: str
    ) -> Grade | None:
        """Return the grade of an answer; None: it is being made.

        Raises: SandboxUnavailable; GradingStopped.
        """
        with self._lock:
            grade = self._grades.get(result_id)
            if grade is None:
                self._begin(result_id, verifier, text)
                return None
            if not grade.done():
                return None
            del self._grades[result_id]
        return grade.result()

    def stop(self, result_id: int) -> None:
        """Wait no longer for a grade; its sandbox ends by its limits."""
        with self._lock:
            grade = self._grades.get(result_id)
        if grade is not None:
            with suppress(InvalidStateError):
                grade.set_exception(GradingStopped())

    def _begin(self, result_id: int, verifier: UnitTestsVerifier, text: str) -> None:
        grade: Future[Grade] = Future()
        kept = [each for each, found in self._grades.items() if found.done()]
        for each in kept[: max(0, len(kept) - MAX_KEPT)]:
            del self._grades[each]
        self._grades[result_id] = grade
        # Does not keep the process from ending, which ends the sandbox too.
        arguments = (grade, verifier, text)
        threading.Thread(target=_grade, args=arguments, daemon=True).start()


def _grade(grade: Future[Grade], verifier: UnitTestsVerifier, text: str) -> None:
    with suppress(InvalidStateError):
        try:
            grade.set_result(verifier.grade(text))
        except InvalidStateError:
            raise
        except Exception as exc:  # noqa: BLE001 - whoever takes the grade gets it
            grade.set_exception(exc)


code_grades = CodeGrades()
