"""Has the prompts of logged runs embedded, for one fit after the other of a training.

Vectors are kept in the memory of this process until the training's last fit, each by
the digest of its prompt, so that no prompt is paid for twice; they are never stored.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from apps.accounts.principal import Principal
from apps.audit.types import Actor
from apps.budgets.rate_limits import UNLIMITED
from apps.core.data_classes import data_class_read, highest
from apps.core.errors import Overloaded
from apps.engine.usage import Cost, Usage
from apps.pools.types import PoolSnapshot
from apps.runs.admission import ordered_by
from apps.runs.models import Source
from apps.runs.planning.model_resolver import direct_model
from apps.runs.services import prompts_embed_begin
from apps.runs.types import (
    EmbeddedPrompts,
    PromptConfines,
    RunOrder,
    RunRestrictions,
)
from apps.training.learning_data.records import LearningRecord

AT_ONCE = 64
"""Prompts of one call."""
MAX_TRAININGS = 4
"""Whose vectors are in memory; another process goes on without them."""
FLOAT_BYTES = 4

_kept: OrderedDict[UUID, dict[str, bytes]] = OrderedDict()


class EmbeddingFailed(Exception):
    """The prompts have no vectors; says why."""

    def __init__(self, why: str, *, is_limit: bool) -> None:
        super().__init__(why)
        self.why, self.is_limit = why, is_limit


@dataclass(frozen=True, slots=True)
class PromptVectors:
    """Vectors of the prompts of a fit."""

    worker: str
    model: str
    width: int
    by_prompt: dict[str, bytes]
    """Each as `width` 32-bit floating-point numbers, little endian."""
    left_out: int
    """Prompts that the worker may not be sent."""

    def values(self) -> dict[str, Any]:
        """Return what a version says of them, as JSON values."""
        return {
            "worker": self.worker,
            "model": self.model,
            "width": self.width,
            "prompts": len(self.by_prompt),
            "left_out": self.left_out,
        }


@dataclass(slots=True)
class PromptsToEmbed:
    """The distinct prompts of a fit, each with the confines of all of its runs."""

    worker: str
    _by_prompt: dict[str, list[PromptConfines]] = field(default_factory=dict)

    def add(self, record: LearningRecord) -> None:
        """Take a logged run."""
        self._by_prompt.setdefault(record.run.prompt, []).append(record.confines)

    def __len__(self) -> int:
        return len(self._by_prompt)

    def allowed(self) -> Iterator[tuple[str, str | None]]:
        """Yield the prompts that may be sent to the worker, each with its data class.

        The strictest of its runs counts. None: nothing is known of the class.
        """
        for prompt, confines in self._by_prompt.items():
            if all(each.allow(self.worker) for each in confines):
                names = {name for each in confines for name in each.data_classes}
                read = [data_class_read(name, param="data_class") for name in names]
                yield prompt, highest(read) if read else None


class EmbeddingWork:
    """The calls of one training."""

    def __init__(
        self,
        training_id: UUID,
        snapshot: PoolSnapshot,
        worker: str,
        actor: Actor,
        principal: Principal | None,
    ) -> None:
        """Prepare; `principal` None: the operator asks."""
        self._id = training_id
        self._snapshot, self._worker = snapshot, worker
        self._actor, self._principal = actor, principal
        self.usage, self.cost = Usage(), Cost()
        """Of the calls so far."""

    def vectors(
        self, prompts: PromptsToEmbed, left_micros: int | None
    ) -> Iterator[PromptVectors | None]:
        """Yield None while calls are under way, then the vectors.

        `left_micros`: what they may cost; None: no limit. Raises: EmbeddingFailed;
        NotFound, NotAllowed, Overloaded.
        """
        worker = self._snapshot.embedding_worker(self._worker)
        if worker is None:
            why = f"the pool has no embedding worker {self._worker!r} any more"
            raise EmbeddingFailed(why, is_limit=False)
        kept = _vectors_of(self._id)
        wanted = [(p, c) for p, c in prompts.allowed() if _digest(p) not in kept]
        for start in range(0, len(wanted), AT_ONCE):
            some = [self._order(*each) for each in wanted[start : start + AT_ONCE]]
            most = None if left_micros is None else left_micros - self.cost.micros
            found = yield from _awaited(some, most)
            self.usage, self.cost = self.usage + found.usage, self.cost + found.cost
            if found.failure:
                raise EmbeddingFailed(found.failure, is_limit=found.is_limit)
            kept |= {_digest(prompt): made for prompt, made in found.vectors.items()}
        digests = {prompt: _digest(prompt) for prompt, _ in prompts.allowed()}
        made = {p: kept[digest] for p, digest in digests.items() if digest in kept}
        yield PromptVectors(
            worker.name,
            worker.endpoint.model,
            _width(self._worker, made),
            made,
            len(prompts) - len(made),
        )

    def _order(self, prompt: str, data_class: str | None) -> RunOrder:
        by: dict[str, Any] = {"team_id": self._snapshot.team_id, "actor": self._actor}
        if self._principal is not None:
            by = {**ordered_by(self._principal, UNLIMITED), "actor": self._actor}
        return RunOrder(
            prompt=prompt,
            model=direct_model(self._worker, self._snapshot.name),
            source=Source.EVALUATION,
            restrictions=RunRestrictions(data_class=data_class, approval="never"),
            **by,
        )


def _awaited(
    orders: Sequence[RunOrder], most: int | None
) -> Generator[None, None, EmbeddedPrompts]:
    """Yield None until the vectors of some prompts are made; return what came of it."""
    while True:
        future = prompts_embed_begin(orders, most)
        try:
            while not future.done():
                yield
            return future.result()
        except Overloaded:  # this process is being closed, or makes room soon
            yield
        finally:
            future.cancel()


def _width(worker: str, made: dict[str, bytes]) -> int:
    widths = {len(vector) // FLOAT_BYTES for vector in made.values()}
    if len(widths) == 1:
        return widths.pop()
    why = "vectors of different widths" if widths else "no vector, or may see no prompt"
    raise EmbeddingFailed(f"{worker!r} made {why}", is_limit=False)


def vectors_forget(training_id: UUID) -> None:
    """Drop the vectors of a training."""
    _kept.pop(training_id, None)


def _vectors_of(training_id: UUID) -> dict[str, bytes]:
    found = _kept.setdefault(training_id, {})
    _kept.move_to_end(training_id)
    while len(_kept) > MAX_TRAININGS:
        _kept.popitem(last=False)
    return found


def _digest(prompt: str) -> str:
    return hashlib.sha256(prompt.encode("utf-8", "surrogatepass")).hexdigest()
