"""How a guarantee is said in plain English.

One sentence for what is promised, with what is not promised in the same breath: a reader who
stops at the full stop has read both halves.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato.accounting.guarantee import Guarantee

_METRIC = (
    "For {scope}, the original hides among similar ones: whatever is put in its place is at "
    "most exp({epsilon}·d) times likelier{delta} for one original than for another at distance d "
    "({metric}), comparing {neighbours}; over a document this adds up across its privatized {unit}s"
)
_DIFFERENTIAL = (
    "For {scope}, any output is at most exp({epsilon}) times likelier{delta} for one of two "
    "neighbours than for the other, neighbours being {neighbours}"
)
_CONCENTRATED = (
    "For {scope}, the Rényi divergence of any order α between the outputs for two neighbours is "
    "at most {epsilon}·α, neighbours being {neighbours}"
)
_NONE = "Nothing is proven about this output: it is a baseline without a formal guarantee"


def sentence(guarantee: Guarantee) -> str:
    """The promise, then what it leaves out; never one without the other."""
    parts = [_promise(guarantee)]
    if guarantee.uncovered:
        parts.append(f"not covered: {_listed(guarantee.uncovered)}")
    if guarantee.leaks:
        parts.append(f"still visible: {_listed(guarantee.leaks)}")
    return "; ".join(parts) + "."


def exact(epsilon: float) -> str:
    """A level with all its digits: rounding it down would promise too much.

    >>> exact(5.0), exact(1.2345614)
    ('5', '1.2345614')
    """
    return f"{epsilon:.15g}"


def _promise(guarantee: Guarantee) -> str:
    if guarantee.notion.name == "NONE" or math.isinf(guarantee.epsilon):
        return _NONE
    if guarantee.notion.name == "ZCDP":
        template = _CONCENTRATED
    else:
        template = _METRIC if guarantee.metric else _DIFFERENTIAL
    delta = f" (up to a probability of {guarantee.delta:g})" if guarantee.delta else ""
    return template.format(
        scope=guarantee.scope,
        unit=guarantee.unit,
        epsilon=exact(guarantee.epsilon),
        metric=guarantee.metric,
        delta=delta,
        neighbours=guarantee.neighbours,
    )


def _listed(items: tuple[str, ...]) -> str:
    if len(items) == 1:
        return items[0]
    return "; ".join(f"({number}) {item}" for number, item in enumerate(items, start=1))
