"""What signals are computed from: token scores of all candidates, under all models.

Nothing here says which candidates are members. A signal is a function of this evidence alone, so
whatever it tells about membership comes from the models.

Care
    A text without a token gives no evidence: its scores are NaN here. ``neutral`` replaces them by
    the median of all other candidates, which favors neither side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.membership.label_only import Answers
from sfumato.attacks.token_scores import TokenScores
from sfumato.core.arrays import Floats
from sfumato.core.errors import BadInput, InvalidArgument

ScoreTable = tuple[TokenScores, ...]

# A token with probability 0 would make sums infinite and their differences undefined.
IMPOSSIBLE = -1e4


@dataclass(frozen=True, eq=False)
class OtherModels:
    """Models like the target, and which of the candidates each was trained on.

    ``inside[m, i]`` says whether model m was trained on candidate i.
    """

    tables: tuple[ScoreTable, ...]
    inside: NDArray[np.bool_]

    def __post_init__(self) -> None:
        if not self.tables:
            raise InvalidArgument("other models need at least one model")
        if self.inside.shape != (len(self.tables), len(self.tables[0])):
            raise InvalidArgument(
                f"{len(self.tables)} models on {len(self.tables[0])} candidates do not fit a mask "
                f"of shape {self.inside.shape}"
            )
        if self.inside.all(axis=0).any():
            raise BadInput("each candidate needs a model that was not trained on it")

    @classmethod
    def strangers(cls, tables: Sequence[ScoreTable]) -> OtherModels:
        """Models that were trained on no candidate."""
        shape = (len(tables), len(tables[0]) if tables else 0)
        return cls(tuple(tables), np.zeros(shape, dtype=np.bool_))

    def __len__(self) -> int:
        return len(self.tables)

    @cached_property
    def losses(self) -> Floats:
        """One row for each model, one column for each candidate."""
        return np.array([losses(table) for table in self.tables])

    @cached_property
    def outside(self) -> Floats:
        """The losses where a model was not trained on the candidate; NaN elsewhere."""
        return np.where(self.inside, np.nan, self.losses)


@dataclass(frozen=True, eq=False, kw_only=True)
class Evidence:
    """Everything that an attacker may use, candidate by candidate.

    ``references`` are models that they obtained, ``shadows`` models that they trained on random
    halves of the candidates; ``around`` is the mean loss of each text's neighbors, ``answers`` what
    is known if a classifier gives labels only.
    """

    texts: tuple[str, ...]
    target: ScoreTable
    references: OtherModels | None = None
    shadows: OtherModels | None = None
    around: Floats | None = None
    answers: Answers | None = None

    @property
    def losses(self) -> Floats:
        """Mean −ln p of each candidate's tokens under the target."""
        return losses(self.target)

    @property
    def outsiders(self) -> OtherModels:
        """The references, or the shadows where there are none."""
        found = self.references or self.shadows
        if found is None:
            raise InvalidArgument("this signal needs references or shadows")
        return found

    @property
    def insiders(self) -> OtherModels:
        """The shadows."""
        if self.shadows is None:
            raise InvalidArgument("this signal needs shadows")
        return self.shadows


def losses(table: Sequence[TokenScores]) -> Floats:
    """Mean −ln p of each text; NaN for a text without a token."""
    return np.array([-possible(one).mean() if len(one) else np.nan for one in table], np.float64)


def possible(scores: TokenScores) -> Floats:
    """The ln p of each token, bounded from below so that none is infinite."""
    return np.maximum(scores.log_probability.astype(np.float64), IMPOSSIBLE)


def neutral(values: Floats) -> Floats:
    """NaN replaced by the median of all other values, which favors neither side.

    >>> neutral(np.array([1.0, np.nan, 3.0, 2.0])).tolist()
    [1.0, 2.0, 3.0, 2.0]
    """
    missing = np.isnan(values)
    middle = 0.0 if missing.all() else float(np.median(values[~missing]))
    return np.where(missing, middle, values)
