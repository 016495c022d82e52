"""Grades code in threads of its own, so that an evaluation goes on meanwhile.

For the whole process: an evaluation that gives others their turn finds its grades in
the next one. Nothing is stored: another process grades the same answers again.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress

from apps.evaluation.verifiers.grade import Grade
from apps.evaluation.verifiers.unit_tests import UnitTestsVerifier

MAX_KEPT = 1_000
"""Grades that nobody came for, of evaluations that other processes took."""


class GradingStopped(Exception):
    """The evaluation ended before the code of an answer was graded."""


class CodeGrades:
    """The grades that threads of this process work on, by the id of the result,
    or of the run."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._grades: dict[Hashable, Future[list[Grade]]] = {}

    def is_running(self, result_id: Hashable) -> bool:
        """Say whether there is a grade to wait for."""
        with self._lock:
            grade = self._grades.get(result_id)
        return grade is not None and not grade.done()

    def take(
        self, result_id: Hashable, verifier: UnitTestsVerifier, texts: Sequence[str]
    ) -> list[Grade] | None:
        """Return the grades of a result's answers, in order; None: they are being made.

        Raises: SandboxUnavailable; GradingStopped.
        """
        with self._lock:
            grade = self._grades.get(result_id)
            if grade is None:
                self._begin(result_id, verifier, texts)
                return None
            if not grade.done():
                return None
            del self._grades[result_id]
        return grade.result()

    def stop(self, result_id: Hashable) -> None:
        """Wait no longer for a grade; its sandbox ends by its limits."""
        with self._lock:
            grade = self._grades.get(result_id)
        if grade is not None:
            with suppress(InvalidStateError):
                grade.set_exception(GradingStopped())

    def _begin(
        self, result_id: Hashable, verifier: UnitTestsVerifier, texts: Sequence[str]
    ) -> None:
        grade: Future[list[Grade]] = Future()
        kept = [each for each, found in self._grades.items() if found.done()]
        for each in kept[: max(0, len(kept) - MAX_KEPT)]:
            del self._grades[each]
        self._grades[result_id] = grade
        # Does not keep the process from ending, which ends the sandbox too.
        arguments = (grade, verifier, texts)
        threading.Thread(target=_grade, args=arguments, daemon=True).start()


def _grade(
    grade: Future[list[Grade]], verifier: UnitTestsVerifier, texts: Sequence[str]
) -> None:
    with suppress(InvalidStateError):
        try:
            grade.set_result([verifier.grade(text) for text in texts])
        except InvalidStateError:
            raise
        except Exception as exc:  # noqa: BLE001 - whoever takes the grade gets it
            grade.set_exception(exc)


code_grades = CodeGrades()
