"""A guarantee as people read it: rounded up, in one line; the exact statement is beside it."""

from __future__ import annotations

import math

from sfumato.guarantees.guarantee import Guarantee, Notion
from sfumato.guarantees.summary import strength_of
from sfumato.guarantees.wording import at_most

_OF_RECORDS = (Notion.PURE_DP, Notion.APPROXIMATE_DP, Notion.ZCDP)
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
# Beyond this a factor says no more than that it is enormous.
ENORMOUS = 1e6


def protected_what(guarantee: Guarantee | None) -> str:
    """What a guarantee is about, in a few words."""
    if guarantee is None:
        return "not known"
    if math.isinf(guarantee.epsilon) or guarantee.notion is Notion.NONE:
        return "nothing"
    one = f"any one {guarantee.record or guarantee.unit}"
    if guarantee.notion in _OF_RECORDS:
        return f"whether {one} was used"
    if guarantee.notion is Notion.SELECTIVE_DP:
        return f"what the policy finds in {one}"
    return guarantee.scope


def proven_in_words(guarantee: Guarantee | None) -> str:
    """What is proven, with a factor that people can hold on to."""
    if guarantee is None:
        return "not known"
    if guarantee.notion in (*_OF_RECORDS, Notion.SELECTIVE_DP) and _finite(guarantee):
        of = guarantee.record or guarantee.unit
        return f"{levels_of(guarantee)} for one {of}: {_factor(guarantee)}"
    if guarantee.parts:
        return guarantee.summary()[0].removeprefix("Protected by type. ").rstrip(".")
    return strength_of(guarantee)


def levels_of(guarantee: Guarantee) -> str:
    """The levels, rounded up.

    >>> from sfumato.guarantees.guarantee import Guarantee, Notion
    >>> levels_of(Guarantee(notion=Notion.APPROXIMATE_DP, unit="document", neighbors="n",
    ...                     epsilon=7.99996, delta=1e-5))
    'ε ≤ 8, δ ≤ 1e-05'
    """
    name = "ρ" if guarantee.notion is Notion.ZCDP else "ε"
    level = f"{name} ≤ {at_most(guarantee.epsilon, 3)}"
    return f"{level}, δ ≤ {at_most(guarantee.delta, 2)}" if guarantee.delta else level


def times_likelier(epsilon: float) -> str:
    """The factor that a level stands for, rounded up.

    >>> times_likelier(1.99998), times_likelier(0.5), times_likelier(40.0)
    ('e² ≈ 7.4', 'e^0.5 ≈ 1.7', 'e⁴⁰, which is more than a million')
    """
    level = at_most(epsilon, 3)
    power = f"e{level.translate(_RAISED)}" if level.isdecimal() else f"e^{level}"
    factor = math.exp(min(float(level), 700.0))
    if factor > ENORMOUS:
        return f"{power}, which is more than a million"
    digits = 2 if factor < 100 else 4
    return f"{power} ≈ {float(at_most(factor, digits)):,.{1 if factor < 100 else 0}f}"


def best_guess(guarantee: Guarantee) -> float | None:
    """How often the best attacker can be right about one record at even odds, at most.

    Whatever it knows besides, an attacker who sees what is released and guesses between two
    neighbors that are equally likely is right with probability at most (e^ε + δ) / (e^ε + 1).
    None if the guarantee is of another kind.

    >>> from sfumato.guarantees.guarantee import Guarantee, Notion
    >>> best_guess(Guarantee(notion=Notion.PURE_DP, unit="document", neighbors="n", epsilon=1.0))
    0.7310585786300049
    """
    if guarantee.notion is Notion.ZCDP or guarantee.metric or not _finite(guarantee):
        return None
    if guarantee.notion not in (*_OF_RECORDS, Notion.SELECTIVE_DP):
        return None
    if guarantee.epsilon > 700:
        return 1.0
    factor = math.exp(guarantee.epsilon)
    return min(1.0, (factor + guarantee.delta) / (factor + 1))


def _factor(guarantee: Guarantee) -> str:
    if guarantee.notion is Notion.ZCDP:
        return f"{guarantee.neighbors} are hardly told apart"
    times = times_likelier(guarantee.epsilon)
    return f"any outcome is at most {times} times likelier for one of two neighbors than the other"


def _finite(guarantee: Guarantee) -> bool:
    return math.isfinite(guarantee.epsilon) and guarantee.epsilon > 0
