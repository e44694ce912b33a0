"""How a guarantee is said in plain English.

One sentence for what is promised, with what is not promised in the same breath: a reader who
stops at the full stop has read both halves.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context, Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato.guarantees.guarantee import Guarantee


_METRIC = (
    "For {scope}, the original hides among similar ones: whatever is put in its place is at "
    "most exp({epsilon}·d) times likelier{delta} for one original than for another at distance d "
    "({metric}), comparing {neighbors}; over a document this adds up across its privatized {unit}s"
)
_WHERE_SENSITIVE = (
    "For {scope}, the original hides among similar ones wherever a sensitive word is put in its "
    "place: that word is at most exp({epsilon}·d) times likelier{delta} for one original than for "
    "another at distance d ({metric}), comparing {neighbors}; any other replacement is "
    "the original itself; over a document this adds up across its privatized "
    "{unit}s"
)
_WITHIN_GROUPS = (
    "For {scope}, the original hides inside its group and nowhere else: whatever is put in its "
    "place is at most exp({epsilon}) times likelier{delta} for one original than for another of "
    "the same group, comparing {neighbors}; words of different groups are told apart for certain "
    "(there epsilon is infinite); over a document this adds up across its privatized {unit}s"
)
_DIFFERENTIAL = (
    "For {scope}, any output is at most exp({epsilon}) times likelier{delta} for one of two "
    "neighbors than for the other, neighbors being {neighbors}"
)
_CONCENTRATED = (
    "For {scope}, the Rényi divergence of any order α between the outputs for two neighbors is "
    "at most {epsilon}·α, neighbors being {neighbors}"
)
_BY_NOTION = {
    "LDP_WITHIN_GROUPS": _WITHIN_GROUPS,
    "UTILITY_OPTIMIZED_METRIC_LDP": _WHERE_SENSITIVE,
    "ZCDP": _CONCENTRATED,
}
_NONE = "Nothing is proven about this output: it is a baseline without a formal guarantee"


def sentence(guarantee: Guarantee) -> str:
    """The promise, then what it leaves out; never one without the other."""
    parts = [_promise(guarantee)]
    if guarantee.uncovered:
        parts.append(f"not covered: {_list(guarantee.uncovered)}")
    if guarantee.leaks:
        parts.append(f"still visible: {_list(guarantee.leaks)}")
    return "; ".join(parts) + "."


def per_word(guarantee: Guarantee) -> str:
    """What the level means for one replacement."""
    if math.isinf(guarantee.epsilon):
        return "nothing is proven"
    level = exact(guarantee.epsilon)
    if guarantee.notion.name == "UTILITY_OPTIMIZED_METRIC_LDP":
        return (
            f"exp({level}·d) bounds how much likelier a replacement that is a sensitive word is "
            "for one original word than for another at distance d, comparing "
            f"{guarantee.neighbors}; any other replacement is the original itself"
        )
    if guarantee.notion.name == "LDP_WITHIN_GROUPS":
        return (
            f"exp({level}) bounds how much likelier any replacement is for one original word than "
            "for another of the same group; words of different groups are told apart for certain"
        )
    power, distant = (f"{level}·d", " at distance d") if guarantee.metric else (level, "")
    return (
        f"exp({power}) bounds how much likelier any replacement is for one original word than "
        f"for another{distant}"
    )


def per_document(guarantee: Guarantee) -> str:
    """What the level adds up to over the privatized words of a document."""
    if math.isinf(guarantee.epsilon):
        return "nothing is proven"
    each = "times the sum of the distances over all privatized words that differ"
    if not guarantee.metric:
        each = "for each privatized word that differs"
    added = f"the exponent adds up to {exact(guarantee.epsilon)} {each}; a word that stands twice "
    if guarantee.notion.name == "UTILITY_OPTIMIZED_METRIC_LDP":
        return added + "counts twice, and so does a further factor of a word"
    if guarantee.notion.name == "LDP_WITHIN_GROUPS":
        return added + "counts twice, and nothing is proven once a word leaves its group"
    return added + "counts twice"


def exact(epsilon: float) -> str:
    """A level with fifteen digits, and never below it: rounded down it would promise too much.

    >>> exact(5.0), exact(1.2345614), exact(0.1 + 0.2)
    ('5', '1.2345614', '0.300000000000001')
    """
    return at_most(epsilon, 15)


def at_most(bound: float, digits: int = 6) -> str:
    """A bound in few digits, never below it: for a delta, and for a level where there is no room.

    What is read back is no smaller, down to the smallest numbers there are.

    >>> at_most(8.4e-05), at_most(1.0000004e-05), at_most(9.9999999e-06), at_most(math.inf)
    ('8.4e-05', '1.00001e-05', '1e-05', 'inf')
    """
    value = float(bound)
    if not math.isfinite(value):
        return f"{value:g}"
    raised = Context(prec=digits, rounding=ROUND_CEILING).create_decimal(repr(value))
    shown = f"{float(raised):.{digits}g}"
    # Of the smallest numbers a float has few digits, and may have others than the decimal.
    return shown if Decimal(shown) == raised else f"{raised:e}"


def _promise(guarantee: Guarantee) -> str:
    if guarantee.notion.name == "NONE" or math.isinf(guarantee.epsilon):
        return _NONE
    template = _BY_NOTION.get(guarantee.notion.name)
    if template is None:
        template = _METRIC if guarantee.metric else _DIFFERENTIAL
    delta = f" (up to a probability of {at_most(guarantee.delta)})" if guarantee.delta else ""
    stated = template.format(
        scope=guarantee.scope,
        unit=guarantee.unit,
        epsilon=exact(guarantee.epsilon),
        metric=guarantee.metric,
        delta=delta,
        neighbors=guarantee.neighbors,
    )
    if not guarantee.record:
        return stated
    return f"{stated}, one {guarantee.unit} being one {guarantee.record}"


def _list(items: tuple[str, ...]) -> str:
    if len(items) == 1:
        return items[0]
    return "; ".join(f"({number}) {item}" for number, item in enumerate(items, start=1))
