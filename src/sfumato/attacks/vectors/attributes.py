"""Attribute inference from released vectors: what they tell of an author or a subject.

Figures
    As of ``attribute-inference``, with vectors in the place of texts: ``static`` has learned from
    vectors without noise (of ``others``, or of the other originals), ``adaptive`` from released
    vectors whose attribute is known, ``originals`` learned and was tested without noise. Shares of
    documents whose attribute is guessed, by ridge regression.

Control
    The adaptive attack with the attribute randomly permuted. Chance is the share of the most
    frequent value.

What a level proves
    Whatever is learned from other documents, a guess from one vector is right with probability at
    most π·e^ε/(1 − π + π·e^ε), plus a part of δ, where π is the share of the most frequent value
    (``accounting/guessing.py``).

Reference
    Song and Raghunathan 2020, "Information leakage in embedding models"; Coavoux, Narayan and Cohen
    2018, "Privacy-preserving neural representations of text".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from sfumato.accounting.guessing import most_guessed
from sfumato.attacks.attack import Inputs
from sfumato.attacks.attribute_guessing import (
    ORIGINALS,
    GuessesAttributes,
    Known,
    lacks_attribute,
)
from sfumato.attacks.guessed_labels import MakeModel, RowModel
from sfumato.attacks.vectors.target import OnVectors, VectorTarget, tell_bound
from sfumato.core.arrays import Floats
from sfumato.text.document import Document


@dataclass(frozen=True, kw_only=True)
class VectorAttributes(OnVectors, GuessesAttributes):
    """Guess an attribute of each document from its released vector.

    The attribute is the field of labels. ``folds`` is the number of parts in cross-validation.
    ``encoder`` is the folder that the vectors are by, if it is not the embedded word vectors.
    """

    name: ClassVar[str] = "vector-attributes"
    needs = replace(OnVectors.needs, about_the_data=(ORIGINALS,))

    def missing(self, inputs: Inputs) -> str | None:
        """What is missing of vectors, their originals and the attribute."""
        return super().missing(inputs) or lacks_attribute(inputs)

    def opened(self, inputs: Inputs) -> tuple[VectorTarget, Known]:
        """The vectors, and what is known."""
        target, texts = super().opened(inputs)
        return target, Known(texts.originals, texts.others)

    def after(self, target: VectorTarget) -> Sequence[Floats]:
        """The released vectors."""
        return list(target.vectors)

    def before(self, target: VectorTarget, documents: Sequence[Document]) -> Sequence[Floats]:
        """Vectors without noise."""
        return list(target.clear([one.text for one in documents]))

    def model_maker(self) -> MakeModel:
        """Ridge regression."""
        return RowModel

    def more_notes(self, target: VectorTarget, counts: Sequence[int]) -> tuple[str, ...]:
        """What the level proves about any guess."""
        shares = np.array(counts) / sum(counts)
        level = target.level
        bound = 1.0 if level is None else most_guessed(level, shares.tolist())
        return (tell_bound(level, "the share of attributes that are guessed", bound),)
