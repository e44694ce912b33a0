"""Re-identification by matching: which original a released document was made from.

The attacker has the originals, or what is known about their people, in random order, and assigns to
each released document the original that fits best. It needs neither rows nor a vocabulary, so
masks, codes, surrogates and word mechanisms can be compared.

Figures
    ``re-identified by private words``: the attacker knows of each original only what the policy
    finds in it: names, numbers and addresses, as a register has them. They are matched with all
    words of the released documents. What a mechanism lets stay, what it lets through elsewhere in
    the document because the policy missed it there, and replacements that resemble their originals
    raise it. ``re-identified by all words``: the attacker knows the whole originals, and matches by
    everything that stayed. Most methods that replace only what is sensitive cannot prevent that:
    whoever has the original document knows which released one was made from it.

How
    Documents are compared by the words they have in common, each weighted by how rare it is among
    the released documents (the logarithm of the inverse share of documents that have it), divided
    by the length of what is known. Of several originals that fit equally well one is drawn, so a
    document counts as the share that is right.

Control
    The same attack with released documents that were assigned to other originals at random. Chance
    is one in the number of documents.

Reference
    Narayanan and Shmatikov 2008, "Robust de-anonymization of large sparse datasets"; Manzanares-
    Salor et al. 2022, "Automatic evaluation of disclosure risks of text anonymization methods".
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.attack import Done
from sfumato.attacks.stretches.places import fold
from sfumato.attacks.stretches.released import AttackOnReleased, Released
from sfumato.attacks.text_target import refuse_other_originals
from sfumato.core.arrays import Floats
from sfumato.core.checks import at_least
from sfumato.core.errors import BadInput
from sfumato.core.randomness import Randomness
from sfumato.core.settings import PolicyText
from sfumato.results.measured import Measured
from sfumato.results.scores import Control, Scores, time_block
from sfumato.statistics.power import tells_from
from sfumato.statistics.ranking import derangement
from sfumato.statistics.shares import mean_share
from sfumato.text.document import Document
from sfumato.text.span import stretches
from sfumato.text.words import Words

BY_PRIVATE, BY_ALL = "re-identified by private words", "re-identified by all words"
FEWEST = 2
# Scores that differ by less are equal: sums of the same weights in another order.
EQUAL = 1e-9


@dataclass(frozen=True, kw_only=True)
class Matching(AttackOnReleased):
    """Assign released documents to originals by the words that they have in common.

    At most ``documents`` documents are attacked, drawn at random, and matched among each other.
    ``policy`` gives what the side file does not show.
    """

    documents: int = 500
    policy: PolicyText = field(default="", repr=False)  # it may be a pattern

    name: ClassVar[str] = "matching"

    def __post_init__(self) -> None:
        at_least("documents", self.documents, FEWEST)

    def score(
        self,
        target: Released,
        data: Sequence[Document],
        randomness: Randomness,
        done: Done | None = None,
    ) -> Scores:
        """Match released documents with originals; only the evaluation knows what belongs."""
        with time_block() as watch:
            refuse_other_originals(data, target.documents)
            chosen = choose_documents(len(data), self.documents, randomness.stream(0))
            released = [set(fold(target.documents[number].text)) for number in chosen]
            private = [_private(data[number], target) for number in chosen]
            whole = [set(fold(data[number].text)) for number in chosen]
            strangers = derangement(len(chosen), randomness.stream(1))
            own = np.arange(len(chosen))
            figures, blank = [], []
            for number, (metric, known) in enumerate(((BY_PRIVATE, private), (BY_ALL, whole))):
                fits = match(released, known)
                figures.append(share_of_best(metric, fits, own))
                blank.append(share_of_best(metric, fits, strangers))
                if done:
                    done(number + 1, 2)
            chance = 1 / len(chosen)
            scores = Scores(
                attack=self.name,
                knowledge="The attacker has the originals in random order, or of each only what "
                "the policy finds in it, and knows that each released document was made from one "
                "of them.",
                figures=tuple(figures),
                chance={BY_PRIVATE: chance, BY_ALL: chance},
                control=Control(
                    what="the same attack, counted against originals that were assigned at random",
                    figures=tuple(blank),
                ),
                notes=_notes(len(chosen), len(data), private),
                details={"documents": len(chosen)},
            )
        return watch.stamp(scores)


def match(released: Sequence[Collection[str]], known: Sequence[Collection[str]]) -> Floats:
    """How well each released document (row) fits what is known of each original (column)."""
    met = Counter(word for words in released for word in set(words))
    rarity = {word: math.log(1 + len(released) / count) for word, count in met.items()}
    having: defaultdict[str, list[int]] = defaultdict(list)
    for column, words in enumerate(known):
        for word in words:
            if word in rarity:
                having[word].append(column)
    fits = np.zeros((len(released), len(known)))
    for row, words in enumerate(released):
        for word in words:
            fits[row, having[word]] += rarity[word]
    lengths = [
        math.sqrt(1 + sum(rarity.get(word, math.log(1 + len(released))) ** 2 for word in words))
        for words in known
    ]
    found: Floats = fits / np.array(lengths)
    return found


def share_of_best(metric: str, fits: Floats, right: NDArray[np.intp]) -> Measured:
    """The share of documents whose best fit is right; ties count as a share."""
    best = fits.max(axis=1, keepdims=True)
    among = fits >= best - EQUAL
    credit = among[np.arange(len(fits)), right] / among.sum(axis=1)
    return mean_share(metric, credit)


def _private(document: Document, target: Released) -> set[str]:
    found = stretches(target.policy.find(document), Words.of(document.text))
    return {word for one in found for word in fold(one.text)}


def choose_documents(count: int, most: int, randomness: Randomness) -> list[int]:
    """At most so many of some documents, drawn at random."""
    if count < FEWEST:
        raise BadInput("at least two documents are needed, to confuse them")
    if count <= most:
        return list(range(count))
    return sorted(randomness.choose(count, most).tolist())


def _notes(chosen: int, whole: int, private: Sequence[Collection[str]]) -> tuple[str, ...]:
    notes = [
        f"With {chosen:,} documents a true share of {tells_from(1 / chosen, chosen):.2g} would be "
        "told from chance with a probability of 95 %.",
    ]
    empty = sum(not words for words in private)
    if empty:
        notes.append(
            f"In {empty:,} documents the policy finds nothing: by private words they are matched "
            "at random."
        )
    if chosen < whole:
        notes.append(f"{chosen:,} of {whole:,} documents were attacked.")
    return tuple(notes)
