"""Tells the conductor what models can do, where the question makes it matter.

A trained conductor knows models as mere numbers, so nothing is said of images and tools
that a question does not have, or that every model can take.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from apps.engine.messages import images_of
from apps.engine.ports import Pool, Task
from apps.planners.escaping import one_line, quoted, shorten

MAX_TOOLS_NAMED = 32
MAX_NAMES_CHARS = 1_000


def abilities(task: Task, pool: Pool) -> Iterator[str]:
    """Yield what must be said of images and of tools, each as a paragraph."""
    if count := len(images_of(task.messages)):
        able = [n for n, w in enumerate(pool.workers) if w.accepts_images]
        noun = "an image" if count == 1 else f"{count} images"
        yield f"The question has {noun}, shown to every model." + _only(
            able, pool, "can see images: the plan may use no other"
        )
    if task.params.tools:
        able = [n for n, w in enumerate(pool.workers) if w.accepts_tools]
        yield (
            "The model of the last step, and no other, may call these functions of the "
            f"user: {_names(task)}."
            + _only(able, pool, "can call functions: the last step may use no other")
        )


def _only(able: Sequence[int], pool: Pool, words: str) -> str:
    """Return the workers that can do something; nothing if all or none can."""
    if len(able) in (0, len(pool.workers)):
        return ""
    return f" Only {', '.join(f'Model {n}' for n in able)} {words}."


def _names(task: Task) -> str:
    names = [str(tool["function"]["name"]) for tool in task.params.tools]
    more = ", …" if len(names) > MAX_TOOLS_NAMED else ""
    named = ", ".join(names[:MAX_TOOLS_NAMED])
    return quoted(shorten(one_line(named), MAX_NAMES_CHARS)) + more
