"""How many texts a trained model writes for each label: given, or by counts with noise.

Guarantee
    Noised counts are epsilon-DP for two corpora of which one lacks a unit of the other. Together
    with a model that is (ε, δ)-DP for the same neighbors, they are (ε + epsilon, δ)-DP.

Why it holds
    A unit is counted once: a document under its label, an author under that of one document, drawn
    without looking at any. So one count moves by 1, and two-sided geometric noise of that rate is
    drawn exactly (``mechanisms/geometric.py``). Levels of two releases add up (Dwork and Roth
    2014, theorem 3.16), and the counts have no delta.

Care
    Counts are drawn once for a corpus and kept with what was written so far, so a run that goes on
    draws none. Whoever starts anew draws anew: levels of both draws add up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from sfumato.accounting.budget.charges import Claim
from sfumato.accounting.budget.payment import Hold, Payment, digest_of, refuse_seed
from sfumato.core.checks import number, positive
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import LACKS_ONE, Guarantee, Notion
from sfumato.mechanisms.geometric import ExactDraws
from sfumato.synthesis.labels import count_labels
from sfumato.synthesis.voting import chosen_records
from sfumato.text.document import Document

_DOCUMENTS, _NOISE = 0, 1


def given_weights(shares: Mapping[str, float], labels: Sequence[str]) -> list[float]:
    """Public weights in the order of the labels; those that are not named get nothing."""
    unknown = sorted(set(shares) - set(labels))
    if unknown:
        raise InvalidArgument(
            f"`shares=...` names {unknown[0]!r}, and the labels are {', '.join(labels)}"
        )
    weights = [number(f"the share of {one}", shares.get(one, 0.0)) for one in labels]
    if min(weights) < 0 or not any(weights):
        raise InvalidArgument("`shares=...` must have no negative share, and one above 0")
    return weights


def noised_weights(
    documents: Sequence[Document],
    labels: Sequence[str],
    *,
    epsilon: float,
    unit: str,
    randomness: Randomness,
) -> list[float]:
    """Units by label, each count with noise of its own."""
    rate = Fraction(positive("labels_epsilon", epsilon))
    count_labels(documents, labels)  # or an error that names a place
    units = chosen_records(
        documents,
        unit="author" if unit == "author" else "record",
        votes=1,
        randomness=randomness.stream(_DOCUMENTS),
    )
    counts = Counter(documents[one].labels[0] for (one,) in units)
    draws = ExactDraws(randomness.stream(_NOISE))
    return [float(counts[label] + draws.geometric(rate)) for label in labels]


def pay_for_counts(
    payment: Payment | None,
    documents: Sequence[Document],
    epsilon: float,
    unit: str,
    randomness: Randomness,
) -> Hold | None:
    """Hold the level of noised counts before they are drawn; the model was paid for before."""
    if payment is None:
        return None
    refuse_seed(randomness)
    proven = Guarantee(
        notion=Notion.PURE_DP,
        unit=unit,
        neighbors=LACKS_ONE.format(unit=unit),
        epsilon=positive("labels_epsilon", epsilon),
        scope="how many units have which label, with noise",
    )
    work = {
        "work": "label counts",
        "corpus": digest_of((one.text, one.author, *one.labels) for one in documents),
    }
    return payment.pay(Claim(proven), work)


def together(guarantee: Guarantee, epsilon: float) -> Guarantee:
    """What is proven of a model and of label counts with noise."""
    known = LACKS_ONE.format(unit=guarantee.unit)
    proven = guarantee.notion in (Notion.PURE_DP, Notion.APPROXIMATE_DP)
    if not proven or guarantee.neighbors != known:
        raise InvalidArgument(
            "label counts with noise add to a level that is about corpora of which one lacks a "
            "unit of the other, and this model states another one, or none; give the shares, "
            "which are then public, `shares={'LABEL': 0.5}`"
        )
    return replace(guarantee, epsilon=guarantee.epsilon + epsilon)
