"""Mechanisms that move a word's place by noise of a known density, and then read off a word there.

What is known of such a mechanism besides its draws: the density of the noisy place. For two words
x and x' it differs by the factor exp(−epsilon·(d(q, x) − d(q, x'))) at a place q, d being the
distance of the mechanism. So whoever saw the noisy place itself could compute exactly how likely
each word is; an attacker sees only the word that was read off it, and can do no better
(``attacks.inference.word_guesses``).
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from numpy.typing import NDArray

from sfumato.core.arrays import Points, Singles
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.mechanism import PointMechanism

Places = NDArray[Any]
"""One row for each place: coordinates, or bits of a code."""


@runtime_checkable
class ByNoise(PointMechanism, Protocol):
    """A mechanism on points whose outputs are read off noisy places."""

    @property
    def epsilon(self) -> float:
        """The level, per unit of the distance in which the noise is drawn."""
        ...

    def places(self, points: Points) -> Places:
        """Where points stand, without noise."""
        ...

    def moved(self, points: Points, randomness: Randomness) -> Places:
        """Where points stand after noise; one independent draw per point."""
        ...

    def words_at(self, places: Places, randomness: Randomness) -> Points:
        """The word that is read off each noisy place; nothing else of the original is known."""
        ...

    def distances_from(self, places: Places, first: int | None = None) -> Singles:
        """From each place (one per row) to every word, or the first ones, as the noise measures."""
        ...


def draw_by_noise(mechanism: ByNoise, points: Points, randomness: Randomness) -> Points:
    """One draw per point: noise, then the word that is read off."""
    # Only the noisy places go on from here: what reads off a word never learns the originals.
    return mechanism.words_at(mechanism.moved(points, randomness), randomness)
