"""Every occurrence of a word has noise of its own; equal words must not give equal replacements.

Seeds are fixed. At this level the embedded space spreads its replacements so widely that even two
equal ones among a few dozen are rare; each twin gives nothing but equal ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee
from sfumato.mechanisms.draws import BLOCK
from sfumato.mechanisms.laplace import Laplace
from sfumato.mechanisms.mechanism import Mechanism
from sfumato.mechanisms.selective import Selective
from sfumato.mechanisms.vocabulary import OverVocabulary
from sfumato.policies.patterns import Everything
from sfumato.text.document import Document
from sfumato.vectors.load import default_space

COPIES = 60


def honest() -> OverVocabulary:
    return OverVocabulary(points=Laplace(space=default_space(), epsilon=0.5))


@dataclass(frozen=True)
class OnceForEachWord:
    """The twin: one draw per distinct word, then the same replacement everywhere."""

    inner: OverVocabulary

    def guarantee(self) -> Guarantee:
        return self.inner.guarantee()

    def uncovered(self, words: Sequence[str]) -> int:
        return self.inner.uncovered(words)

    def privatize(self, words: Sequence[str], randomness: Randomness) -> list[str]:
        distinct = list(dict.fromkeys(words))
        drawn = self.inner.privatize(distinct, randomness)
        return [dict(zip(distinct, drawn, strict=True))[word] for word in words]


def repeated_words(mechanism: Mechanism) -> list[str]:
    return mechanism.privatize(["okafor"] * COPIES, Randomness.reproducible(2))


def equal_documents(mechanism: Mechanism) -> list[str]:
    selective = Selective(policy=Everything(), mechanism=mechanism)
    results = selective.privatize([Document("okafor")] * COPIES, Randomness.reproducible(2))
    return [one.text for one in results]


def words_of_one_document(mechanism: Mechanism) -> list[str]:
    selective = Selective(policy=Everything(), mechanism=mechanism)
    (one,) = selective.privatize([Document("okafor " * COPIES)], Randomness.reproducible(2))
    return one.text.split()


@pytest.mark.parametrize("draw", [repeated_words, equal_documents, words_of_one_document])
def test_equal_words_get_replacements_of_their_own(draw: Callable[[Mechanism], list[str]]) -> None:
    assert len(set(draw(honest()))) > COPIES // 2
    assert len(set(draw(OnceForEachWord(honest())))) == 1


def test_neighboring_words_and_blocks_have_noise_of_their_own() -> None:
    laplace = Laplace(space=default_space(), epsilon=0.5)
    outputs = laplace.privatize(np.zeros(2 * BLOCK, dtype=np.intp), Randomness.reproducible(3))
    for lag in (1, 2, 256, BLOCK):
        # The share of equal pairs at this distance, against that of pairs shuffled at random.
        apart = np.random.default_rng(lag).permutation(outputs)
        together = float((outputs[:-lag] == outputs[lag:]).mean())
        assert together < 0.02 + 2 * float((apart[:-lag] == apart[lag:]).mean())
