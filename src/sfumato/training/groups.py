"""Training that counts groups of documents by public weights, so that a small one is not lost.

Clipping and noise cost a small group more than a large one: its records are a minority in every
batch, so the noise of a step is large beside their sum, and where its gradients are longer, more
of them is cut off. A weight for each group makes the group count as if it were larger.

Guarantee
    That of the training, unchanged, for every record of every group; a record's group is protected
    like the rest of the record. Only the names of the groups and their weights are public. Where a
    record's group is known anyway, its own level may be lower (``levels_by_group``).

Why it holds
    Weights are divided by the largest one, so a record's *share* is at most 1, and its clipped
    gradient is multiplied by this share: its norm is at most share·C, and adding or removing a
    record changes the sum of a step by at most C, as before. The share is a function of this record
    alone, whatever others there are, because the weights were given and not counted.

Why after clipping
    Multiplied into the loss, a weight of 3 makes a gradient three times longer, and clipping cuts
    it back to C: where gradients are longer than C, as most are when C is small, nothing is left of
    the weight, and a weight below 1 takes nothing away from them. After clipping a group counts by
    its weight, whatever the lengths of its gradients. (A weight above 1 there would break the
    bound: hence the division by the largest.) Weights of *classes* are multiplied into the loss.

Care
    Weights that count the records of a group (``balanced``) would show these counts, and nothing is
    charged for them: training with noise refuses them. All groups but the heaviest add less to a
    sum whose noise is the same: reweighting is paid for with noise, and it is the heaviest group
    whose records are closest to the level that is stated. Worst-group training (Sagawa et al.
    2020, "Distributionally robust neural networks for group shifts") moves the weights by the
    groups' losses in every step. These losses are private, so each step would have to release one
    noisy loss for each group and be charged for it; weights that stay the same cost nothing.

Reference
    Bagdasaryan, Poursaeed and Shmatikov 2019, "Differential privacy has disparate impact on model
    accuracy"; Hansen, Neerkaje, Sawhney, Flek and Søgaard 2022, "The impact of differential privacy
    on group disparity mitigation" (its title; its experiments are not rebuilt here).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import between, positive
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.training.plan import Plan, TrainingPlan, quietly

if TYPE_CHECKING:
    from sfumato.text.document import Document
    from sfumato.training.records import TokenRecords
    from sfumato.training.request import Request

BALANCED = "balanced"  # weights that are computed from the groups' sizes
LARGEST_WEIGHT = 1e6
MOST_APART = 1e3  # a group that counts less than this share might as well be left out

GroupWeights = tuple[tuple[str, float], ...]


def read_weights(given: Mapping[str, float] | str) -> GroupWeights | str:
    """The weights by group in a fixed order, or the word that stands for them; checked.

    >>> read_weights({"GB": 3, "DE": 1})
    (('DE', 1.0), ('GB', 3.0))
    """
    if isinstance(given, str):
        if given and given != BALANCED:
            raise InvalidArgument(
                f"`group_weights={given!r}` must be a number for each group, such as "
                "`group_weights={'a': 1, 'b': 3}`, or 'balanced'"
            )
        return given
    for name, weight in given.items():
        if not isinstance(name, str) or not name:
            raise InvalidArgument(
                "`group_weights=...` names its groups by texts that are not empty"
            )
        between("group_weights", positive("group_weights", weight), 0.0, LARGEST_WEIGHT)
    if len(given) == 1:
        raise InvalidArgument(
            "`group_weights=...` has one group; one weight changes nothing, so give one for each "
            "group that there is"
        )
    if given and max(given.values()) > MOST_APART * min(given.values()):
        raise InvalidArgument(
            f"`group_weights=...`: the largest is more than {MOST_APART:g} times the smallest; a "
            "group that counts so little is better left out"
        )
    return tuple((name, float(given[name])) for name in sorted(given))


def check_groups(request: Request) -> None:
    """Refuse weights that would be counted from private text, or that a method cannot use."""
    weights, method = request.course.group_weights, request.method
    if not weights:
        return
    if weights == BALANCED and method.adds_noise:
        raise InvalidArgument(
            "`group_weights='balanced'` counts the records of each group, which are private: every "
            "weight would show how many there are, and nothing is charged for it. Give the method "
            f"{method.name} numbers that do not come from these records, one for each group, such "
            "as `group_weights={'a': 1, 'b': 3}`"
        )
    if not method.weighs_groups:
        raise InvalidArgument(
            f"the method {method.name} does not weigh groups: it has records, or noise, of its own "
            "kind. Leave `group_weights=...` out, or take the method private or plain"
        )


def shares_of(weights: GroupWeights) -> dict[str, float]:
    """What a record of each group counts: at most 1, which is what the heaviest group counts.

    >>> shares_of((("DE", 1.0), ("GB", 4.0)))
    {'DE': 0.25, 'GB': 1.0}
    """
    # A share above 1 would break the bound of a step.
    heaviest = max(weight for _, weight in weights)
    return {name: weight / heaviest for name, weight in weights}


def weigh_groups(
    records: TokenRecords, documents: Sequence[Document], weights: GroupWeights | str
) -> TokenRecords:
    """The same records, each with the share of its group; that of an author is a mean.

    ``documents`` are those that the records were made of, in the same order.
    """
    if not weights:
        return records
    groups = [group_of(one, number, records) for number, one in enumerate(documents, start=1)]
    if isinstance(weights, str):
        names, counts = np.unique(groups, return_counts=True)
        weights = tuple((str(name), 1 / count) for name, count in zip(names, counts, strict=True))
    shares = shares_of(weights)
    missing = next((place for place, one in enumerate(groups, start=1) if one not in shares), None)
    if missing is not None:
        raise BadInput(
            f"document {missing} belongs to a group that `group_weights=...` gives no weight: "
            f"{', '.join(shares)} have one"
        )
    own = np.array([shares[one] for one in groups])
    return replace(records, shares=_of_records(own, documents, records).astype(np.float32))


def group_of(document: Document, number: int, records: TokenRecords) -> str:
    """The group of a document: its last label, beside the class if there are classes."""
    least = 1 if records.classes is None else 2
    if len(document.labels) < least:
        raise BadInput(
            f"document {number} has no group; name the field that holds it: `group_field=NAME`"
        )
    return document.labels[-1]


def _of_records(
    own: NDArray[np.float64], documents: Sequence[Document], records: TokenRecords
) -> NDArray[np.float64]:
    """The mean over the documents of each record; with one document a record it is its own."""
    if records.unit == "example":
        return own
    numbers: dict[str | None, int] = {}
    places = [numbers.setdefault(one.author, len(numbers)) for one in documents]
    means = np.bincount(places, weights=own) / np.bincount(places)
    # The mean of ones may be rounded up.
    return np.minimum(means, 1.0)


def levels_by_group(plan: TrainingPlan, weights: GroupWeights | str) -> dict[str, float]:
    """The epsilon of a record of each group, for whoever knows the group; empty if not known.

    A record with share s moves a sum by at most s·C, so the same noise is 1/s times as much for it.
    """
    if type(plan) is not Plan or not isinstance(weights, tuple) or not weights:
        return {}
    if not plan.private or plan.unit != "example" or plan.neighbors != "add-or-remove":
        return {}
    known: dict[float, float] = {}
    for share in shares_of(weights).values():
        if share not in known:
            known[share] = _level(plan, share)
    return {name: known[share] for name, share in shares_of(weights).items()}


def _level(plan: Plan, share: float) -> float:
    if share == 1.0:
        return plan.epsilon()
    # Rounded down, by more than shares are rounded (to float32): never more noise than there is.
    stages = tuple(
        replace(one, noise_multiplier=one.noise_multiplier / share * (1 - 1e-6))
        for one in plan.stages
    )
    with quietly():
        return replace(plan, stages=stages).epsilon()
