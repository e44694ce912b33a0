"""A word mechanism as something that can be put to the test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.audits.distinguishers import word_scores
from sfumato.audits.subject import DrawnSample, Event, Outputs, Pair, Score
from sfumato.core.errors import InvalidArgument, SfumatoError
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Notion
from sfumato.mechanisms.claims import covered_outputs
from sfumato.mechanisms.mechanism import PointMechanism
from sfumato.vectors.space import Space

SHOWN = 4
# Notions whose epsilon does not bound a ratio of probabilities.
_OTHER = (Notion.ZCDP, Notion.DIRECTIONAL)


@dataclass(frozen=True, kw_only=True)
class WordSubject:
    """A mechanism on points, and the pairs of points to look at."""

    mechanism: PointMechanism
    chosen: Sequence[Pair]
    company: Sequence[int] = ()

    @property
    def claim(self) -> str:
        """The mechanism's guarantee in plain English."""
        return self.mechanism.guarantee().sentence()

    @property
    def delta(self) -> float:
        """That of the guarantee."""
        return self.mechanism.guarantee().delta

    def pairs(self) -> Sequence[Pair]:
        """The chosen pairs."""
        return self.chosen

    def name(self, number: int) -> str:
        """A public word, or the point of all unknown ones."""
        return point_name(self.mechanism.space, number)

    def beside(self) -> Sequence[int]:
        """Points that are drawn among the others only."""
        return self.company

    def draw(self, number: int, count: int, randomness: Randomness) -> Outputs:
        """Independent outputs for one point, from a single call."""
        return self.draw_together(np.full(count, number, dtype=np.intp), randomness)

    def draw_together(self, numbers: NDArray[np.intp], randomness: Randomness) -> NDArray[np.intp]:
        """Independent outputs; a mechanism that is somebody's own may fail, and says where."""
        who = type(self.mechanism).__name__
        try:
            outputs = np.asarray(self.mechanism.privatize(numbers.copy(), randomness))
        except SfumatoError:
            raise
        except (Exception, SystemExit) as error:
            # Only public words go in here, so the message cannot hold private text.
            raise InvalidArgument(
                f"{who}.privatize(points, randomness) failed: {type(error).__name__}: {error}"
            ) from error
        if outputs.shape != numbers.shape or not np.issubdtype(outputs.dtype, np.integer):
            raise InvalidArgument(
                f"{who}.privatize(points, randomness) must give one whole number per point; for "
                f"{len(numbers)} points it gave {outputs.dtype} numbers of shape {outputs.shape}"
            )
        # The point of unknown words is no output, but a mechanism that keeps them may give it.
        if outputs.min() < 0 or outputs.max() > self.mechanism.space.unknown:
            raise InvalidArgument(f"{who}.privatize(points, randomness) gave no point of the space")
        return outputs.astype(np.intp)

    def distances(
        self, numbers: NDArray[np.intp], outputs: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        """Euclidean distances in the space."""
        space = self.mechanism.space
        away: NDArray[np.float64] = np.linalg.norm(space.at(outputs) - space.at(numbers), axis=1)
        return away

    def scores(self, pair: Pair, first: DrawnSample, second: DrawnSample) -> list[Score]:
        """What is learned from draws and what public vectors tell, on covered outputs only."""
        space = self.mechanism.space
        places = space.at(np.array([pair.first, pair.second], dtype=np.intp))
        names = (self.name(pair.first), self.name(pair.second))
        scores = word_scores(space, places, names, first, second)
        covered = covered_outputs(self.mechanism)
        return scores if covered.all() else [_within(score, covered) for score in scores]

    def describe(self, event: Event, seen: DrawnSample) -> str:
        """The words of an event that came most often, and by what they were chosen."""
        inside = event.contains(seen.outputs)
        words = seen.outputs[inside].astype(np.intp)
        order = np.argsort(-seen.counts[inside], kind="stable")
        named = [self.name(word) for word in words[order[:SHOWN]].tolist()]
        if len(words) > SHOWN:
            named.append(f"one of {len(words) - SHOWN:,} more words for which {event}")
        return f"the output is {' or '.join(named) or f'a word for which {event}'}"


def check_claims_something(mechanism: PointMechanism) -> None:
    """Refuse what has nothing to refute, with the reason."""
    guarantee = mechanism.guarantee()
    who = type(mechanism).__name__
    if guarantee.notion is Notion.NONE or np.isinf(guarantee.epsilon):
        raise InvalidArgument(
            f"nothing is claimed: {who} is a baseline without a formal guarantee, so there is "
            "nothing to refute; attack its output instead"
        )
    if guarantee.notion in _OTHER:
        raise InvalidArgument(
            f"{who} claims {guarantee.notion.value}, whose level bounds no ratio of probabilities; "
            "verify tests pure, approximate, local and metric differential privacy"
        )


def point_name(space: Space, point: int) -> str:
    """A word in quotation marks, or what stands for all others.

    >>> space = Space("toy", ["rome", "paris"], np.eye(2, dtype=np.float32))
    >>> point_name(space, 1), point_name(space, 2)
    ("'paris'", 'an unknown word')
    """
    return "an unknown word" if point == space.unknown else f"'{space.words[point]}'"


def _within(score: Score, covered: NDArray[np.bool_]) -> Score:
    """The same score, by which an event holds covered outputs only, whichever way it is cut."""
    known = np.append(covered, False)  # the unknown word is no output that a claim speaks of

    def masked(outputs: Outputs) -> NDArray[np.float64]:
        return np.where(known[outputs.astype(np.intp)], score.of(outputs), np.nan)

    return Score(score.name, masked)
