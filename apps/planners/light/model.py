"""The light planner's model: everything that was learned, as plain arrays. Pure numpy.

Stored as NumPy's archive format (`.npz`, read without pickle), the names in it as JSON.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from apps.planners.light.familiar_words import FamiliarWords
from apps.planners.light.fingerprints import changed_workers, renamed_workers
from apps.planners.light.former_models import (
    discounted_counts,
    discounted_profiles,
    discounts,
)
from apps.planners.light.kinds import EmbeddedCentres, Kinds
from apps.planners.light.profiles import Profiles
from apps.planners.light.situation_counts import SituationCounts, posterior
from apps.planners.light.situations import Act
from apps.planners.light.sources import ModelSource
from apps.planners.light.step_model import (
    SituationRows,
    StepModel,
    joined,
    situation_rows,
)
from apps.planners.light.text_features import Floats
from apps.planners.light.token_costs import TokenModel

FORMAT = 1
MAX_BYTES = 64 << 20
FAMILIAR = 0.5
"""Prompts that are less than so like their kind, as a share of what nearly all of those
are that it was made of, are unlike anything that was logged."""
FAMILIAR_WORDS = 0.75
"""The same of the share of familiar words. Questions in other words often have fewer
than nearly all, questions about other things hardly ever so many."""


MAX_KNOWN = 16
"""Discounted models that are remembered beside one."""


_Changes = tuple[frozenset[tuple[str, str]], frozenset[tuple[str, str]]]
"""Fingerprints of changed workers, and new names of renamed ones."""


class UnreadableModel(ValueError):
    """The bytes hold no model of this format."""


class SuccessTables(NamedTuple):
    """Success of single steps among some workers, for one kind of prompt."""

    solve: Floats
    """By worker."""
    guided: Floats
    """By planner and worker."""
    check: Floats
    """By whether a plan is in sight, whether the draft is right, drafter and worker."""
    combine_two: Floats
    """By right drafts (0 to 2) and worker."""
    combine_three: Floats
    """By right drafts (0 to 3) and worker."""

    def among(self, workers: Sequence[int]) -> SuccessTables:
        """Return the tables for some of the workers, in that order."""
        ids = list(workers)
        pairs = np.ix_(ids, ids)
        check = self.check[:, :, ids][:, :, :, ids]
        return SuccessTables(
            self.solve[ids],
            self.guided[pairs],
            check,
            self.combine_two[:, ids],
            self.combine_three[:, ids],
        )


@dataclass(frozen=True, eq=False)
class LightModel:
    """What a fit found out about the workers of one team."""

    workers: tuple[str, ...]
    """Names; all arrays count workers in this order."""
    kinds: Kinds
    profiles: Profiles
    step_model: StepModel
    counts: SituationCounts
    tokens: TokenModel
    nearness: Floats
    """By kind: how like their centres nearly all prompts were that it was made of."""
    source: ModelSource = ModelSource.FITTED
    believed: Floats | None = None
    """Success as (role, worker, kind) in the place of what the profiles say. It is not
    stored."""
    words: FamiliarWords | None = None
    """None: there were too few prompts, or the model is from before words were kept."""
    fingerprints: Mapping[str, str] = field(default_factory=dict)
    """Of the model behind each worker that the answers are of. One that is not there is
    not known. They are not stored: they are of one site."""

    def known_now(self, fingerprints: Mapping[str, str]) -> LightModel:
        """Return what is known of the models that the workers' names stand for now.

        Answers of another model under the same name count little, and a worker that
        was renamed has its new name. The result is remembered, because each plan asks
        for it.
        """
        known = {name: self.fingerprints.get(name, "") for name in self.workers}
        changed = changed_workers(known, fingerprints)
        renamed = renamed_workers(known, fingerprints)
        if not (changed or renamed):
            return self
        models = {name: fingerprints[name] for name in changed}
        key = (frozenset(models.items()), frozenset(renamed.items()))
        if key not in self._known_now:
            if len(self._known_now) >= MAX_KNOWN:
                self._known_now.clear()
            self._known_now[key] = self._as_now({**known, **models}, renamed)
        return self._known_now[key]

    def _as_now(
        self, models: Mapping[str, str], renamed: Mapping[str, str]
    ) -> LightModel:
        """Return the model with each worker's fingerprint and name as they are now."""
        known = self.fingerprints
        is_changed = [known.get(name, "") != models[name] for name in self.workers]
        share = discounts(self.profiles, np.array(is_changed, np.float64))
        names = tuple(renamed.get(name, name) for name in self.workers)
        fingerprints = dict(zip(names, models.values(), strict=True))
        return replace(
            self,
            workers=names,
            profiles=discounted_profiles(self.profiles, share),
            counts=discounted_counts(self.counts, share),
            fingerprints={name: each for name, each in fingerprints.items() if each},
        )

    @cached_property
    def _known_now(self) -> dict[_Changes, LightModel]:
        return {}

    @cached_property
    def table(self) -> Floats:
        """Return success as (role, worker, kind)."""
        return self.profiles.table() if self.believed is None else self.believed

    @cached_property
    def _tables(self) -> dict[int, SuccessTables]:
        return {}

    def tables(self, kind: int) -> SuccessTables:
        """Return success of single steps among all workers; computed once a kind."""
        if kind not in self._tables:
            self._tables[kind] = self._made_tables(kind)
        return self._tables[kind]

    def _made_tables(self, kind: int) -> SuccessTables:
        n, counts = len(self.workers), self.counts
        success = self.step_model.success(self.table, _all_situations(n, kind))
        sizes = [n, n * n, 4 * n * n, 3 * n]
        solve, guided, check, two, three = np.split(success, np.cumsum(sizes))
        return SuccessTables(
            posterior(counts.solve[..., kind], solve),
            posterior(counts.guided[..., kind], guided.reshape(n, n)),
            posterior(counts.check[..., kind], check.reshape(2, 2, n, n)),
            posterior(counts.combine[:, 2, :3, :, kind], two.reshape(3, n)),
            posterior(counts.combine[:, 3, :, :, kind], three.reshape(4, n)),
        )

    def answers(self, kind: int | None) -> SuccessTables:
        """Return the weight of the answers seen in each situation.

        `kind` None: of prompts of any kind.
        """
        counts = self.counts

        def seen(counted: Floats) -> Floats:
            of_kinds = counted[0]
            return np.asarray(of_kinds.sum(-1) if kind is None else of_kinds[..., kind])

        combine = seen(counts.combine)
        return SuccessTables(
            seen(counts.solve),
            seen(counts.guided),
            seen(counts.check),
            combine[2, :3],
            combine[3],
        )

    @cached_property
    def overall(self) -> SuccessTables:
        """Return the tables of a prompt of any kind: means by the answers seen."""
        weights = self.profiles.seen.sum(axis=(0, 1)) + 1
        by_kind = [self.tables(kind) for kind in range(len(self.kinds))]
        return SuccessTables(
            *(
                np.average(np.stack(tables), axis=0, weights=weights)
                for tables in zip(*by_kind, strict=True)
            )
        )

    def placed(self, prompt: str, vector: Floats | None = None) -> tuple[int, float]:
        """Return the kind of a prompt, and how like it the prompt is.

        1: as like as nearly all prompts are that the kind was made of. `vector` is the
        prompt's, of length 1, by the worker of `kinds.embedded`; None: n-grams decide.
        """
        embedded = self.kinds.embedded
        if vector is None or embedded is None:
            kind, found = self.kinds.nearest(prompt)
            nearly_all = self.nearness[kind]
        else:
            kind, found = self.kinds.nearest_embedded(vector)
            nearly_all = embedded.nearness[kind]
        return kind, found / max(float(nearly_all), 1e-9)

    def is_familiar(
        self, prompt: str, likeness: float, vector: Floats | None = None
    ) -> bool:
        """Return whether a prompt is like those of the fit.

        `likeness` is that to its kind, as `placed` returns it. Words count where
        n-grams decided; a vector knows the same question in other words.
        """
        is_like = likeness >= FAMILIAR
        is_embedded = vector is not None and self.kinds.embedded is not None
        if not is_like or is_embedded or self.words is None:
            return is_like
        return self.words.likeness(prompt) >= FAMILIAR_WORDS

    def answers_seen(self, kind: int, workers: Sequence[int]) -> float:
        """Return the answers seen of whichever of some workers gave the fewest."""
        by_worker = self.profiles.seen[:, list(workers), kind].sum(axis=0)
        return float(by_worker.min())

    def to_bytes(self) -> bytes:
        """Return the model in its stored form."""
        head: dict[str, Any] = {
            "format": FORMAT,
            "workers": self.workers,
            "examples": self.kinds.examples,
            "intercept": self.step_model.intercept,
            "source": self.source,
        }
        embedded = self.kinds.embedded
        if embedded is not None:
            head["embedding"] = {
                "worker": embedded.worker,
                "model": embedded.model,
                "width": embedded.width,
            }
        arrays: dict[str, npt.NDArray[Any]] = {
            "head": np.frombuffer(json.dumps(head).encode(), np.uint8),
            "centres": self.kinds.centres.astype(np.float32),
            "kinds": self.kinds.kinds,
            "seen": self.profiles.seen,
            "right": self.profiles.right,
            "weights": self.step_model.weights,
            "outputs": self.tokens.outputs,
            "overhead": self.tokens.overhead,
            "nearness": self.nearness,
            **self.counts.arrays(),
        }
        if self.words is not None:
            arrays["words"] = self.words.hashes
            arrays["usual_words"] = np.array(self.words.usual)
        if embedded is not None:
            arrays["embedded_centres"] = embedded.centres.astype(np.float32)
            arrays["embedded_nearness"] = embedded.nearness
        written = io.BytesIO()
        np.savez_compressed(written, allow_pickle=False, **arrays)
        return written.getvalue()

    @classmethod
    def from_bytes(cls, stored: bytes) -> LightModel:
        """Read a model. Raises: UnreadableModel."""
        try:
            with np.load(io.BytesIO(stored), allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
            head: Mapping[str, Any] = json.loads(arrays["head"].tobytes())
            if head["format"] != FORMAT:
                raise UnreadableModel(f"format: expected {FORMAT}")
            return _model(head, arrays)
        except (
            EOFError,
            KeyError,
            TypeError,
            ValueError,
            OSError,
            zipfile.BadZipFile,
        ) as exc:
            raise UnreadableModel(f"not a light planner's model: {exc}") from exc


def _model(head: Mapping[str, Any], arrays: Mapping[str, Floats]) -> LightModel:
    centres = np.asarray(arrays["centres"], np.float64)
    counts = {name: arrays[name] for name in ("solve", "guided", "check", "combine")}
    return LightModel(
        tuple(map(str, head["workers"])),
        Kinds(
            centres,
            np.asarray(arrays["kinds"], np.int64),
            tuple(map(str, head["examples"])),
            _embedded(head, arrays),
        ),
        Profiles(arrays["seen"], arrays["right"]),
        StepModel(arrays["weights"], float(head["intercept"])),
        SituationCounts(**counts),
        TokenModel(arrays["outputs"], arrays["overhead"]),
        arrays["nearness"],
        ModelSource(head.get("source", ModelSource.FITTED)),
        words=_words(arrays),
    )


def _words(arrays: Mapping[str, npt.NDArray[Any]]) -> FamiliarWords | None:
    """Return the words of a fit; models from before they were kept lack them."""
    if "words" not in arrays:
        return None
    return FamiliarWords(
        np.asarray(arrays["words"], np.uint32), float(arrays["usual_words"])
    )


def _embedded(
    head: Mapping[str, Any], arrays: Mapping[str, Floats]
) -> EmbeddedCentres | None:
    """Return the centres of embeddings; models from before there were any lack them."""
    if (named := head.get("embedding")) is None:
        return None
    found = EmbeddedCentres(
        str(named["worker"]),
        str(named["model"]),
        np.asarray(arrays["embedded_centres"], np.float64),
        arrays["embedded_nearness"],
    )
    if found.width != named["width"]:
        raise ValueError(f"embedding: expected {named['width']} columns")
    return found


def _all_situations(n: int, kind: int) -> SituationRows:
    """Return every situation of a template, in the order of `SuccessTables`."""
    each = np.arange(n)
    first, second = (axis.ravel() for axis in np.meshgrid(each, each, indexing="ij"))
    parts = [
        situation_rows(n, Act.SOLVE, kind, worker=each),
        situation_rows(n * n, Act.SOLVE, kind, worker=second, planner=first),
    ]
    for planned in (0, 1):
        for right in (0, 1):
            parts.append(
                situation_rows(
                    n * n,
                    Act.CHECK,
                    kind,
                    worker=second,
                    right=np.full(n * n, right),
                    wrong=np.full(n * n, 1 - right),
                    drafter=first,
                    is_draft_planned=np.full(n * n, planned),
                )
            )
    for drafts in (2, 3):
        for right in range(drafts + 1):
            parts.append(
                situation_rows(
                    n,
                    Act.COMBINE,
                    kind,
                    worker=each,
                    right=np.full(n, right),
                    wrong=np.full(n, drafts - right),
                )
            )
    return joined(parts)
