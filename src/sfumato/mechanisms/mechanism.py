"""What every mechanism can do.

There are two kinds of word mechanisms. ``PointMechanism`` works on points of a public space: that
is where its law and its proof live. ``Mechanism`` works on words as they are spelled;
``OverVocabulary`` turns the first into the second. A ``StretchMechanism`` looks at no word by
itself: it puts one thing in the place of a whole stretch that was found. Masks, pseudonyms,
surrogates and the mechanisms for dates, numbers and places do that. A ``DocumentMechanism`` is the
third height: it reads a whole document and writes another one in its place, so no policy selects
anything in it.

``check_level`` checks that a level can be computed with in floating point.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, Self, runtime_checkable

from sfumato.core.checks import positive
from sfumato.core.errors import InvalidArgument
from sfumato.core.keys import Key
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee
from sfumato.text.span import Stretch

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.files.source import Source
    from sfumato.vectors.space import Space


@runtime_checkable
class PointMechanism(Protocol):
    """A random map from points of a space (the unknown one included) to its words."""

    @property
    def space(self) -> Space:
        """The public space."""
        ...

    def guarantee(self) -> Guarantee:
        """What is proven about one word."""
        ...

    def privatize(self, points: NDArray[np.intp], randomness: Randomness) -> NDArray[np.intp]:
        """One independent draw per point."""
        ...


@runtime_checkable
class Mechanism(Protocol):
    """A random map from words to words, defined for every string."""

    def guarantee(self) -> Guarantee:
        """What is proven about one word."""
        ...

    def privatize(self, words: Sequence[str], randomness: Randomness) -> list[str]:
        """One independent draw per word."""
        ...

    def uncovered(self, words: Sequence[str]) -> int:
        """How many of these words the guarantee does not cover."""
        ...


@runtime_checkable
class StretchMechanism(Protocol):
    """A map from whole stretches, each with the type it was found as, to what stands there."""

    def guarantee(self) -> Guarantee:
        """What is proven about one stretch, and what shows."""
        ...

    def replace(self, stretches: Sequence[Stretch], randomness: Randomness) -> list[str]:
        """One replacement for each stretch of one document, in order.

        It is called once for each document (a record with several texts is one document), so a
        mechanism that draws one number for a whole document draws it here.
        """
        ...


@runtime_checkable
class DocumentMechanism(Protocol):
    """A random map from whole documents to whole documents, defined for every text."""

    def guarantee(self) -> Guarantee:
        """What is proven about one document, or one sentence of it, and what shows."""
        ...

    def rewrite(self, documents: Sequence[str], randomness: Randomness) -> list[str]:
        """One new text for each document.

        What becomes of a document must not depend on the others in the call.
        """
        ...


@runtime_checkable
class TellsFacts(Protocol):
    """A mechanism that has more to tell in a side file than its numbers and names."""

    def public_facts(self) -> dict[str, Any]:
        """Names, numbers and digests of what is public: a pool, a model."""
        ...


@runtime_checkable
class ReadsPublicText(Protocol):
    """A mechanism whose outputs are made of text that must be public."""

    def public_sources(self) -> Mapping[str, Source]:
        """The files of that text, by the settings that name them."""
        ...


@runtime_checkable
class Keyed(Protocol):
    """A mechanism with a secret key, which all workers of a run must have in common."""

    @property
    def key(self) -> Key:
        """The key in use."""
        ...

    def under(self, key: Key) -> Self:
        """The same mechanism under another key."""
        ...


SMALLEST, LARGEST = 1e-12, 1e300


def check_level(epsilon: object) -> float:
    """A level that is neither lost beside a distance nor makes it overflow.

    >>> check_level(5)
    5.0
    """
    checked = positive("epsilon", epsilon)
    if not SMALLEST <= checked <= LARGEST:
        raise InvalidArgument(
            f"epsilon={checked:g} must lie between {SMALLEST:g} and {LARGEST:g}: below, the output "
            "is pure noise already; above, words stay as they are"
        )
    return checked
