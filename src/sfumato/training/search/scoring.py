"""What decides which trial is the best: a figure on public text, or a noisy one on held-out units.

Guarantee
    ``PublicScore`` reads the model and public documents: post-processing, which costs nothing.
    ``HeldOutScore`` releases the sum of one number from 0 to 1 for each held-out unit, with
    Gaussian noise of ``noise`` times what a unit can change: a Gaussian release with that
    multiplier, for neighbors of which one lacks a held-out unit.

Why it holds
    A unit's number depends on the model and on its own documents alone, each read by itself, in no
    batch with others. It is rounded down to whole numbers of 2⁻²⁰, and the noise is rounded to the
    same before it is added, so that no digit of the sum tells more than a Gaussian release would. A
    unit that is missing adds 0. The sum is divided by the public number of held-out units.

    The number of a language model is 1 − loss/ln V, cut to 0 … 1: the loss is the mean −ln p of the
    unit's tokens, and ln V that of a guess among all tokens of the vocabulary. That of a classifier
    is the share of the unit's documents whose label is found.

Care
    A public file that overlaps with the private text makes the score a release that nobody charged.
    Only whether it is the same file can be told here.
    The score of the best trial belongs to what is released. All other scores stay secret: they are
    kept in the state of an unfinished search and deleted with it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.histograms.counts import draw_noise
from sfumato.models.load import LoadedModel
from sfumato.statistics.classification import ACCURACY, MACRO, MATTHEWS
from sfumato.text.document import Document
from sfumato.training.evaluation import measure_predictions, predict_labels, predict_tokens

# The figures that can decide, the usual one first, by the names under which they are measured; of
# the first less is better, of all others more is.
OF_LANGUAGE = {"perplexity": "perplexity", "accuracy": ACCURACY}
OF_CLASSES = {"accuracy": ACCURACY, "matthews": MATTHEWS, "f1": MACRO}
LESS_IS_BETTER = ("perplexity",)
GRAIN = 2**20
HELD_OUT = "held-out"


@dataclass(frozen=True)
class Scored:
    """``value`` decides, the larger the better; ``rows`` are the figures of the winner."""

    value: float
    rows: tuple[Mapping[str, Any], ...] = ()


class Score(Protocol):
    """What a trial's model is judged by."""

    def of(self, model: LoadedModel, randomness: Randomness) -> Scored:
        """The score of a model."""


@dataclass(frozen=True)
class PublicScore:
    """A figure on public documents; ``metric`` is what it is measured as."""

    documents: Sequence[Document] = field(repr=False)
    metric: str = "perplexity"

    @classmethod
    def named(cls, documents: Sequence[Document], score: str, *, classifier: bool) -> PublicScore:
        """By the name of a figure, or the usual one if it is empty."""
        known = OF_CLASSES if classifier else OF_LANGUAGE
        if score and score not in known:
            raise InvalidArgument(
                f"`score={score!r}` is none of the figures of this kind of model: "
                f"{', '.join(known)}"
            )
        return cls(documents, known[score or next(iter(known))])

    def of(self, model: LoadedModel, randomness: Randomness) -> Scored:
        """All figures, of which one decides."""
        found = measure_predictions(model, self.documents, randomness)
        named = {one.metric: one.value for one in found}
        value = named[self.metric] * (-1 if self.metric in LESS_IS_BETTER else 1)
        rows = tuple(one.as_dict() | {"corpus": "valid"} for one in found)
        return Scored(value if math.isfinite(value) else -math.inf, rows)


@dataclass(frozen=True)
class HeldOutScore:
    """A noisy mean over held-out units, of which each is a list of documents."""

    units: Sequence[Sequence[Document]] = field(repr=False)
    noise: float

    def of(self, model: LoadedModel, randomness: Randomness) -> Scored:
        """The noisy mean; every call is a release."""
        whole = sum(math.floor(GRAIN * unit_number(model, unit)) for unit in self.units)
        (added,) = draw_noise(self.noise * GRAIN, 1, randomness)
        value = (whole + added) / (GRAIN * len(self.units))
        metric = "accuracy" if model.classes else "1 − loss/ln V"
        row = {"metric": f"{metric} with noise", "value": value, "low": None, "high": None}
        return Scored(value, (row | {"n": len(self.units), "corpus": HELD_OUT},))


def unit_number(model: LoadedModel, documents: Sequence[Document]) -> float:
    """What one unit adds to a score: a number from 0 to 1, by its own documents alone."""
    if model.classes:
        found = [predict_labels(model, [one]) for one in documents if one.text]
        right = [bool(one.right[0]) for (one,) in found if len(one.right)]
        return sum(right) / len(right) if right else 0.0
    each = [predict_tokens(model, [one])[0].losses for one in documents if one.text]
    tokens = sum(len(one) for one in each)
    if not tokens:
        return 0.0
    loss = math.fsum(float(one.sum()) for one in each) / tokens
    share = 1 - loss / math.log(model.tokenizer.size)
    # A loss that is no number counts as the worst one.
    return min(1.0, share) if share > 0 else 0.0


def split_units(
    documents: Sequence[Document], unit: str, share: float, split: int
) -> tuple[list[Document], list[list[Document]]]:
    """Documents to train on, and held-out units; ``split`` is a random number that decides.

    Units are told by their places alone, so the split says nothing about the text.
    """
    owners = owners_of(documents, unit)
    places = {owner: place for place, owner in enumerate(dict.fromkeys(owners))}
    count = held_out_units(len(places), share)
    chosen = {
        int(place): number
        for number, place in enumerate(Randomness.reproducible(split).choose(len(places), count))
    }
    held: list[list[Document]] = [[] for _ in range(count)]
    trained = []
    for owner, document in zip(owners, documents, strict=True):
        number = chosen.get(places[owner])
        if number is None:
            trained.append(document)
        else:
            held[number].append(document)
    return trained, held


def owners_of(documents: Sequence[Document], unit: str) -> list[str | int]:
    """To which unit each document belongs."""
    if unit == "example":
        return list(range(len(documents)))
    found: list[str | int] = []
    for number, document in enumerate(documents, start=1):
        if document.author is None:
            raise BadInput(
                f"document {number} has no author, but authors are to be protected; name the field "
                "that holds them, or protect examples"
            )
        found.append(document.author)
    return found


def held_out_units(units: int, share: float) -> int:
    """How many of some units are held out: a public number."""
    if not 0 < share < 1:
        raise InvalidArgument(f"`hold_out={share:g}` must lie between 0 and 1, such as 0.1")
    count = round(units * share)
    if not 1 <= count <= units - 2:
        raise InvalidArgument(
            f"`hold_out={share:g}` of {units:,} units holds out {count:,}; at least one is needed "
            "there, and two to train on"
        )
    return count
