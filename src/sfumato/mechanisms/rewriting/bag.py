"""A private bag of words: each word is privatized by itself, and their order is forgotten.

Guarantee
    Metric DP at level ε for whole documents: a bag y is at most exp(ε·D(x, x')) times likelier for
    a document x than for a document x' with equally many words, where D(x, x') is the least sum of
    distances over all ways to pair their words. That is N·E(x, x'), E being the earth mover's
    distance between the two bags and N the number of words: documents that say nearly the same in
    other words, or in another order, are nearly the same here.

Why it holds
    Let K be metric DP at ε in the distance d of words, x and x' have N words each, and σ be any
    pairing. For a sequence of outputs, Π K(y_i | x_i) <= Π e^{ε·d(x_i, x'_σ(i))}·K(y_i | x'_σ(i)) =
    e^{ε·Σ d}·Π K(y_i | x'_σ(i)). Sum over all sequences that are orders of one bag: the left side
    is the probability of the bag for x. On the right, to go through all orders of the bag with x'
    paired by σ is to go through all of them with x' in its own order, so it is e^{ε·Σ d} times the
    probability of the bag for x'. The pairing was any, so the cheapest one counts. Among equally
    many words with equal weights the cheapest way to move one bag into the other is a pairing
    (Birkhoff), so the least sum is N times the earth mover's distance.

Care
    *The number of words shows.* Documents of different lengths are told apart for certain, and the
    earth mover's distance between bags of different sizes says nothing here: not even if they have
    the same shares of words.
    *The level grows with N*: for the distance E alone it is N·ε. A topic takes many words to
    change, an author's habit few; what a level means has to be tried (by the attack
    ``authorship``).
    *Order must go.* The words are sorted. In the order of the document the same draws are metric DP
    only for words place by place, which is a larger distance.
    What is no word (punctuation, line breaks) is left out. Words outside the vocabulary share one
    point.

Reference
    Fernandes, Dras and McIver 2019, "Generalised differential privacy for text document processing"
    (theorem 4, with Laplace noise on word vectors).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.core.settings import FileToRead
from sfumato.guarantees.guarantee import Guarantee, Notion
from sfumato.mechanisms.mechanism import PointMechanism, check_level
from sfumato.mechanisms.vocabulary import UNKNOWN_LEAK, OverVocabulary
from sfumato.policies.identity import Identity
from sfumato.text.words import Words
from sfumato.vectors.load import default_space, load_vectors
from sfumato.vectors.space import Space

COUNT_LEAK = "how many words a document has"
_NOT_COPIED = ("space", "word_mechanism")


@dataclass(frozen=True, kw_only=True)
class Bag:
    """Privatize every word by a word mechanism and sort the results.

    ``mechanism`` is the name of one with metric DP, such as ``laplace``, ``exponential`` or
    ``truncated``; ``epsilon`` is its level. ``vectors`` is a file of word vectors, or nothing for
    the embedded ones.
    """

    epsilon: float | None = None
    mechanism: str = "laplace"
    vectors: FileToRead = field(default="", repr=False)

    def __post_init__(self) -> None:
        if self.epsilon is None:
            raise InvalidArgument("a bag of words needs the level of a word: give `epsilon=...`")
        check_level(self.epsilon)

    @property
    def level(self) -> float:
        """The level of one word."""
        return check_level(self.epsilon)

    @cached_property
    def space(self) -> Space:
        """The public vectors."""
        return load_vectors(self.vectors) if self.vectors else default_space()

    @cached_property
    def word_mechanism(self) -> OverVocabulary:
        """What becomes of each word."""
        from sfumato.mechanisms.build import build_mechanism

        made = build_mechanism(self.mechanism, space=self.space, epsilon=self.level)
        if made.guarantee().notion is not Notion.METRIC_DP:
            raise InvalidArgument(
                f"mechanism={self.mechanism!r} has another kind of guarantee than metric DP, so "
                "nothing follows for bags; take laplace, exponential or truncated"
            )
        return OverVocabulary(points=made)

    def guarantee(self) -> Guarantee:
        """The level of one word, stated for bags."""
        single = self.word_mechanism.points.guarantee()
        return replace(
            single,
            unit="document",
            neighbors="any two documents with equally many words",
            metric=(
                "the least sum over all pairings of their words, which is the number of words "
                f"times the earth mover's distance between the bags, of: {single.metric}"
            ),
            scope="every document, of which a sorted bag of privatized words stays",
        ).leaking(COUNT_LEAK, UNKNOWN_LEAK)

    def rewrite(self, documents: Sequence[str], randomness: Randomness) -> list[str]:
        """The bag of each document, as sorted words."""
        return [self._bag(one, randomness) for one in documents]

    def _bag(self, document: str, randomness: Randomness) -> str:
        drawn = self.word_mechanism.privatize(list(Words.of(document)), randomness)
        return " ".join(sorted(drawn))

    def points(self) -> tuple[PointMechanism, ...]:
        """The law of documents of one word, on which the claim can be tested."""
        return (self.word_mechanism.points,)

    def identity(self) -> Identity:
        """All that decides how it draws; the vectors are public."""
        decides = (self.level, self.mechanism, self.space.digest)
        return Identity((type(self).__qualname__, decides))

    def __getstate__(self) -> dict[str, Any]:
        # Vectors may be large: whoever gets a copy reads them again.
        return {name: value for name, value in vars(self).items() if name not in _NOT_COPIED}
