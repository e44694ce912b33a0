"""How often a secret of one record can be guessed: proven at most, measured at least.

The proof is that of Hayes, Mahloujifar and Balle (``accounting.reconstruction``), for everything
the training released, computed from the plan of the run or, where the plan is of another kind, from
its level alone. Beside it stands what an attack reached that guesses among candidates, if its
scores are part of the report; such scores say in their details how many candidates there were, and
what is proven for the step that was attacked. Only with the latter may they be compared: whoever
knows that a record is in a step knows more than training with random batches releases.
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
        "records, but not which steps this one was in. An attack on one step knows that the record "
        "was in it, so where batches are random it may guess more often than that. Guesses that "
        "are right more often than is proven for the step itself would refute the proof."
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
    from sfumato.training.methods.forms_plan import FormsPlan
    from sfumato.training.plan import Plan, quietly
    from sfumato.training.search.plan import SearchPlan

    if not isinstance(plan, dict):
        return None
    kind: Any = DirectionalPlan if "dimension" in plan else Plan
    kind = SearchPlan if "candidates" in plan else FormsPlan if "forms" in plan else kind
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
            for place, figure in enumerate(one.figures):
                chance = one.chance.get(figure.metric)
                if chance and figure.low is not None:
                    about = figure.metric.removeprefix("right guesses ") + _of_step(one, place)
                    said = f"{rounded(figure.low)} ({about})"
                    found[chance] = f"{found[chance]}; {said}" if chance in found else said
    return found


def _of_step(scores: Scores, place: int) -> str:
    """What is proven for the attacked step, if the scores say so."""
    levels = scores.details.get("levels")
    level = levels[place] if isinstance(levels, list) and place < len(levels) else None
    proven = level.get("proven_at_most") if isinstance(level, dict) else None
    return f"; at most {at_most(proven, 3)} for that step" if isinstance(proven, float) else ""
