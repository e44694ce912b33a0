"""Privatized texts made on the spot, over small spaces."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.inference.observed import Observed, observe
from sfumato.attacks.text_target import TextTarget
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.mechanism import PointMechanism
from sfumato.mechanisms.selective import Selective
from sfumato.mechanisms.vocabulary import OverVocabulary
from sfumato.policies.patterns import Everything
from sfumato.text.document import Document
from sfumato.vectors.space import Space


def everything(
    points: PointMechanism, unknown: str = "centroid", case: str = "public"
) -> Selective:
    over = OverVocabulary(points=points, unknown=unknown, case=case)
    return Selective(policy=Everything(), mechanism=over)


def privatized(
    release: Selective, texts: Sequence[str], seed: int = 1
) -> tuple[TextTarget, list[Document]]:
    """A text that went through a release, and its originals."""
    originals = [Document(text) for text in texts]
    results = release.privatize(originals, Randomness.reproducible(seed))
    documents = tuple(Document(result.text) for result in results)
    return TextTarget(documents, release), originals


def each_output_once(points: PointMechanism, space: Space) -> Observed:
    """A text in which every word of the vocabulary stands once, as what came out."""
    documents = [Document(" ".join(space.words))]
    return observe(TextTarget(tuple(documents), everything(points)), documents)[0]


def rows_of(points: PointMechanism) -> NDArray[np.float64]:
    """P[y | x], one row for each word x."""
    logs = points.log_rows(np.arange(len(points.space)))  # type: ignore[attr-defined]
    rows: NDArray[np.float64] = np.exp(logs)
    return rows


def drawn_words(
    space: Space, shares: NDArray[np.float64], count: int, seed: int
) -> NDArray[np.intp]:
    """Words from a prior."""
    draws = Randomness.reproducible(seed).uniform(count)
    return np.minimum(shares.cumsum().searchsorted(draws, side="right"), len(space) - 1)


def written(space: Space, points: NDArray[np.intp], each: int = 20) -> list[str]:
    """Words as documents of a few of them."""
    words = [space.words[point] for point in points]
    return [" ".join(words[start : start + each]) for start in range(0, len(words), each)]
