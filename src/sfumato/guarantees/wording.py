"""How a guarantee is said in plain English.

One sentence for what is promised, with what is not promised in the same breath: a reader who
stops at the full stop has read both halves.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context, Decimal
from typing import TYPE_CHECKING

from sfumato.guarantees.distances import spell_out

if TYPE_CHECKING:
    from sfumato.guarantees.guarantee import Guarantee


_METRIC = (
    "For {scope}, the original hides among similar ones: whatever is put in its place is at "
    "most exp({epsilon}·d) times likelier{delta} for one original than for another at distance d "
    "({metric}), comparing {neighbors}; over a document this {sum}"
)
_WHERE_SENSITIVE = (
    "For {scope}, the original hides among similar ones wherever a sensitive word is put in its "
    "place: that word is at most exp({epsilon}·d) times likelier{delta} for one original than for "
    "another at distance d ({metric}), comparing {neighbors}; any other replacement is "
    "the original itself; over a document this adds up across its privatized "
    "{units}"
)
_WITHIN_GROUPS = (
    "For {scope}, the original hides inside its group and nowhere else: whatever is put in its "
    "place is at most exp({epsilon}) times likelier{delta} for one original than for another of "
    "the same group, comparing {neighbors}; words of different groups are told apart for certain "
    "(there epsilon is infinite); over a document this adds up across its privatized {units}"
)
_DIFFERENTIAL = (
    "For {scope}, any output is at most exp({epsilon}) times likelier{delta} for one of two "
    "neighbors than for the other, neighbors being {neighbors}"
)
_CONCENTRATED = (
    "For {scope}, the Rényi divergence of any order α between the outputs for two neighbors is "
    "at most {epsilon}·α, neighbors being {neighbors}"
)
_INDEPENDENT = (
    "For {scope}, what is put in its place is chosen without looking at the original: it is "
    "exactly as likely for one original as for another (epsilon = 0), comparing {neighbors}"
)
_BY_NOTION = {
    "INDEPENDENT": _INDEPENDENT,
    "LDP_WITHIN_GROUPS": _WITHIN_GROUPS,
    "UTILITY_OPTIMIZED_METRIC_LDP": _WHERE_SENSITIVE,
    "ZCDP": _CONCENTRATED,
}
# Above this share of words that stay as they are, a level is called what it is.
STAYS_OFTEN = 0.2
STAYS_MORE_OFTEN_THAN_NOT = 0.5
SMALL_UNITS = ("word", "token", "stretch", "sentence")  # parts of a document
# Of these a document has many, each with a level of its own.
_ONE_OF_MANY = ("word", "token")
_STAYS = (
    "at this level {share} of the words are expected to stay as they are (a property of the "
    "mechanism, estimated on frequent public words)"
)
_NONE = "Nothing is proven about this output: it is a baseline without a formal guarantee"


def sentence(guarantee: Guarantee) -> str:
    """The promise, then what it leaves out; never one without the other."""
    parts = [_promise(guarantee)]
    if says_it_stays(guarantee):
        parts.append(_STAYS.format(share=share_in_words(guarantee)))
    if guarantee.uncovered:
        parts.append(f"not covered: {_list(guarantee.uncovered)}")
    if guarantee.leaks:
        parts.append(f"still visible: {_list(guarantee.leaks)}")
    return "; ".join(parts) + "."


def says_it_stays(guarantee: Guarantee) -> bool:
    """Whether so many words stay as they are at this level that everyone must be told."""
    return guarantee.stays is not None and guarantee.stays > STAYS_OFTEN


def share_in_words(guarantee: Guarantee) -> str:
    """The share of words that stay, as people read it; it is an estimate and no bound."""
    return f"about {math.ceil(100 * (guarantee.stays or 0.0))} %"


def per_word(guarantee: Guarantee) -> str:
    """What the level means for one replacement."""
    if guarantee.parts:
        stated = (
            f"{name_types(part.types)}: {per_word(part.guarantee)}" for part in guarantee.parts
        )
        return "; ".join(stated)
    if guarantee.notion.name == "INDEPENDENT":
        return (
            "a replacement is exactly as likely for one original as for another, comparing "
            f"{guarantee.neighbors}"
        )
    if math.isinf(guarantee.epsilon):
        return "nothing is proven"
    level = for_people(guarantee.epsilon)
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
    return _per_replacement(guarantee, level)


def _per_replacement(guarantee: Guarantee, level: str) -> str:
    power, distant = (f"{level}·d", " at distance d") if guarantee.metric else (level, "")
    if guarantee.unit == "word":
        return (
            f"exp({power}) bounds how much likelier any replacement is for one original word than "
            f"for another{distant}"
        )
    whose = "one original" if guarantee.unit == "stretch" else f"one {guarantee.unit}"
    what = "any replacement is" if guarantee.unit == "stretch" else "all replacements together are"
    distant += f" ({guarantee.metric})" if guarantee.metric else ""
    return (
        f"exp({power}) bounds how much likelier {what} for {whose} than for another{distant}, "
        f"comparing {guarantee.neighbors}"
    )


def per_document(guarantee: Guarantee) -> str:
    """What the level adds up to over the privatized words of a document."""
    if guarantee.parts:
        by_type = (
            f"{name_types(part.types)}: {per_document(part.guarantee)}" for part in guarantee.parts
        )
        return "; ".join(by_type) + "; levels in different distances stand side by side"
    if guarantee.notion.name == "INDEPENDENT":
        return "nothing adds up: no replacement depends on its original"
    if math.isinf(guarantee.epsilon):
        return "nothing is proven"
    return _sum(guarantee)


def _sum(guarantee: Guarantee) -> str:
    level = for_people(guarantee.epsilon)
    if guarantee.unit == "document" and not guarantee.metric:
        return f"the exponent is {level} for all of a document, once"
    if guarantee.unit == "document":
        return (
            f"one draw treats all of a document: the exponent is {level} times "
            "the distance, once, however many of them stand there"
        )
    unit = guarantee.unit
    each = f"times the sum of the distances over all privatized {_plural(unit)} that differ"
    if not guarantee.metric:
        each = f"for each privatized {unit} that differs"
    added = f"the exponent adds up to {level} {each}; a {unit} that stands twice "
    if guarantee.notion.name == "UTILITY_OPTIMIZED_METRIC_LDP":
        return added + "counts twice, and so does a further factor of a word"
    if guarantee.notion.name == "LDP_WITHIN_GROUPS":
        return added + "counts twice, and nothing is proven once a word leaves its group"
    return added + "counts twice"


def for_people(level: float) -> str:
    """A level in four digits, and never below it; all of its digits are in the JSON.

    >>> for_people(5.0), for_people(7.99996602408505), for_people(1.2345614)
    ('5', '8', '1.235')
    """
    return at_most(level, 4)


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
    if guarantee.parts:
        parts = [f"[{name_types(one.types)}] {_promise(one.guarantee)}" for one in guarantee.parts]
        return (
            f"What is proven depends on the type of what was found, comparing "
            f"{guarantee.neighbors}. {'. '.join(parts)}. Over a document the exponents add up"
            + (f", {_say_record(guarantee)}" if guarantee.record else "")
        )
    if guarantee.notion.name == "NONE" or math.isinf(guarantee.epsilon):
        return _NONE
    template = _BY_NOTION.get(guarantee.notion.name)
    if template is None:
        template = _METRIC if guarantee.metric else _DIFFERENTIAL
    delta = f" (up to a probability of {at_most(guarantee.delta)})" if guarantee.delta else ""
    meaning = spell_out(guarantee.metric, guarantee.epsilon)
    stated = template.format(
        scope=guarantee.scope,
        units=_plural(guarantee.unit),
        epsilon=for_people(guarantee.epsilon),
        metric=f"{guarantee.metric}: {meaning}" if meaning else guarantee.metric,
        delta=delta,
        neighbors=guarantee.neighbors,
        sum="counts once, being one draw"
        if guarantee.unit == "document"
        else f"adds up across its privatized {_plural(guarantee.unit)}",
    )
    if template is _DIFFERENTIAL and guarantee.unit in _ONE_OF_MANY:
        stated += f"; over a document this adds up across its {_plural(guarantee.unit)}"
    if guarantee.record:
        stated = f"{stated}, {_say_record(guarantee)}"
    return f"{stated}{_say_unchanged(guarantee)}"


def _say_record(guarantee: Guarantee) -> str:
    """What one unit is; a smaller unit stands in a document, and that is what is named."""
    unit = "document" if guarantee.unit in SMALL_UNITS else guarantee.unit
    return f"one {unit} being one {guarantee.record}"


def _say_unchanged(guarantee: Guarantee) -> str:
    if not guarantee.unchanged:
        return ""
    said = ", ".join(f"{what} {_percent(chance)}" for what, chance in guarantee.unchanged)
    return f"; at this level the chance to come out unchanged is, for public examples: {said}"


def stays_mostly(guarantee: Guarantee) -> list[str]:
    """What comes out unchanged more often than not, of any part."""
    every = [guarantee, *(part.guarantee for part in guarantee.parts)]
    found = [
        what
        for one in every
        for what, chance in one.unchanged
        if chance > STAYS_MORE_OFTEN_THAN_NOT
    ]
    return list(dict.fromkeys(found))


def _percent(chance: float) -> str:
    """An estimate, and said as one.

    >>> _percent(0.0), _percent(0.052), _percent(1.0)
    ('below 1 %', 'about 5 %', 'above 99 %')
    """
    if not 0.01 <= chance <= 0.99:
        return "below 1 %" if chance < 0.5 else "above 99 %"
    return f"about {round(100 * chance)} %"


def _plural(unit: str) -> str:
    return f"{unit}es" if unit.endswith("ch") else f"{unit}s"


def name_types(types: tuple[str, ...]) -> str:
    """Types as a reader meets them; those that are not named are all others."""
    return ", ".join(types) if types else "everything else"


def _list(items: tuple[str, ...]) -> str:
    if len(items) == 1:
        return items[0]
    return "; ".join(f"({number}) {item}" for number, item in enumerate(items, start=1))
