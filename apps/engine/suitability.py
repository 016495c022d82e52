"""Says which workers can do a step at all, whatever the plan thinks of them."""

from __future__ import annotations

from collections.abc import Iterator

from apps.engine.messages import has_images
from apps.engine.ports import Pool, PoolWorker, Task


def unsuited(task: Task, worker: PoolWorker, *, is_last: bool) -> str:
    """Return why `worker` can't do a step of `task`, as the end of a sentence.

    The sentence begins with the worker: "takes no images, and …". Empty: it can.
    Tools belong to the last step alone, images go to every worker.
    """
    if not worker.accepts_images and has_images(task.messages):
        return "takes no images, and the question has images"
    if is_last and task.params.tools and not worker.accepts_tools:
        return "calls no tools, and the last step is offered some"
    return ""


def suited_worker(task: Task, pool: Pool, preferred: str) -> str:
    """Return the first worker that can answer `task` on its own.

    In order: `preferred`, the pool's fallback, its substitutes, all others. If none
    can, it is the first of them in the pool: then the step fails and says why.
    """
    if preferred not in pool.names:
        preferred = pool.fallback
    for name in _in_order(pool, preferred):
        if not unsuited(task, pool.worker(name), is_last=True):
            return name
    return preferred


def _in_order(pool: Pool, preferred: str) -> Iterator[str]:
    yield preferred
    yield pool.fallback
    yield from pool.substitutes
    yield from pool.names
