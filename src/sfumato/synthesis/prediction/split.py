"""Which records speak for which text: a split that does not look at what they say.

Guarantee
    A record is read for one text at most, and which one depends on the number of its place, on its
    own label and on public numbers (label counts that were noised before are public). Without the
    record every other one is where it was.

Why it holds
    Places are put into an order that is drawn from their number alone, and that order is cut into
    groups of neighbors. A group writes one text, or one text for each of several labels, and a
    record speaks for the text of its group that has its label. The groups of one label have no
    place in common, and a record has one label.

    - *equal*: the number of texts for a label is a constant. A group writes a text for every label,
      so nobody has to look at labels to form it.
    - *noised*: label ℓ gets K_ℓ texts by noisy counts. All places are cut into K_ℓ groups for it,
      each of which writes one text; records with other labels are in it and say nothing.
    - *public*: labels are not protected, and each label's places are cut by themselves.

Care
    How many records speak for a text depends on their labels, and is nowhere divided by, shown or
    written. A record without text leaves its place empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.core.arrays import Points
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.synthesis.plan import PUBLIC
from sfumato.synthesis.prediction.plan import PredictionPlan
from sfumato.synthesis.shares import divide


@dataclass(frozen=True)
class Group:
    """Prompts, each of one place or several, and the labels of the texts that they write."""

    prompts: tuple[tuple[int, ...], ...]
    labels: tuple[int, ...]


def shuffled(units: int, randomness: Randomness) -> Points:
    """All places in an order that is drawn from their number."""
    return np.argsort(randomness.uniform(units), kind="stable")


def split_places(plan: PredictionPlan, labels: Sequence[int], counts: Sequence[float],
                 randomness: Randomness) -> list[Group]:  # fmt: skip
    """The groups of a corpus.

    ``labels`` are those of the units, and are read only if the plan declares them public;
    ``counts`` are numbers of units by label that were noised, and are read only if the plan pays
    for them.
    """
    order = shuffled(plan.units, randomness)
    classes = max(1, plan.classes)
    if plan.classes and plan.labels == PUBLIC:
        return _by_public_label(plan, order, np.asarray(labels))
    if plan.counts_labels:
        found = []
        for label, texts in enumerate(divide(plan.texts, counts)):
            for part in range(texts):
                size = plan.units // texts
                places = order[part * size : (part + 1) * size]
                found.append(Group(_single(places), (label,)))
        return found
    wanted = divide(plan.texts, [1.0] * classes)
    size = plan.speakers * plan.shots * classes
    return [
        Group(
            _prompts(order[part * size : (part + 1) * size], plan.shots),
            tuple(label for label in range(classes) if part < wanted[label]),
        )
        for part in range(max(wanted))
    ]


def _by_public_label(plan: PredictionPlan, order: Points, labels: Points) -> list[Group]:
    size = plan.speakers * plan.shots
    owned = [order[labels[order] == label] for label in range(plan.classes)]
    wanted = divide(plan.texts, [float(len(own)) for own in owned])
    found = [
        Group(_prompts(own[part * size : (part + 1) * size], plan.shots), (label,))
        for label, (own, texts) in enumerate(zip(owned, wanted, strict=True))
        for part in range(min(texts, len(own) // size))
    ]
    if not found:
        raise InvalidArgument(
            f"no label has the {size:,} {plan.unit}s that a text needs; take a higher "
            "temperature, a smaller clip or fewer tokens"
        )
    return found


def _single(places: Points) -> tuple[tuple[int, ...], ...]:
    return tuple((int(one),) for one in places)


def _prompts(places: Points, shots: int) -> tuple[tuple[int, ...], ...]:
    every = [int(one) for one in places]
    return tuple(tuple(every[at : at + shots]) for at in range(0, len(every), shots))
