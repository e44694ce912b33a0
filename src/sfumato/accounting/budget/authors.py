"""What an author pays: the level of everything that was replaced in a line of theirs.

Guarantee
    At a limit of L: take two authors whose lines can be compared, as the statement that was charged
    says (the same number of lines, the same text outside of what was replaced, the same places of
    the same types and forms, equal values at the same places where equality shows). If nothing that
    was replaced differs by more than a distance of d, each place in the unit of its own part (words
    in the distance of their vectors, dates in days, places in km), then all that left here is at
    most exp(L·d) times likelier for one of them than for the other. Lines may be written after
    seeing what became of the lines before.

Why it holds
    Place i is replaced by a draw of its own, whose chances differ by a factor of at most
    exp(ε_i·d_i), with ε_i the level of its part and d_i ≤ d. Along every course of outputs the
    factors multiply, whatever the author wrote next, so that the exponent is at most
    Σ ε_i·d_i ≤ d·Σ ε_i, over all places of all lines that were paid for. What is charged for a line
    is Σ ε_i of its places, rounded up, and no line is released when the sum would pass L.

    - A part with ``unit="document"`` has one draw for all of its places in a line (dates that are
      moved by one number of days): one factor, exp(ε·d), since compared lines differ by the same
      distance at all of these places. It is charged once for a line, however many there are.
    - What is put in without looking at the original (surrogates, masks) has ε_i = 0 and costs
      nothing: compared authors give the same chances. Where the same value has the same surrogate
      everywhere (under one key), outputs of different lines are not independent, but all of them
      together depend on which values are equal, which is the same for both authors, and on nothing
      else of the values; so the factor is 1, whichever lines come later.
    - Whether a line still fits depends on counts of places by type, which are the same for both
      authors, and so do masks that stand in the place of what no longer fits: they add nothing.

    How many *words* stand under one replacement is no such count where a whole stretch is replaced
    (no output shows it), so the price of a line must not depend on it: stretches are counted there,
    and words only where words are replaced one by one.

What does not hold
    A statement without a distance, one that holds for some outputs only, one with a delta, or one
    about whole documents says nothing about exp(ε·d) of a place: it is refused. What the policy
    does not find stands in the clear, and who writes how much, and when, can be seen.

Reference
    Chatzikokolakis et al. 2013, "Broadening the scope of differential privacy using metrics"
    (sums of distances); Rogers et al. 2016 (levels that are chosen on the way, up to a limit).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sfumato.accounting.budget.amounts import Amount
from sfumato.core.checks import at_least
from sfumato.core.errors import IncomparableGuarantees, InvalidArgument
from sfumato.guarantees.guarantee import Guarantee, Notion
from sfumato.guarantees.wording import name_types

_BY_DISTANCE = (Notion.METRIC_DP, Notion.SELECTIVE_METRIC_DP)
_UNITS = ("word", "stretch", "document")


def stated(proven: Guarantee) -> list[Guarantee]:
    """The statements that counts belong to: each part of one by type, or the statement itself."""
    return [part.guarantee for part in proven.parts] or [proven]


def refuse_unfit(proven: Guarantee) -> None:
    """Refuse a release of which the sum over an author's places would prove nothing."""
    for one in stated(proven):
        if one.notion is Notion.INDEPENDENT:
            continue
        if one.notion not in _BY_DISTANCE or not one.metric or one.unit not in _UNITS or one.delta:
            raise IncomparableGuarantees(
                "an author pays for everything that is replaced by its distance, and this release "
                f"states {one.notion.value} about each {one.unit}"
                + (f", with a delta of {one.delta:.3g}" if one.delta else "")
                + ", which bounds no such distance; charge an account of the kind 'text' or "
                "'corpus'"
            )


def draws(proven: Guarantee, documents: Iterable[Sequence[int]]) -> tuple[int, ...]:
    """How many draws each statement pays for, given the places it has in each document.

    >>> from sfumato.guarantees.guarantee import metric_dp
    >>> draws(metric_dp(epsilon=0.1, metric="days", unit="document"), [(3,), (0,), (1,)])
    (2,)
    """
    statements = stated(proven)
    total = [0] * len(statements)
    for counts in documents:
        if len(counts) != len(statements):
            raise InvalidArgument(_counted_for(statements, counts))
        for place, (one, count) in enumerate(zip(statements, counts, strict=True)):
            total[place] += min(1, count) if one.unit == "document" else count
    return tuple(total)


def price(proven: Guarantee, counts: Sequence[int]) -> Amount:
    """What so many draws under each statement cost.

    >>> from sfumato.guarantees.guarantee import metric_dp
    >>> price(metric_dp(epsilon=5, metric="Euclidean distance"), [3]).level
    15.0
    """
    statements = stated(proven)
    if len(counts) != len(statements):
        raise InvalidArgument(_counted_for(statements, counts))
    total = Amount(0)
    for one, count in zip(statements, counts, strict=True):
        total = total.plus(Amount.charged(one.epsilon).times(at_least("places", count, 0)))
    return total


def _counted_for(statements: Sequence[Guarantee], counts: Sequence[int]) -> str:
    return (
        f"this release has {len(statements)} statements, and what was replaced is counted for "
        f"{len(counts)}"
    )


def account_for(proven: Guarantee, counts: Sequence[int]) -> str:
    """What a line was charged for, in a few words: its places and their levels.

    >>> from sfumato.guarantees.guarantee import metric_dp
    >>> account_for(metric_dp(epsilon=5, metric="Euclidean distance"), [3])
    '3 words at ε = 5 per unit of distance'
    """
    told = []
    for one, count in zip(stated(proven), counts, strict=True):
        if not count or one.notion is Notion.INDEPENDENT:
            continue
        per = one.metric.partition(" ")[0] if one.unit != "word" else "unit of distance"
        level = f"ε = {one.epsilon:g} per {per.removesuffix('s')}"
        unit = "draw for a document" if one.unit == "document" else one.unit
        told.append(f"{_counted(count, unit)} at {level}")
    return "; ".join(told) or "nothing that costs anything"


def statement(subject: Mapping[str, Any], shown: str) -> str:
    """What holds for an author at the limit, which is ``shown`` in symbols."""
    parts = subject.get("parts", ())
    if not parts:
        if subject["notion"] == Notion.INDEPENDENT.value:
            return f"{_INDEPENDENT}, comparing {subject['neighbors']}."
        whose = "none of whose words differ" if subject["unit"] == "word" else _NOTHING
        return (
            f"two authors, {whose} by more than a distance of d, are at most "
            f"e^(ε·d) times as easy to tell apart, with {shown}. The distance is "
            f"{subject['metric']}; compared are {subject['neighbors']}."
        )
    by_distance = [one for one in parts if one["guarantee"]["metric"]]
    others = [one for one in parts if not one["guarantee"]["metric"]]
    said = (
        f"two authors, {_NOTHING} by more than a distance of d, each in the unit of its type, are "
        f"at most e^(ε·d) times as easy to tell apart, with {shown}. "
        f"Compared are {subject['neighbors']}. The distances are: {_by_type(by_distance)}."
    )
    if others:
        types = ", ".join(name_types(tuple(one["types"])) for one in others)
        compared = "; ".join(dict.fromkeys(one["guarantee"]["neighbors"] for one in others))
        said += f" Of {types}: {_INDEPENDENT}, comparing {compared}."
    return said


_NOTHING = "nothing of whom that was replaced differs"
_INDEPENDENT = "what stands there now does not depend on what stood there and costs nothing"


def _by_type(parts: Sequence[Mapping[str, Any]]) -> str:
    told = (
        f"{name_types(tuple(one['types']))}: {one['guarantee']['metric']} "
        f"({one['guarantee']['neighbors']})"
        for one in parts
    )
    return "; ".join(told) or "none"


def _counted(count: int, unit: str) -> str:
    noun, *rest = unit.split(" ", 1)
    plural = " ".join([f"{noun}es" if noun.endswith("ch") else f"{noun}s", *rest])
    return f"{count:,} {unit if count == 1 else plural}"
