"""How often a secret of one record can be guessed: proven at most, measured at least.

The proof is that of Hayes, Mahloujifar and Balle (``accounting.reconstruction``), for everything
the training released, computed from the plan of the run or, where the plan is of another kind, from
its level alone. Beside it stands what an attack reached that guesses among candidates, if its
scores are part of the report; such scores say in their details how many candidates there were.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from sfumato.accounting.reconstruction import PRIORS
from sfumato.charts.numbers import rounded
from sfumato.core.errors import SfumatoError
from sfumato.guarantees.guarantee import Guarantee, Notion
from sfumato.guarantees.wording import at_most
from sfumato.reports.page import Section, Table, paragraph
from sfumato.results.scores import Scores

CANDIDATES = "candidates"
_KINDS = (Notion.PURE_DP, Notion.APPROXIMATE_DP)
_LARGEST = 700.0
NONE = "–"


def rebuilt_section(plan: object, guarantee: Guarantee, scores: Sequence[Scores]) -> list[Section]:
    """A table, for guarantees about whole records; else nothing."""
    if guarantee.notion not in _KINDS or guarantee.metric or math.isinf(guarantee.epsilon):
        return []
    bound = proven_bound(plan, guarantee)
    measured = _measured(scores)
    priors = sorted({*PRIORS, *measured}, reverse=True)
    rows = [
        (f"once in {round(1 / prior):,}", at_most(bound(prior), 3), measured.get(prior, NONE))
        for prior in priors
    ]
    table = Table(
        caption="A right guess about one record",
        head=("without the model", "with it, proven at most", "by attack, at least"),
        rows=rows,
    )
    said = paragraph(
        "The proof is for everything that training released, and for somebody who knows all other "
        "records. An attack on one step sees less; whatever it sees, if it guesses more often than "
        "is proven with the noise of this run, the proof is refuted."
    )
    return [Section(name="rebuilt", title="How often could a record be guessed?",
                    parts=[table, said])]  # fmt: skip


def proven_bound(plan: object, guarantee: Guarantee) -> Callable[[float], float]:
    """The largest probability of a right guess, for the probability without the model."""
    made = _read(plan)
    if made is not None:
        found: Callable[[float], float] = made.most_rebuilt
        return found

    def by_level(prior: float) -> float:
        if guarantee.epsilon > _LARGEST:
            return 1.0
        return min(1.0, prior * math.exp(guarantee.epsilon) + guarantee.delta)

    return by_level


def _read(plan: object) -> Any:
    """A plan of noisy steps on whole records; None if it is of another kind."""
    from sfumato.training.methods.directional import DirectionalPlan
    from sfumato.training.plan import Plan, quietly

    if not isinstance(plan, dict):
        return None
    kind = DirectionalPlan if "dimension" in plan else Plan
    try:
        with quietly():
            return kind.from_dict(plan)
    except (SfumatoError, KeyError, TypeError, ValueError):
        return None


def _measured(scores: Sequence[Scores]) -> dict[float, str]:
    """The lower end of what candidates were guessed with, by chance."""
    found: dict[float, str] = {}
    for one in scores:
        if CANDIDATES in one.details:
            for figure in one.figures:
                chance = one.chance.get(figure.metric)
                if chance and figure.low is not None:
                    said = f"{rounded(figure.low)} ({figure.metric.removeprefix('right guesses ')})"
                    found[chance] = f"{found[chance]}; {said}" if chance in found else said
    return found
