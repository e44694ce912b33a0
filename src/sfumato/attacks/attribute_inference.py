"""Attribute inference: what a privatized text still tells of its author or its subject.

An attribute is any column of the originals: a gender, a diagnosis, a region, a rating. It need not
be in the privatized file, and it need not be written in any text: a way to write, or what somebody
writes about, may be enough.

Figures
    ``static``: a classifier that learned from other text in the clear (``others``, held-out or
    public text with the same column; or else the originals of the other documents) guesses the
    attribute of each privatized document. ``adaptive``: one that learned from privatized documents
    whose attribute is known, as whoever knows some of the people can do. ``originals``: learned and
    tested on originals, which shows how well the attribute could be told before. Shares of
    documents whose attribute is guessed.

How
    TF-IDF of n-grams and a linear support vector machine, as for authors; or, with the ``encoder``
    in a folder, logistic regression on vectors of whole documents. Every document is guessed by a
    model that has not seen it.

    Where the originals have authors (``author_field``), no model has seen another document of the
    same author either: folds are dealt by author, ``others`` by a tested author are left out, and
    intervals are over authors. The notes say which of the two was done.

Control
    The adaptive attack with the attribute randomly permuted over the documents, or over the authors
    if there are any. Chance is the share of the most frequent value.

Care
    Without authors, several documents of one person make all figures larger if the attribute
    belongs to people: who is recognized by their other documents is known, even if nothing but the
    author is told. The control does not show it, and intervals are too short. So give the authors;
    what is told of them is what ``authorship`` measures.

    What a text is *for* may be the attribute itself: the sentiment of a review is an attribute, and
    what a rewriter is asked to keep. The figure says what can be learned, not whether it may be.

Reference
    Mattern, Weggenmann and Kerschbaum 2022, "The limits of word level differential privacy", for
    the adaptive attacker; Lison et al. 2021, "Anonymisation models for text data", for attributes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from sfumato.attacks.attack import Inputs, Needs
from sfumato.attacks.attribute_guessing import (
    ORIGINALS,
    GuessesAttributes,
    Known,
    lacks_attribute,
)
from sfumato.attacks.guessed_labels import MakeModel, MeaningModel, n_gram_model
from sfumato.attacks.text_target import lacks_originals
from sfumato.core.arrays import Floats
from sfumato.core.checks import at_least
from sfumato.core.settings import FileToRead
from sfumato.metrics.rewriting import read_encoder
from sfumato.text.document import Document


@dataclass(frozen=True, kw_only=True)
class AttributeInference(GuessesAttributes):
    """Guess an attribute of each document from its privatized text.

    The attribute is the field of labels. ``folds`` is the number of parts in cross-validation; a
    value with fewer documents than that, or fewer authors if there are any, is left out and
    counted. ``characters`` and ``words`` are the longest n-grams, 0 for none. With the folder of an
    ``encoder``, vectors of documents take their place.
    """

    characters: int = 4
    words: int = 2
    encoder: FileToRead = ""

    name: ClassVar[str] = "attribute-inference"
    target: ClassVar[str] = "text"
    needs: ClassVar[Needs] = Needs(
        inputs=("originals", "others"), by_group=False, about_the_data=(ORIGINALS,)
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least("characters", self.characters, 0)
        at_least("words", self.words, 0 if self.characters else 1)

    def missing(self, inputs: Inputs) -> str | None:
        """What is missing of a privatized file, its originals and their attribute."""
        return lacks_originals(inputs) or lacks_attribute(inputs)

    def opened(self, inputs: Inputs) -> tuple[list[Document], Known]:
        """The privatized documents, and what is known."""
        assert inputs.originals is not None  # noqa: S101  # see ``missing``
        # Attribute and author may have been left out of the privatized file; they are not looked
        # for there.
        without = replace(inputs.layout, label_field=None, group_field=None, author_field=None)
        released = replace(inputs, layout=without).documents(inputs.target)
        others = None if inputs.others is None else inputs.documents(inputs.others)
        return released, Known(inputs.documents(inputs.originals), others)

    def after(self, target: Sequence[Document]) -> list[str]:
        """The privatized texts."""
        return [one.text for one in target]

    def before(self, target: Any, documents: Sequence[Document]) -> list[str]:
        """Texts in the clear."""
        del target
        return [one.text for one in documents]

    def model_maker(self) -> MakeModel:
        """N-grams and a linear machine, or vectors of meaning."""
        if not self.encoder:
            return lambda: n_gram_model(self.characters, self.words)
        encode, known = read_encoder(self.encoder), dict[str, Floats]()
        return lambda: MeaningModel(encode, known)
