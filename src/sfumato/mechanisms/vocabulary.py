"""From spelled words to points of a public space and back.

Guarantee
    That of the mechanism on points, for every string whatsoever. All strings outside the
    vocabulary share one point, so they are indistinguishable from each other; at a high level the
    output shows *that* a word was unknown, never which.

Why it holds
    Spelling to point is a fixed public map, so the distance between two strings is the distance
    between their points (a pseudo-metric), and the mechanism sees nothing but the points.

What weakens it
    ``unknown="keep"`` leaves words outside the vocabulary as they are, as the thesis does: those
    words, often the most identifying ones, are not covered, and are counted.
    ``unknown="shape"`` draws another word of the same shape for them (digits for numbers, letters
    for all else but punctuation, blanks and signs of money and arithmetic, which stay): no draw
    depends on the original beyond its shape, but that a word was unknown shows, and its shape. So
    words inside and outside the vocabulary are not compared, nor are unknown words of different
    shapes.
    ``case="restore"`` copies the original's capitals onto the replacement: the statement then
    compares only originals with the same pattern of capitals.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sfumato.core.checks import one_of
from sfumato.core.errors import UnknownWords
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee
from sfumato.mechanisms.mechanism import PointMechanism

UNKNOWN = ("centroid", "error", "keep", "shape")
CASE = ("public", "restore")

CASE_LEAK = "the capitals of each privatized word"
UNKNOWN_LEAK = "at a high epsilon, that a word was outside the vocabulary (never which one)"
KNOWN_LEAK = "that every privatized word is in the vocabulary"
SHAPE_LEAK = (
    "which words are outside the vocabulary, and their shape (length, where capitals and digits "
    "stand, and all punctuation, blanks and signs of money and arithmetic)"
)
SAME_SHAPE = "(both in the vocabulary, or both outside and of the same shape)"
KEPT_UNKNOWN = "selected words outside the vocabulary, which stand unchanged"


@dataclass(frozen=True, kw_only=True)
class OverVocabulary:
    """A word mechanism made of a mechanism on points and a rule for unknown words and case.

    >>> from sfumato.mechanisms.laplace import Laplace
    >>> from sfumato.vectors.load import default_space
    >>> mechanism = OverVocabulary(points=Laplace(space=default_space(), epsilon=5))
    >>> known = set(default_space().words)
    >>> outputs = mechanism.privatize(["Aspirin", "xQ7-canary"], Randomness.secure())
    >>> all(word in known for word in outputs)
    True
    """

    points: PointMechanism
    unknown: str = "centroid"
    case: str = "public"

    def __post_init__(self) -> None:
        one_of("unknown", self.unknown, UNKNOWN)
        one_of("case", self.case, CASE)

    def guarantee(self) -> Guarantee:
        """The guarantee on points, marked with what the two rules cost."""
        guarantee = self.points.guarantee()
        if self.unknown == "centroid":
            guarantee = guarantee.leaking(UNKNOWN_LEAK)
        if self.unknown == "keep":
            guarantee = guarantee.not_covering(KEPT_UNKNOWN)
        if self.unknown == "error":
            guarantee = guarantee.leaking(KNOWN_LEAK)
        if self.unknown == "shape":
            neighbors = f"{guarantee.neighbors} {SAME_SHAPE}"
            guarantee = replace(guarantee.leaking(SHAPE_LEAK), neighbors=neighbors)
        if self.case == "restore":
            neighbors = f"{guarantee.neighbors} with the same capitals"
            guarantee = replace(guarantee.leaking(CASE_LEAK), neighbors=neighbors)
        return guarantee

    def uncovered(self, words: Sequence[str]) -> int:
        """How many words stay because they are unknown (only with ``unknown="keep"``)."""
        if self.unknown != "keep":
            return 0
        space = self.points.space
        return sum(space.point_of(word) == space.unknown for word in words)

    def privatize(self, words: Sequence[str], randomness: Randomness) -> list[str]:
        """One independent draw per word."""
        space = self.points.space
        inputs = space.points(words)
        unknown = inputs == space.unknown
        if self.unknown == "error" and unknown.any():
            # The count is safe to name; the words are what must be protected.
            raise UnknownWords(
                f"{int(unknown.sum())} selected words are outside the vocabulary of {space.name} "
                "(unknown='centroid' protects them, unknown='keep' leaves them as they are)"
            )
        outputs = [space.words[point] for point in self.points.privatize(inputs, randomness)]
        if self.case == "restore":
            outputs = [restore_case(out, word) for out, word in zip(outputs, words, strict=True)]
        if self.unknown == "keep":
            outputs = [
                word if stays else out
                for word, out, stays in zip(words, outputs, unknown.tolist(), strict=True)
            ]
        if self.unknown == "shape":
            outputs = [
                draw_shape(word, randomness) if other else out
                for word, out, other in zip(words, outputs, unknown.tolist(), strict=True)
            ]
        return outputs


def draw_shape(word: str, randomness: Randomness) -> str:
    """Uniformly drawn letters and digits in the shape of a word.

    >>> drawn = draw_shape("xQ7-9", Randomness.secure())
    >>> drawn[0].islower(), drawn[1].isupper(), drawn[2].isdigit(), drawn[3]
    (True, True, True, '-')
    """
    draws = randomness.integers(26 * 10, len(word)).tolist()
    return "".join(_like(character, draw) for character, draw in zip(word, draws, strict=True))


def _like(character: str, draw: int) -> str:
    category = unicodedata.category(character)
    if category[0] == "N":
        return str(draw % 10)
    if category[0] in "PZ" or category in ("Sc", "Sm"):
        return character
    # Marks, circled letters, flags, Braille, invisible, private and unknown characters can all be
    # read by somebody: a letter stands for each of them.
    letter = chr(ord("a") + draw % 26)
    return letter.upper() if character.isupper() else letter


def restore_case(replacement: str, original: str) -> str:
    """The replacement with the original's pattern of capitals.

    >>> [restore_case("paris", original) for original in ("LONDON", "London", "london")]
    ['PARIS', 'Paris', 'paris']
    """
    if len(original) > 1 and original.isupper():
        return replacement.upper()
    if original[:1].isupper():
        return replacement[:1].upper() + replacement[1:]
    return replacement
