"""Finds kinds of prompts: texts that are alike, then those whose workers do alike.

Needs scikit-learn.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from scipy.sparse import csr_matrix
from scipy.special import betaln
from sklearn.cluster import KMeans

from apps.planners.light.kinds import Ints
from apps.planners.light.profiles import Profiles
from apps.planners.light.text_features import WIDTH, Floats, text_features
from apps.training.fitting.families import shares

MAX_CLUSTERED = 3_000
"""Prompts that centres are found from."""
LEAST_A_CENTRE = 25
"""Weight of prompts for each centre, at least, on the average."""
NEARLY_ALL = 0.05
"""Share of prompts that may be less like their centre than `LightModel.nearness`."""
WORDS = 3
"""That mark a kind."""
Rows: TypeAlias = csr_matrix | Floats
"""One vector of length 1 for each prompt: sparse n-grams, or an embedding worker's."""


def prompt_vectors(prompts: Sequence[str]) -> csr_matrix:
    """Return the prompts as rows of a sparse matrix."""
    found = [text_features(prompt) for prompt in prompts]
    starts = np.cumsum([0, *(len(each.places) for each in found)])
    return csr_matrix(
        (
            np.concatenate([each.values for each in found]),
            np.concatenate([each.places for each in found]),
            starts,
        ),
        shape=(len(prompts), WIDTH),
    )


def found_centres(
    prompts: Sequence[str], vectors: Rows, weights: Floats, most: int, seed: int
) -> Floats:
    """Return the centres that prompts gather around; fewer for few prompts.

    `weights` is how much each prompt counts: prompts of little weight move centres
    little, and hardly ever change which prompts they begin at.
    """
    number = max(1, min(most, int(weights.sum()) // LEAST_A_CENTRE))
    some, weights = vectors[:MAX_CLUSTERED], weights[:MAX_CLUSTERED]
    starts = [
        some[_first_prompts(prompts[:MAX_CLUSTERED], some, weights, number, each)]
        for each in (2 * seed, 2 * seed + 1)
    ]
    fits = [
        KMeans(start.shape[0], init=_dense(start), n_init=1).fit(
            some, sample_weight=weights
        )
        for start in starts
    ]
    best = min(fits, key=lambda fit: float(fit.inertia_))
    return np.asarray(best.cluster_centers_, np.float64)


def _first_prompts(
    prompts: Sequence[str],
    vectors: Rows,
    weights: Floats,
    number: int,
    seed: int,
) -> list[int]:
    """Return the places of prompts that centres begin at, by k-means++.

    Each prompt has random numbers of its own, from its text, and the first one to
    arrive at a rate of its weight times its squared distance is chosen: the same
    chances as a common draw, but another prompt changes no draw.
    """
    waits = np.stack([_waits(prompt, number, seed) for prompt in prompts])
    chosen: list[int] = []
    distance = np.ones(len(prompts))
    for turn in range(number):
        rate = weights * distance
        if not rate.any():
            break
        with np.errstate(divide="ignore"):
            place = int(np.argmin(waits[:, turn] / rate))
        chosen.append(place)
        like = _dense(vectors @ vectors[[place]].T).ravel()
        distance = np.minimum(distance, np.maximum(2 - 2 * like, 0).round(9))
    return chosen


def _dense(rows: Rows) -> Floats:
    return np.asarray(rows if isinstance(rows, np.ndarray) else rows.toarray())


def _waits(prompt: str, number: int, seed: int) -> Floats:
    digest = hashlib.blake2b(prompt.encode("utf-8", "replace"), digest_size=8).digest()
    chance = np.random.default_rng((seed, int.from_bytes(digest, "big")))
    return np.asarray(chance.exponential(size=number))


def labelled_centres(
    prompts: Sequence[str],
    vectors: Rows,
    weights: Floats,
    labels: Ints,
    most: int,
    seed: int,
) -> tuple[Floats, Ints]:
    """Return the centres of each label's prompts, and the label of each centre."""
    centres, of_centre = [], []
    for label, number in shares(labels, weights, most).items():
        places = np.flatnonzero(labels == label)
        own = [prompts[int(place)] for place in places]
        made = found_centres(own, vectors[places], weights[places], number, seed)
        centres.append(made)
        of_centre += [label] * len(made)
    return np.concatenate(centres), np.array(of_centre, np.int64)


def assigned_centres(
    centres: Floats, vectors: Rows, of_centre: Ints, labels: Ints
) -> Ints:
    """Return the nearest centre of each prompt among those of its label.

    Where there are none of its label, it is the nearest of all.
    """
    near = vectors @ centres.T - 0.5 * (centres**2).sum(axis=1)
    is_own = of_centre == labels[:, None]
    is_own |= ~is_own.any(axis=1, keepdims=True)
    return np.asarray(np.where(is_own, near, -np.inf).argmax(axis=1))


def merged_centres(profiles: Profiles, strength: float, labels: Ints) -> Ints:
    """Return the kind of each centre, from the profiles of workers by centre.

    The two groups of centres that best explain their answers as one are merged, until
    no two do better together than apart. Those of two labels never are: their workers
    may do alike, and their best plans differ all the same. What is compared is the
    probability of the answers, summed over what a cell's success may be
    (beta-binomial), with a prior around the worker's mean that is worth `strength`
    answers.
    Source: Heller and Ghahramani, "Bayesian hierarchical clustering" (ICML 2005), with
    a greedy search instead of the tree's sum.
    """
    number = profiles.seen.shape[2]
    seen = profiles.seen.reshape(-1, number).T.copy()  # (centre, role and worker)
    right = profiles.right.reshape(-1, number).T.copy()
    share = np.clip((right.sum(0) + 1) / (seen.sum(0) + 2), 0.02, 0.98)
    prior = (strength * share, strength * (1 - share))

    def evidence(seen: Floats, right: Floats) -> Floats:
        after = betaln(right + prior[0], seen - right + prior[1])
        return np.asarray((after - betaln(*prior)).sum(axis=-1))

    alone = evidence(seen, right)
    gains = np.full((number, number), -np.inf)
    for one in range(number - 1):
        rest = slice(one + 1, None)
        together = evidence(seen[one] + seen[rest], right[one] + right[rest])
        gains[one, rest] = together - alone[one] - alone[rest]
    apart = (labels[:, None] != labels) & ((labels >= 0) & (labels >= 0)[:, None])
    gains[apart] = -np.inf
    group = np.arange(number)
    while gains.max() > 0:
        kept, gone = np.unravel_index(int(gains.argmax()), gains.shape)
        seen[kept] += seen[gone]
        right[kept] += right[gone]
        alone[kept] = evidence(seen[kept], right[kept])
        group[group == gone] = kept
        gains[gone, :] = gains[:, gone] = -np.inf
        apart[kept] |= apart[gone]
        apart[:, kept] |= apart[:, gone]
        gains[kept, apart[kept]] = gains[apart[kept], kept] = -np.inf
        others = np.setdiff1d(group, [kept])
        others = others[~apart[kept, others]]
        together = evidence(seen[kept] + seen[others], right[kept] + right[others])
        pairs = (np.minimum(kept, others), np.maximum(kept, others))
        gains[pairs] = together - alone[kept] - alone[others]
    return np.asarray(np.unique(group, return_inverse=True)[1], np.int64)


def mean_rows(
    vectors: csr_matrix, weights: Floats, nearest: Ints, number: int
) -> Floats:
    """Return by centre the weighted mean of the prompts that are nearest to it.

    Each of the `number` centres has at least one.
    """
    places = (nearest, np.arange(len(nearest)))
    sums = csr_matrix((weights, places), shape=(number, len(nearest)))
    totals = np.bincount(nearest, weights, minlength=number)
    return np.asarray((sums @ vectors).toarray() / totals[:, None])


def nearness_of(centres: Floats, kinds: Ints, vectors: Rows, nearest: Ints) -> Floats:
    """Return by kind what nearly all its prompts are at least like their centres.

    `kinds` is the kind of each centre, `nearest` the centre of each prompt.
    """
    lengths = np.maximum(np.linalg.norm(centres, axis=1), 1e-9)
    near = vectors @ (centres / lengths[:, None]).T
    cosines = near[np.arange(len(nearest)), nearest]
    of_kind = [cosines[kinds[nearest] == kind] for kind in range(kinds.max() + 1)]
    return np.array([np.quantile(c, NEARLY_ALL) if len(c) else 1.0 for c in of_kind])


def example_words(prompts: Sequence[str], kinds: Ints, number: int) -> tuple[str, ...]:
    """Return for each kind the words that mark it most, compared with all kinds."""
    words = [Counter[str]() for _ in range(number)]
    for prompt, kind in zip(prompts, kinds, strict=True):
        words[kind].update({w for w in prompt.lower().split() if w.isalpha()})
    total = sum(words, Counter[str]())
    sizes = np.maximum(np.bincount(kinds, minlength=number), 1)

    def marks(kind: int, word: str) -> float:
        return float(words[kind][word] / sizes[kind] - total[word] / len(prompts))

    return tuple(
        " ".join(sorted(of, key=lambda word: (-marks(kind, word), word))[:WORDS])
        for kind, of in enumerate(words)
    )
